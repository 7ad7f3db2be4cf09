"""The transformer while it learns, in torch; in use it is a graph (`transformer.graph`) that computes the same.

Imports torch; only what trains imports this.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from deident.learn._batches import bucketed, chosen_features, cuts, kinds_of, shown, token_f
from deident.learn._descent import Judged, Plan, descend
from deident.learn._encoders import ACTIVATIONS, Encoder
from deident.learn.bits import Floats, Ints
from deident.learn.examples import LISTED, Examples, Longs

if TYPE_CHECKING:
    from deident.learn.transformer import Options


def _active(x: Tensor, name: str) -> Tensor:
    kind = ACTIVATIONS[name]
    return functional.relu(x) if kind == "relu" else functional.gelu(x, approximate=kind)


@dataclass(frozen=True, slots=True)
class Notes:
    """All notes in a row, as numbers: token i has the pieces `pieces[ends[i] - sizes[i]:ends[i]]`."""

    data: Examples = field(repr=False)
    pieces: Ints = field(repr=False)
    sizes: Ints = field(repr=False)
    ends: Longs = field(repr=False)
    begin: int
    end: int
    unknown: int
    mask: int


class Batch(NamedTuple):
    """Windows side by side, padded. Token numbers count those of the batch, from 1 (0: a piece of none)."""

    pieces: Tensor  # [windows, length]
    real: Tensor  # [windows, length]
    token_of: Tensor  # [windows, length]
    firsts: Tensor  # [tokens]: where in the flattened windows a token's first piece stands
    features: Tensor  # of all tokens in a row
    bounds: Tensor  # [tokens]
    listed: Tensor  # of each feature, whether it speaks of lists
    gold: Tensor  # [tokens]


def batch_of(notes: Notes, stretches: Sequence[tuple[int, int]]) -> Batch:
    """The batch of some stretches of tokens."""
    data = notes.data
    lengths = [int(notes.sizes[first:last].sum()) + 2 for first, last in stretches]
    pieces = np.zeros((len(stretches), max(lengths)), dtype=np.int64)
    real = np.zeros(pieces.shape, dtype=np.bool_)
    token_of = np.zeros(pieces.shape, dtype=np.int64)
    firsts: list[NDArray[np.int64]] = []
    done = 0
    for row, ((first, last), length) in enumerate(zip(stretches, lengths, strict=True)):
        sizes = notes.sizes[first:last]
        start = int(notes.ends[first]) - int(notes.sizes[first])
        pieces[row, 0], pieces[row, length - 1] = notes.begin, notes.end
        pieces[row, 1 : length - 1] = notes.pieces[start : start + length - 2]
        real[row, :length] = True
        token_of[row, 1 : length - 1] = np.repeat(np.arange(done + 1, done + 1 + last - first), sizes)
        firsts.append(row * pieces.shape[1] + 1 + np.cumsum(sizes) - sizes)
        done += last - first
    tokens = np.concatenate([np.arange(first, last) for first, last in stretches])
    chosen, starts = chosen_features(data, tokens)
    return Batch(
        torch.from_numpy(pieces),
        torch.from_numpy(real),
        torch.from_numpy(token_of),
        torch.from_numpy(np.concatenate(firsts)),
        torch.from_numpy(data.features[chosen].astype(np.int64)),
        torch.from_numpy(starts),
        torch.from_numpy(data.kinds[chosen] == LISTED),
        torch.from_numpy(data.gold[tokens].astype(np.int64)),
    )


@dataclass(frozen=True, slots=True)
class Chances:
    """How often something is hidden while it learns."""

    dropout: float
    features: float  # one thing said beside a token
    lists: float  # all that the lists say of a token
    words: float  # the pieces of a token


class Network(nn.Module):
    """An encoder; what stands beside each token is added to its pieces, and told to the layer of tags once more."""

    def __init__(
        self, encoder: Encoder, *, features: int, beside: int, tags: int, chances: Chances, tune_words: bool
    ) -> None:
        super().__init__()
        shape = encoder.shape
        self.heads, self.epsilon, self.chances = shape.heads, shape.epsilon, chances
        self.activation = shape.activation
        self.layers = shape.layers
        words = torch.from_numpy(np.array(encoder.arrays["words"]))
        if tune_words:
            self.words = nn.Parameter(words)
        else:
            self.register_buffer("words", words, persistent=False)
        brought = {name: torch.from_numpy(np.array(a)) for name, a in encoder.arrays.items() if name != "words"}
        own = {"tags.weight": torch.randn(shape.hidden, tags) * 0.02, "tags.bias": torch.zeros(tags)}
        if features:
            own["said"] = torch.randn(features, beside) * 0.05
            own["into.weight"] = torch.zeros(beside, shape.hidden)
            own["tags_beside.weight"] = torch.zeros(beside, tags)
        # torch allows no dot in a parameter's name
        self.encoder = nn.ParameterDict({_slashed(name): nn.Parameter(array) for name, array in brought.items()})
        self.own = nn.ParameterDict({_slashed(name): nn.Parameter(array) for name, array in own.items()})

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = self.encoder[f"{name}/weight"], self.encoder[f"{name}/bias"]
        return functional.layer_norm(x, weight.shape, weight, bias, self.epsilon)

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return x @ self.encoder[f"{name}/weight"] + self.encoder[f"{name}/bias"]

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.chances.dropout, self.training)

    def forward(self, batch: Batch, mask: int = 0) -> Tensor:
        """The score of each tag at each token."""
        pieces, beside = batch.pieces, None
        if self.training and self.chances.words:
            hidden = torch.rand(len(batch.gold) + 1) < self.chances.words
            hidden[0] = False
            pieces = torch.where(hidden[batch.token_of], mask, pieces)
        x = functional.embedding(pieces, cast(Tensor, self.words)) + self.encoder["places"][: pieces.shape[1]]
        x = self._drop(self._norm(x, "norm"))
        if "project/weight" in self.encoder:
            x = self._linear(x, "project")
        if "said" in self.own:
            beside = self._beside(batch)
            x = x + functional.pad(beside, (0, 0, 1, 0))[batch.token_of] @ self.own["into/weight"]
        unseen = ~batch.real[:, None, None, :]
        for number in range(self.layers):
            x = self._layer(x, f"layer/{number}", unseen)
        chosen = self._drop(x.reshape(-1, x.shape[-1])[batch.firsts])
        scores = chosen @ self.own["tags/weight"] + self.own["tags/bias"]
        return scores if beside is None else scores + beside @ self.own["tags_beside/weight"]

    def _beside(self, batch: Batch) -> Tensor:
        return shown(
            batch.features,
            batch.bounds,
            batch.listed,
            self.own["said"],
            hide=self.chances.features,
            hide_lists=self.chances.lists,
            training=self.training,
        )

    def _layer(self, x: Tensor, name: str, unseen: Tensor) -> Tensor:
        count, length, size = x.shape
        q, k, v = (
            self._linear(x, f"{name}/{part}").view(count, length, self.heads, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=~unseen)
        told = self._linear(seen.transpose(1, 2).reshape(count, length, size), f"{name}/out")
        x = self._norm(x + self._drop(told), f"{name}/norm1")
        inner = self._linear(_active(self._linear(x, f"{name}/up"), self.activation), f"{name}/down")
        return self._norm(x + self._drop(inner), f"{name}/norm2")

    def arrays(self) -> dict[str, Floats]:
        """All that was learned, and the encoder's words, under the names that the graph has for them."""
        found = {
            name.replace("/", "."): parameter.detach().numpy()
            for held in (self.encoder, self.own)
            for name, parameter in held.items()
        }
        return found | {"words": cast(Tensor, self.words).detach().numpy()}


def _slashed(name: str) -> str:
    return name.replace(".", "/")


# --- training --------------------------------------------------------------------------------------------------------


def train(
    notes: Notes, encoder: Encoder, options: "Options", *, name: str, told: Callable[[int, float], None]
) -> dict[str, Floats]:
    """The arrays of the finished network."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    data = notes.data
    chances = Chances(options.dropout, options.drop_features, options.drop_lists, options.drop_words)
    net = Network(
        encoder,
        features=len(data.keys),
        beside=options.beside,
        tags=len(data.labels),
        chances=chances,
        tune_words=options.tune_words,
    )
    fresh = list(net.own.parameters())
    own = set(map(id, fresh))
    groups: list[dict[str, Any]] = [
        {"params": [parameter for parameter in net.parameters() if id(parameter) not in own], "lr": options.rate},
        {"params": fresh, "lr": options.rate_fresh},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=options.decay)
    kinds = kinds_of(data.labels)
    of_note = np.flatnonzero(np.diff(data.page_of, prepend=-1))  # a note is one unit here
    learned = [(int(data.units[at]), int(data.units[at + 1])) for at in of_note[: len(of_note) - data.held]]
    held = [(int(data.units[at]), int(data.units[at + 1])) for at in of_note[len(of_note) - data.held :]]
    room = options.window_learned - 2

    def batches(number: int) -> list[list[tuple[int, int]]]:
        random = np.random.default_rng([options.seed, number])
        found = [part for unit in learned for part in cuts(notes.ends, notes.sizes, *unit, room, random)]
        return bucketed(notes.ends, notes.sizes, found, options.batch, random, more=2)

    def loss(stretches: list[tuple[int, int]]) -> Tensor:
        batch = batch_of(notes, stretches)
        with torch.autocast("cpu", torch.bfloat16, enabled=options.half):
            scores = net(batch, notes.mask)
        return functional.cross_entropy(scores.float(), batch.gold)

    def judge() -> Judged:
        random = np.random.default_rng(options.seed)
        parts = [part for unit in held for part in cuts(notes.ends, notes.sizes, *unit, room, None)]
        found = bucketed(notes.ends, notes.sizes, parts, 2 * options.batch, random, more=2)
        return _judged(net, [batch_of(notes, stretches) for stretches in found], kinds, half=options.half)

    descend(
        net,
        optimizer,
        Plan(
            options.passes,
            batches,
            loss,
            judge if held else None,
            options.judged,
            options.patience,
            options.warmup,
            falling=True,
            clip=options.clip,
            seed=options.seed,
            name=name,
            told=told,
            checkpoint=Path(options.checkpoint) if options.checkpoint else None,
            every=options.every,
        ),
    )
    return net.arrays()


def _judged(net: Network, batches: Sequence[Batch], kinds: NDArray[np.int64], *, half: bool) -> Judged:
    loss, gold, found = 0.0, list[Tensor](), list[Tensor]()
    for batch in batches:
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            scores = net(batch)
        loss += float(functional.cross_entropy(scores.float(), batch.gold, reduction="sum"))
        gold.append(batch.gold)
        found.append(scores.argmax(dim=1))
    true = torch.cat(gold).numpy()
    return Judged(loss / max(1, len(true)), token_f(true, torch.cat(found).numpy(), kinds))
