"""The compiler behind the kernels: numba makes machine code of one when it is first called, and it is kept on disk.

What is kept is an object file, which later processes open with LLVM alone (llvmlite, a part of numba): to import numba
itself and to make it ready takes a second and 90 MB of memory, for nothing but code that is there already.

So that nothing of numba is needed to run it, a kernel of `compiled` makes no arrays (its caller gives it the room),
raises nothing, and takes arrays whose elements lie one after the other, and numbers. Those of the trainers make arrays
(`compiled_with_room`), and come with numba.
"""

import contextlib
import ctypes
import hashlib
import importlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any

import numpy as np

_RETURNED: dict[object, Any] = {None: None, bool: ctypes.c_bool, int: ctypes.c_int64, float: ctypes.c_double}
_DIGEST = 32
_BUILT_IN = re.compile(r"^declare[^@]*@\"?([\w.$]+)", re.MULTILINE)
_KNOWN = re.compile(r"llvm\.|mem(?:set|cpy|move)$|(?:exp|log|sqrt)f?$")
_making = Lock()


class Kernel:
    """A function that is machine code for each kind of arguments that it meets."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self._entries: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *values: Any) -> Any:
        kind: list[Any] = []
        flat: list[Any] = []
        for value in values:
            if isinstance(value, np.ndarray):
                if not value.flags.c_contiguous:
                    raise ValueError(f"{self.__name__} reads arrays whose elements lie one after the other")
                kind += (value.dtype.str, value.ndim)
                flat.append(value.__array_interface__["data"][0])
                flat += value.shape
            else:
                kind.append(type(value))
                flat.append(value)
        key = tuple(kind)
        entry = self._entries.get(key)
        if entry is None:
            with _making:
                entry = self._entries[key] = self._entry(values)
        return entry(*flat)

    def called(self) -> "list[Kernel]":
        """The kernels that it calls."""
        names = self.function.__code__.co_names
        return [found for found in map(self.function.__globals__.get, names) if isinstance(found, Kernel)]

    def jitted(self, **options: bool) -> Any:
        """The function as numba knows it, and so those that it calls."""
        numba: Any = importlib.import_module("numba")
        known = self.function.__globals__ | {kernel.__name__: kernel.jitted() for kernel in self.called()}
        copy = FunctionType(self.function.__code__, known, self.__name__)
        copy.__module__, copy.__qualname__ = self.function.__module__, self.function.__qualname__
        return numba.njit(nogil=True, error_model="numpy", **options)(copy)

    def _entry(self, values: Sequence[Any]) -> Callable[..., Any]:
        """What is called with the address and the shape of each array, and with each number."""
        shapes = [_shape(value) for value in values]
        returned = self.function.__annotations__["return"]
        name = f"deident_{self.__name__}_{self._stamp(shapes)}"
        file = f"{self.function.__module__}.{name}.o"
        code = _kept(Path(self.function.__code__.co_filename), file) or self._made(shapes, returned, name, file)
        arguments = [kind for shape in shapes for kind in _c_types(shape)]
        return ctypes.CFUNCTYPE(_RETURNED[returned], *arguments)(_machine().address(name, code))

    def _stamp(self, shapes: "Sequence[_Shape]") -> str:
        """Changes with whatever the machine code depends on."""
        sources = {Path(kernel.function.__code__.co_filename) for kernel in (self, *self.called())}
        told = [sys.version, _machine().told, repr(shapes), *(path.read_text("utf-8") for path in sorted(sources))]
        return hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]

    def _made(self, shapes: "Sequence[_Shape]", returned: object, name: str, file: str) -> bytes:
        numba: Any = importlib.import_module("numba")
        kinds = [kind for shape in shapes for kind in _numba_types(numba, shape)]
        back = numba.void if returned is None else numba.from_dtype(np.dtype(str(getattr(returned, "__name__", ""))))
        entry = numba.cfunc(back(*kinds), error_model="numpy")(_unpacking(self.jitted(), shapes, numba.carray))
        code = _machine().assembled(entry.inspect_llvm(), entry.native_name, name)
        _keep(Path(self.function.__code__.co_filename), file, code)
        return code


class _WithRoom(Kernel):
    """A kernel that makes arrays, which is numba's own; so is its place on disk."""

    def __call__(self, *values: Any) -> Any:
        if not self._entries:
            with _making:
                self._entries[()] = self.jitted(cache=True)
        return self._entries[()](*values)


def compiled(function: Any) -> Any:
    """The function as machine code, made at its first call and kept on disk."""
    return Kernel(function)


def compiled_with_room(function: Any) -> Any:
    """The same for one that makes arrays: numba is loaded where it is called."""
    return _WithRoom(function)


# --- what a kernel is called with ------------------------------------------------------------------------------------

_Shape = tuple[str, int]  # the type of an array's elements or of a number, and the array's dimensions (number: 0)


def _shape(value: Any) -> _Shape:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.ndim
    return {bool: "|b1", int: "<i8", float: "<f8"}[type(value)], 0


def _c_types(shape: _Shape) -> list[Any]:
    kind, dimensions = shape
    if not dimensions:
        return [{"|b1": ctypes.c_bool, "<i8": ctypes.c_int64, "<f8": ctypes.c_double}[kind]]
    return [ctypes.c_void_p, *[ctypes.c_ssize_t] * dimensions]


def _numba_types(numba: Any, shape: _Shape) -> list[Any]:
    kind, dimensions = numba.from_dtype(np.dtype(shape[0])), shape[1]
    return [numba.types.CPointer(kind), *[numba.intp] * dimensions] if dimensions else [kind]


def _unpacking(kernel: Any, shapes: Sequence[_Shape], carray: Any) -> Any:
    """A function of addresses, shapes and numbers that calls the kernel with arrays and numbers.

    numba wants it written out: "def entry(a0, a0_0, a0_1, a1): return kernel(carray(a0, (a0_0, a0_1)), a1)".
    """
    taken: list[str] = []
    given: list[str] = []
    for place, (_, dimensions) in enumerate(shapes):
        sizes = [f"a{place}_{axis}" for axis in range(dimensions)]
        taken += [f"a{place}", *sizes]
        given.append(f"carray(a{place}, ({', '.join(sizes)},))" if sizes else f"a{place}")
    room: dict[str, Any] = {"kernel": kernel, "carray": carray}
    written = f"def entry({', '.join(taken)}): return kernel({', '.join(given)})"
    exec(written, room)  # noqa: S102 (a text made of numbers alone)
    return room["entry"]


# --- machine code ----------------------------------------------------------------------------------------------------


class _Machine:
    """LLVM for this processor."""

    def __init__(self) -> None:
        self._llvm: Any = importlib.import_module("llvmlite.binding")
        self._llvm.initialize_native_target()
        self._llvm.initialize_native_asmprinter()
        target = self._llvm.Target.from_default_triple()
        processor, features = self._llvm.get_host_cpu_name(), ""
        with contextlib.suppress(RuntimeError):  # not told on every platform
            features = self._llvm.get_host_cpu_features().flatten()
        version: str = importlib.import_module("llvmlite").__version__  # each numba goes with one
        self.told = "\0".join((version, target.triple, processor, features))
        make = partial(target.create_target_machine, codemodel="jitdefault", jit=True)
        self._maker: Any = make(cpu=processor, features=features, opt=3)
        self._engine: Any = self._llvm.create_mcjit_compiler(self._llvm.parse_assembly(""), self._maker)

    def assembled(self, text: str, entry: str, name: str) -> bytes:
        """LLVM's text as an object file, in which the function `entry` is called `name`."""
        module = self._llvm.parse_assembly(text)
        module.get_function(entry).name = name
        for function in module.functions:
            if not function.is_declaration and function.name != name:
                function.linkage = "internal"
        # seen as a whole it turns out that nothing is raised, and what numba does if so goes
        options = self._llvm.create_pipeline_tuning_options(speed_level=3)
        builder = self._llvm.create_pass_builder(self._maker, options)
        builder.getModulePassManager().run(module, builder)
        strange = [symbol for symbol in _BUILT_IN.findall(str(module)) if not _KNOWN.match(symbol)]
        if strange:
            raise TypeError(f"{name} makes arrays or raises: it needs {', '.join(strange)}")
        return self._maker.emit_object(module)

    def address(self, name: str, code: bytes) -> int:
        self._engine.add_object_file(self._llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        return self._engine.get_function_address(name)


@cache
def _machine() -> _Machine:
    return _Machine()


# --- on disk ---------------------------------------------------------------------------------------------------------


def _rooms(source: Path) -> list[Path]:
    """Beside the source, where Python keeps its own compiled files; or else in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or str(Path("~/.cache").expanduser())
    return [source.parent / "__pycache__", Path(home) / "deident"]


def _kept(source: Path, file: str) -> bytes | None:
    """The object file, if it is there and whole."""
    for room in _rooms(source):
        with contextlib.suppress(OSError):
            data = (room / file).read_bytes()
            if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]:
                return data[_DIGEST:]
    return None


def _keep(source: Path, file: str, code: bytes) -> None:
    """Without room on any disk it is made anew in each process."""
    for room in _rooms(source):
        with contextlib.suppress(OSError):
            room.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=room)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(hashlib.sha256(code).digest() + code)
                Path(temporary).replace(room / file)
            except BaseException:
                Path(temporary).unlink()
                raise
            return
