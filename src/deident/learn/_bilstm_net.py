"""The network of Dernoncourt 2017 (2.2) while it learns, in torch; in use it is two graphs (`bilstm.graphs`).

Imports torch; only what trains imports this.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from deident.learn._batches import bucketed, chosen_features, cuts, kinds_of, shown, token_f
from deident.learn._descent import Judged, Plan, descend
from deident.learn.bits import Floats, Ints
from deident.learn.examples import LISTED, Examples, Longs

if TYPE_CHECKING:
    from deident.learn.bilstm import Options


@dataclass(frozen=True, slots=True)
class Notes:
    """All notes in a row, as numbers. Token i is the word `types[i]`; word t is row `rows[t]` of the vectors (0:
    unknown), and its letters are `letters[t, : lengths[t]]` (0: unknown)."""

    data: Examples = field(repr=False)
    units: Longs = field(repr=False)  # what is read at once, as bounds of tokens
    learned: int  # so many units are learned from, the others held out
    types: Ints = field(repr=False)
    rows: Ints = field(repr=False)
    letters: NDArray[np.uint16] = field(repr=False)
    lengths: Ints = field(repr=False)
    vectors: Floats = field(repr=False)  # with that of the unknown word
    alphabet: int  # letters there are, with the unknown one


class Batch(NamedTuple):
    """Stretches of tokens side by side, padded; the words in them once each."""

    words: Tensor  # [windows, length]: which of the words below
    lengths: Tensor  # [windows]
    rows: Tensor  # [words]
    letters: Tensor  # [words, most letters]
    sizes: Tensor  # [words]
    features: Tensor
    bounds: Tensor  # [tokens]
    listed: Tensor
    places: Tensor  # [tokens]: where in the flattened stretches a token stands
    gold: Tensor  # [windows, length]


def batch_of(notes: Notes, stretches: Sequence[tuple[int, int]]) -> Batch:
    lengths = np.array([last - first for first, last in stretches])
    tokens = np.concatenate([np.arange(first, last) for first, last in stretches])
    different, inverse = np.unique(notes.types[tokens], return_inverse=True)
    words = np.zeros((len(stretches), int(lengths.max())), dtype=np.int64)
    gold = np.zeros(words.shape, dtype=np.int64)
    here = np.arange(words.shape[1])[None, :] < lengths[:, None]
    words[here] = inverse
    gold[here] = notes.data.gold[tokens]
    sizes = notes.lengths[different]
    features, bounds = chosen_features(notes.data, tokens)
    return Batch(
        torch.from_numpy(words),
        torch.from_numpy(lengths),
        torch.from_numpy(notes.rows[different].astype(np.int64)),
        torch.from_numpy(notes.letters[different, : int(sizes.max())].astype(np.int64)),
        torch.from_numpy(sizes.astype(np.int64)),
        torch.from_numpy(notes.data.features[features].astype(np.int64)),
        torch.from_numpy(bounds),
        torch.from_numpy(notes.data.kinds[features] == LISTED),
        torch.from_numpy(np.flatnonzero(here)),
        torch.from_numpy(gold),
    )


class Coupled(nn.Module):
    """The two LSTMs of 2.2.1: what a cell takes in it forgets of the old, and its gates see the cell.

    The weights by which the gates see the cell are a diagonal (peepholes), as in most work and in onnxruntime.
    """

    def __init__(self, inputs: int, size: int) -> None:
        super().__init__()
        spread = size**-0.5

        def drawn(*shape: int) -> nn.Parameter:
            return nn.Parameter((torch.rand(*shape) * 2 - 1) * spread)

        # of each direction, the gates in the order in, out, cell
        self.inputs = drawn(2, inputs, 3 * size)
        self.states = drawn(2, size, 3 * size)
        self.bias = nn.Parameter(torch.zeros(2, 1, 3 * size))
        self.peepholes = drawn(2, 2, size)  # of the gates in and out
        self.size = size

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Every step of both directions, [windows, length, 2 × size]; the first of them stand behind each other."""
        back = (lengths[:, None] - 1 - torch.arange(x.shape[1])[None, :]).clamp(min=0)
        both = torch.stack([x, _turned(x, back)])
        # [length, 2, windows, 3 × size]
        seen = (torch.einsum("dbli,dig->ldbg", both, self.inputs) + self.bias).unbind(0)
        h = x.new_zeros(2, x.shape[0], self.size)
        c = torch.zeros_like(h)
        into, out = self.peepholes[:, :1], self.peepholes[:, 1:]
        steps: list[Tensor] = []
        for step in seen:
            gates = torch.baddbmm(step, h, self.states)
            enter = torch.sigmoid(gates[..., : self.size] + into * c)
            c = c + enter * (torch.tanh(gates[..., 2 * self.size :]) - c)
            h = torch.sigmoid(gates[..., self.size : 2 * self.size] + out * c) * torch.tanh(c)
            steps.append(h)
        forth, reverse = torch.stack(steps, dim=2)
        return torch.cat([forth, _turned(reverse, back)], dim=2)


class Plain(nn.Module):
    """The LSTM that everybody has since, with a forget gate of its own."""

    def __init__(self, inputs: int, size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, size, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]


def _turned(x: Tensor, back: Tensor) -> Tensor:
    return x.gather(1, back[:, :, None].expand(-1, -1, x.shape[2]))


class Network(nn.Module):
    """Letters → word; words (and what stands beside them) → tags; tags in their order."""

    def __init__(self, notes: Notes, options: "Options") -> None:
        super().__init__()
        self.options = options
        self.beside = options.beside if len(notes.data.keys) else 0
        size = self.beside
        cell = Coupled if options.coupled else Plain
        if options.letters:
            self.letters = nn.Embedding(notes.alphabet, options.letters)
            self.spell = cell(options.letters, options.letters_lstm)
            size += 2 * options.letters_lstm
        if options.words:
            self.vectors = nn.Embedding.from_pretrained(torch.from_numpy(notes.vectors.copy()), freeze=False)
            size += notes.vectors.shape[1]
        if self.beside:
            self.said = nn.Parameter(torch.randn(len(notes.data.keys), self.beside) * 0.1)
        tags = len(notes.data.labels)
        self.read = cell(size, options.lstm)
        self.inner = nn.Linear(2 * options.lstm, options.hidden)
        self.tags = nn.Linear(options.hidden, tags)
        if self.beside:
            self.tags_beside = nn.Linear(self.beside, tags, bias=False)
        if options.sequence:
            self.moves = nn.Parameter(torch.zeros(tags, tags))
            self.first = nn.Parameter(torch.zeros(tags))

    def forward(self, batch: Batch) -> Tensor:
        """The score of each tag at each place of the stretches."""
        options = self.options
        parts: list[Tensor] = []
        if options.words:
            rows = batch.rows
            if self.training and options.drop_words:
                rows = torch.where(torch.rand(len(rows)) < options.drop_words, 0, rows)
            parts.append(self.vectors(rows)[batch.words])
        if options.letters:
            steps = self.spell(self.letters(batch.letters), batch.sizes)
            half = steps.shape[2] // 2
            last = steps[torch.arange(len(steps)), batch.sizes - 1, :half]
            parts.append(torch.cat([last, steps[:, 0, half:]], dim=1)[batch.words])
        if self.beside:
            vector = shown(
                batch.features,
                batch.bounds,
                batch.listed,
                self.said,
                hide=options.drop_features,
                hide_lists=options.drop_lists,
                training=self.training,
            )
            flat = torch.zeros(batch.words.numel(), self.beside)
            parts.append(flat.index_copy(0, batch.places, vector).view(*batch.words.shape, -1))
        x = functional.dropout(torch.cat(parts, dim=2), options.dropout, self.training)
        scores = self.tags(torch.tanh(self.inner(self.read(x, batch.lengths))))
        return scores + self.tags_beside(parts[-1]) if self.beside else scores

    def loss(self, batch: Batch) -> Tensor:
        """The mean of a token: of the whole order of tags (2.2.4), or of each tag by itself."""
        scores = self(batch)
        count = int(batch.lengths.sum())
        if not self.options.sequence:
            flat = scores.reshape(-1, scores.shape[2])[batch.places]
            return functional.cross_entropy(flat, batch.gold.reshape(-1)[batch.places])
        return (self._all(scores, batch.lengths) - self._gold(scores, batch)).sum() / count

    def _gold(self, scores: Tensor, batch: Batch) -> Tensor:
        """The score of the right order of tags."""
        here = torch.arange(scores.shape[1])[None, :] < batch.lengths[:, None]
        own = (scores.gather(2, batch.gold[:, :, None])[:, :, 0] * here).sum(dim=1)
        moved = (self.moves[batch.gold[:, :-1], batch.gold[:, 1:]] * here[:, 1:]).sum(dim=1)
        return own + moved + self.first[batch.gold[:, 0]]

    def _all(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """The logarithm of the sum over all orders of tags."""
        now = scores[:, 0] + self.first
        for place in range(1, scores.shape[1]):
            most = now.max(dim=1, keepdim=True).values
            # as products of matrices: the scores of a place and the moves stay small
            reached = ((now - most).exp() @ self.moves.exp()).log() + most + scores[:, place]
            now = torch.where((place < lengths)[:, None], reached, now)
        return now.logsumexp(dim=1)

    def arrays(self) -> dict[str, Floats]:
        return {name: tensor.detach().numpy() for name, tensor in self.state_dict().items()}


def train(notes: Notes, options: "Options", *, name: str, told: Callable[[int, float], None]) -> dict[str, Floats]:
    """The arrays of the finished network."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    net = Network(notes, options)
    make = torch.optim.SGD if options.optimizer == "sgd" else torch.optim.Adam
    optimizer = make(net.parameters(), lr=options.rate)
    bounds = notes.units.tolist()
    every = list(pairwise(bounds))
    sizes = np.ones(len(notes.types), dtype=np.int32)
    ends = np.cumsum(sizes, dtype=np.int64)

    def cut(units: list[tuple[int, int]], random: np.random.Generator | None) -> list[tuple[int, int]]:
        return [part for first, last in units for part in cuts(ends, sizes, first, last, options.stretch, random)]

    def batches(number: int) -> list[list[tuple[int, int]]]:
        random = np.random.default_rng([options.seed, number])
        return bucketed(ends, sizes, cut(every[: notes.learned], random), options.batch, random)

    def judge() -> Judged:
        random = np.random.default_rng(options.seed)
        found = bucketed(ends, sizes, cut(every[notes.learned :], None), max(2000, options.batch), random)
        return _judged(net, [batch_of(notes, stretches) for stretches in found], kinds_of(notes.data.labels))

    plan: Plan[list[tuple[int, int]]] = Plan(
        options.passes,
        batches,
        lambda stretches: net.loss(batch_of(notes, stretches)),
        judge if notes.learned < len(every) else None,
        0,
        options.patience,
        warmup=0.0,
        falling=options.optimizer != "sgd",
        clip=options.clip,
        seed=options.seed,
        name=name,
        told=told,
        checkpoint=Path(options.checkpoint) if options.checkpoint else None,
        every=options.every,
    )
    descend(net, optimizer, plan)
    return net.arrays()


def _judged(net: Network, batches: Sequence[Batch], kinds: NDArray[np.int64]) -> Judged:
    loss, count = 0.0, 0
    gold: list[NDArray[np.int64]] = []
    found: list[NDArray[np.int64]] = []
    for batch in batches:
        tokens = len(batch.places)
        loss += float(net.loss(batch)) * tokens
        count += tokens
        scores = net(batch)
        best: Any = _best(scores, batch.lengths, net.moves, net.first) if net.options.sequence else scores.argmax(dim=2)
        gold.append(batch.gold.reshape(-1)[batch.places].numpy())
        found.append(best.reshape(-1)[batch.places].numpy())
    return Judged(loss / max(1, count), token_f(np.concatenate(gold), np.concatenate(found), kinds))


def _best(scores: Tensor, lengths: Tensor, moves: Tensor, first: Tensor) -> Tensor:
    """The best order of tags of each stretch."""
    now = scores[:, 0] + first
    stay = torch.arange(scores.shape[2])[None, :].expand(len(scores), -1)
    back: list[Tensor] = []
    for place in range(1, scores.shape[1]):
        alive = (place < lengths)[:, None]
        reached = (now[:, :, None] + moves[None]).max(dim=1)
        back.append(torch.where(alive, reached.indices, stay))
        now = torch.where(alive, reached.values + scores[:, place], now)
    path = [now.argmax(dim=1)]
    for step in reversed(back):
        path.append(step.gather(1, path[-1][:, None])[:, 0])
    return torch.stack(path[::-1], dim=1)
