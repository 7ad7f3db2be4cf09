"""Gradient descent as all networks learn: by a seed, with checkpoints to go on from, stopped by notes held out.

Imports torch; only what trains imports this.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from deident.errors import FormatError, UsageError

Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True)
class Judged:
    """How good the network is on notes that it does not learn from: the mean loss of a token, and the token F."""

    loss: float
    f: float


@dataclass(frozen=True, slots=True)
class Plan(Generic[Batch]):
    """What is done, and in which order; `batches(pass)` gives the same batches at each call.

    judge: is asked every `judged` steps and after each pass; none: nothing is held out, and the last weights stand.
    patience: so many judgements in a row without gain end the training.
    name: what the training is of; a checkpoint of another one is refused.
    """

    passes: int
    batches: Callable[[int], Sequence[Batch]]
    loss: Callable[[Batch], Tensor]
    judge: Callable[[], Judged] | None
    judged: int
    patience: int
    warmup: float
    falling: bool  # whether the rate falls to nothing by the end
    clip: float
    seed: int
    name: str
    told: Callable[[int, float], None]
    checkpoint: Path | None = None
    every: int = 200


@dataclass
class _State:
    step: int = 0
    best: float = -1.0
    since: int = 0
    judgements: int = 0
    over: bool = False
    kept: dict[str, Any] = field(default_factory=dict[str, Any])  # the best weights so far


def descend(net: nn.Module, optimizer: torch.optim.Optimizer, plan: Plan[Any]) -> int:
    """Trains the network, and leaves it with the best weights; returns how many steps it took in all."""
    state = _State()
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    if plan.checkpoint is not None and plan.checkpoint.is_file():
        state = _resume(net, optimizer, plan.checkpoint, plan.name)
    total = sum(len(plan.batches(number)) for number in range(plan.passes))
    running: list[float] = []
    for number, batch, last_of_pass in _steps(plan, state.step):
        if state.over:
            break
        # each step draws from its own seed, so that one that goes on from a checkpoint draws what it would have drawn
        torch.manual_seed(plan.seed * 1_000_003 + state.step)
        factor = _factor(state.step / max(1, total), plan)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * factor
        net.train()
        loss = plan.loss(batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        nn.utils.clip_grad_norm_(net.parameters(), plan.clip)
        optimizer.step()
        state.step += 1
        running.append(float(loss.detach()))
        if last_of_pass or (plan.judged and state.step % plan.judged == 0):
            _judge(net, plan, state, number, running)
        state.over |= state.step == total
        if plan.checkpoint is not None and (state.step % plan.every == 0 or state.over):
            _keep(net, optimizer, plan.checkpoint, plan.name, state)
    if state.kept:
        net.load_state_dict(state.kept)
    net.eval()
    return state.step


def _steps(plan: Plan[Any], done: int) -> Iterator[tuple[int, Any, bool]]:
    """The batches that are left, with the number of their pass, and whether they end it."""
    for number in range(plan.passes):
        batches = plan.batches(number)
        if done >= len(batches):
            done -= len(batches)
            continue
        for place in range(done, len(batches)):
            yield number, batches[place], place + 1 == len(batches)
        done = 0


def _factor(progress: float, plan: Plan[Any]) -> float:
    if progress < plan.warmup:
        return max(progress / plan.warmup, 1e-3)
    return (1.0 - progress) / (1.0 - plan.warmup) if plan.falling else 1.0


def _judge(net: nn.Module, plan: Plan[Any], state: _State, number: int, running: list[float]) -> None:
    mean = math.fsum(running) / max(1, len(running))
    running.clear()
    if plan.judge is None:
        plan.told(number, mean)
        return
    net.eval()
    with torch.no_grad():
        found = plan.judge()
    plan.told(state.judgements, found.loss)
    state.judgements += 1
    if found.f > state.best:
        state.best, state.since = found.f, 0
        state.kept = {name: tensor.detach().clone() for name, tensor in net.state_dict().items()}
    else:
        state.since += 1
        state.over = state.since >= plan.patience


# --- checkpoints -----------------------------------------------------------------------------------------------------


def _keep(net: nn.Module, optimizer: torch.optim.Optimizer, path: Path, name: str, state: _State) -> None:
    """Numbers and a line that says of what; written beside its place and renamed."""
    told = {
        "name": name,
        "step": state.step,
        "best": state.best,
        "since": state.since,
        "judgements": state.judgements,
        "over": state.over,
    }
    arrays = {f"net/{key}": tensor.numpy() for key, tensor in net.state_dict().items()}
    arrays |= {f"kept/{key}": tensor.numpy() for key, tensor in state.kept.items()}
    for place, held in optimizer.state_dict()["state"].items():
        for key, value in held.items():
            arrays[f"optimizer/{place}/{key}"] = np.asarray(value)
    arrays["told"] = np.frombuffer(json.dumps(told).encode("utf-8"), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as stream:
        np.savez(stream, **arrays)  # pyright: ignore[reportArgumentType]
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(path)


def _resume(net: nn.Module, optimizer: torch.optim.Optimizer, path: Path, name: str) -> _State:
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays: Mapping[str, Any] = {key: stored[key] for key in stored.files}
        told = json.loads(arrays["told"].tobytes())
    except (OSError, ValueError, KeyError):
        raise FormatError(f"{path} is no checkpoint that can be read") from None
    if told.pop("name") != name:
        raise UsageError(f"{path} is the checkpoint of another training: other notes or options; remove it")
    net.load_state_dict(_tensors(arrays, "net/"))
    states: dict[int, dict[str, Tensor]] = {}
    for key, value in _tensors(arrays, "optimizer/").items():
        place, what = key.split("/")
        states.setdefault(int(place), {})[what] = value
    whole = optimizer.state_dict()
    optimizer.load_state_dict({"state": states, "param_groups": whole["param_groups"]})
    return _State(**told, kept=_tensors(arrays, "kept/"))


def _tensors(arrays: Mapping[str, Any], under: str) -> dict[str, Tensor]:
    return {
        key.removeprefix(under): torch.from_numpy(np.array(value))
        for key, value in arrays.items()
        if key.startswith(under)
    }
