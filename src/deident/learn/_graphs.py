"""Graphs for onnxruntime, written node by node, so that what is computed in use stands here and not in a converter.

Eight bits: a matrix is kept as whole numbers from -63 to 63 with one factor for each column, the rows of the other side
are brought to whole numbers with one factor each when they come. A row's factor depends on that row alone, so nothing
depends on what is computed beside it; and sixty-three, not 127, so that no processor's sums of pairs overflow and all
give the same numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deident.learn import networks
from deident.learn.bits import Floats

OPSET = 20
_VERSION = 9  # of the file format that goes with it
_STEPS, _ROW_STEPS = 63, 127


class Graph:
    """A graph that grows by nodes; a value is known by its name."""

    def __init__(self) -> None:
        self._onnx = networks.package("onnx", extra="train")
        self._nodes: list[Any] = []
        self._held: dict[str, Any] = {}
        self._inputs: list[Any] = []
        self._rows: dict[str, tuple[str, str]] = {}

    # --- pieces ------------------------------------------------------------------------------------------------------

    def takes(self, name: str, kind: str, shape: Sequence[str | int]) -> str:
        """An input; `kind` is FLOAT or INT64."""
        number = getattr(self._onnx.TensorProto, kind)
        self._inputs.append(self._onnx.helper.make_tensor_value_info(name, number, list(shape)))
        return name

    def holds(self, name: str, array: NDArray[Any]) -> str:
        """An array of the graph's own, under a name that is there once."""
        if name not in self._held:
            self._held[name] = self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def number(self, value: float | NDArray[Any], kind: type = np.float32) -> str:
        array = np.array(value, dtype=kind)
        return self.holds(f"{array.dtype}{array.shape}:{array.tolist()}", array)

    def add(self, operation: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"{operation}.{len(self._nodes)}.{place}" for place in range(outputs)]
        self._nodes.append(self._onnx.helper.make_node(operation, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def reshape(self, x: str, *shape: int) -> str:
        return self.add("Reshape", x, self.number(np.array(shape), np.int64))

    def finished(self, output: str, shape: Sequence[str | int]) -> bytes:
        """The graph with one output, "scores", as the bytes of a file."""
        onnx = self._onnx
        self._nodes.append(onnx.helper.make_node("Identity", [output], ["scores"]))
        value = onnx.helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, list(shape))
        graph = onnx.helper.make_graph(self._nodes, "deident", self._inputs, [value], list(self._held.values()))
        model = onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=_VERSION, producer_name="deident"
        )
        onnx.checker.check_model(model)
        return model.SerializeToString(deterministic=True)

    # --- layers ------------------------------------------------------------------------------------------------------

    def product(self, x: str, name: str, arrays: Mapping[str, Floats], *, int8: bool = False) -> str:
        """x @ the matrix "name.weight"."""
        held = f"{name}.weight"
        matrix = arrays[held]
        if not int8:
            return self.add("MatMul", x, self.holds(held, matrix))
        whole, factor = self._whole_rows(x)
        numbers, factors = eight_bits(matrix, axis=0, steps=_STEPS)
        sums = self.add("MatMulInteger", whole, self.holds(f"{held}:int8", numbers), self.number(128, np.uint8))
        scaled = self.add(
            "Mul", self.add("Cast", sums, to=self._onnx.TensorProto.FLOAT), self.holds(f"{held}:factors", factors)
        )
        return self.add("Mul", scaled, factor)

    def _whole_rows(self, x: str) -> tuple[str, str]:
        """The rows in whole numbers around 128, and the factor of each."""
        if x not in self._rows:
            most = self.add("ReduceMax", self.add("Abs", x), self.number(np.array([-1]), np.int64), keepdims=1)
            factor = self.add("Max", self.add("Mul", most, self.number(1.0 / _ROW_STEPS)), self.number(1e-12))
            whole = self.add("QuantizeLinear", self.add("Div", x, factor), self.number(1.0), self.number(128, np.uint8))
            self._rows[x] = (whole, factor)
        return self._rows[x]

    def linear(self, x: str, name: str, arrays: Mapping[str, Floats], *, int8: bool = False) -> str:
        bias = f"{name}.bias"
        return self.add("Add", self.product(x, name, arrays, int8=int8), self.holds(bias, arrays[bias]))

    def norm(self, x: str, name: str, arrays: Mapping[str, Floats], epsilon: float) -> str:
        weight = self.holds(f"{name}.weight", arrays[f"{name}.weight"])
        bias = self.holds(f"{name}.bias", arrays[f"{name}.bias"])
        return self.add("LayerNormalization", x, weight, bias, axis=-1, epsilon=epsilon)

    def rows(self, numbers: str, name: str, table: Floats, *, int8: bool) -> str:
        """The rows of a table that have these numbers."""
        if not int8:
            return self.add("Gather", self.holds(name, table), numbers)
        whole, factors = eight_bits(table, axis=1, steps=127)
        chosen = self.add("Gather", self.holds(f"{name}:int8", whole), numbers)
        scale = self.add("Gather", self.holds(f"{name}:factors", factors), numbers)
        return self.add("Mul", self.add("Cast", chosen, to=self._onnx.TensorProto.FLOAT), scale)

    def lstm(self, x: str, name: str, arrays: Mapping[str, Floats], size: int) -> tuple[str, str]:
        """Both directions over [length, 1, in]: every step [length, 2, 1, size], and the last of each [2, 1, size].

        The gates stand here in the order in, out, forget, cell. An LSTM without peepholes is torch's (in, forget, cell,
        out); one with them is `_bilstm_net.Coupled` (in, out, cell), which forgets what it takes in.
        """
        coupled = f"{name}.peepholes" in arrays
        if coupled:
            own = {part: arrays[f"{name}.{part}"] for part in ("inputs", "states", "bias")}
            inputs, states, bias = (
                np.concatenate([a[..., : 2 * size], np.zeros_like(a[..., :size]), a[..., 2 * size :]], axis=-1)
                for a in own.values()
            )
            w, r = inputs.transpose(0, 2, 1), states.transpose(0, 2, 1)
            b = np.concatenate([bias[:, 0], np.zeros_like(bias[:, 0])], axis=1)
            holes = arrays[f"{name}.peepholes"].reshape(2, 2 * size)
            given = [self.holds(f"{name}.P", np.concatenate([holes, np.zeros((2, size), np.float32)], axis=1))]
        else:
            order = np.r_[0:size, 3 * size : 4 * size, size : 3 * size]

            def both(part: str) -> Floats:
                return np.stack([arrays[f"{name}.lstm.{part}_l0{side}"][order] for side in ("", "_reverse")])

            w, r = both("weight_ih"), both("weight_hh")
            b = np.concatenate([both("bias_ih"), both("bias_hh")], axis=1)
            given = []
        held = [self.holds(f"{name}.{part}", array) for part, array in (("W", w), ("R", r), ("B", b))]
        between = ["", "", ""] if coupled else []  # lengths and first states, which are not given
        return self.add(
            "LSTM",
            x,
            *held,
            *between,
            *given,
            outputs=2,
            direction="bidirectional",
            hidden_size=size,
            input_forget=int(coupled),
        )


def eight_bits(table: Floats, *, axis: int, steps: int) -> tuple[NDArray[np.int8], Floats]:
    """The table in whole numbers from -steps to steps, and the factors that give it back, along the other axis."""
    most = np.abs(table).max(axis=axis, keepdims=True, initial=0.0)  # of no words there is nothing to shrink
    factors = np.where(most > 0, most / steps, 1.0).astype(np.float32)
    return np.round(table / factors).astype(np.int8), factors


def arrays_of(graph: bytes) -> dict[str, NDArray[Any]]:
    """What a graph holds, by name."""
    onnx = networks.package("onnx", extra="train")
    model = onnx.load_from_string(graph)
    return {held.name: onnx.numpy_helper.to_array(held) for held in model.graph.initializer}
