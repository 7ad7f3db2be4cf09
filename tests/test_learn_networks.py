"""Networks: encoders of other people's build, word pieces and windows, learning by a seed and from a checkpoint, the
same from torch and from onnxruntime, models on disk, what they find."""

import importlib
import json
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deident import corpus, detect
from deident.config import Detect
from deident.document import Document, Span
from deident.errors import FormatError, MissingPackageError, UsageError
from deident.learn import _encoders, bilstm, networks, pages, store, train, transformer, vectors
from deident.learn._graphs import arrays_of, eight_bits
from deident.learn._pieces import MOST, Pieces, of_folder, windows
from deident.learn.columns import Page
from deident.learn.features import feature_set
from deident.learn.train import Task
from deident.view import view

torch: Any = importlib.import_module("torch")
GOLDEN = Path(__file__).parent / "golden" / "encoders" / "encoders.json"


@cache
def notes() -> tuple[Document, ...]:
    return tuple(corpus.load("deident-open", split="train"))


def page(text: str) -> Page:
    return Page(view(text))


# --- encoders of other people's build ---


def safetensors(path: Path, arrays: dict[str, Any]) -> None:
    contents, place = dict[str, Any](), 0
    for name, array in arrays.items():
        contents[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    head = json.dumps(contents).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + b"".join(array.tobytes() for array in arrays.values()))


def encoders() -> list[dict[str, Any]]:
    return json.loads(GOLDEN.read_text(encoding="utf-8"))["encoders"]


def written(encoder: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The encoder of the golden file as a folder; returns its arrays."""
    random = np.random.default_rng(7)
    arrays = {
        encoder["prefix"] + name: random.normal(0, 0.3, shape).astype(np.float32)
        for name, shape in encoder["shapes"].items()
    }
    (folder / "config.json").write_text(json.dumps(encoder["config"]), encoding="utf-8")
    safetensors(folder / "model.safetensors", arrays)
    return arrays


def hidden(encoder: _encoders.Encoder, pieces: Sequence[int], *, int8: bool = False) -> Any:
    """What the encoder's last layer says of each piece, through a layer of tags that changes nothing."""
    size = encoder.shape.hidden
    arrays = {
        **encoder.arrays,
        "tags.weight": np.eye(size, dtype=np.float32),
        "tags.bias": np.zeros(size, dtype=np.float32),
    }
    session = networks.session(transformer.graph(arrays, encoder.shape, int8=int8))
    return session.run(None, {"pieces": np.array(pieces), "firsts": np.arange(len(pieces))})[0]


@pytest.mark.parametrize("encoder", encoders(), ids=lambda encoder: encoder["config"]["model_type"])
def test_encoders_say_what_their_own_library_says(encoder: dict[str, Any], tmp_path: Path, golden: Any) -> None:
    written(encoder, tmp_path)
    found = hidden(_encoders.read(tmp_path), encoder["pieces"])
    assert np.allclose(found, encoder["hidden"], atol=2e-6)
    golden("encoders", found.size)


def test_an_encoder_is_read_from_torchs_own_format_and_cut(tmp_path: Path) -> None:
    encoder = encoders()[0]
    arrays = written(encoder, tmp_path)
    whole = hidden(_encoders.read(tmp_path), encoder["pieces"])
    (tmp_path / "model.safetensors").unlink()
    torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, tmp_path / "pytorch_model.bin")
    assert np.array_equal(hidden(_encoders.read(tmp_path), encoder["pieces"]), whole)
    assert _encoders.read(tmp_path, layers=1).shape.layers == 1


def test_half_precision_is_read(tmp_path: Path) -> None:
    encoder = encoders()[0]
    arrays = written(encoder, tmp_path)
    name = "bert.embeddings.word_embeddings.weight"
    for kind, raw in (
        ("F16", arrays[name].astype(np.float16)),
        ("BF16", (arrays[name].view(np.uint32) >> 16).astype(np.uint16)),
    ):
        safetensors(tmp_path / "model.safetensors", arrays | {name: raw})
        data = (tmp_path / "model.safetensors").read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        head = json.loads(data[8 : 8 + size])
        head[name]["dtype"] = kind
        again = json.dumps(head).encode()
        (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(again)) + again + data[8 + size :])
        assert np.allclose(_encoders.read(tmp_path).arrays["words"], arrays[name], rtol=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "deberta"}, "of the type 'deberta' is not read; those of bert, roberta"),
        ({"hidden_act": "silu"}, "the activation 'silu'"),
        ({"position_embedding_type": "relative_key"}, "relative places"),
        ({"num_hidden_layers": 3}, "its weights have no encoder.layer.2"),
    ],
)
def test_encoders_of_another_build_are_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    encoder = encoders()[0]
    written(encoder, tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(encoder["config"] | change), encoding="utf-8")
    with pytest.raises((UsageError, FormatError), match=message):
        _encoders.read(tmp_path)


def test_what_is_no_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no config\.json"):
        _encoders.read(tmp_path)
    written(encoders()[0], tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(FormatError, match="not in the format safetensors"):
        _encoders.read(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(UsageError, match=r"has no model\.safetensors"):
        _encoders.read(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"no weights")
    with pytest.raises(FormatError, match="holds no weights"):
        _encoders.read(tmp_path)
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(FormatError, match=r"config\.json cannot be read"):
        _encoders.read(tmp_path)


# --- pieces and windows ---


@settings(max_examples=200)
@given(st.lists(st.integers(1, MOST), max_size=80), st.integers(MOST, 40), st.integers(0, 30))
def test_windows_judge_every_token_once_and_fit(sizes: list[int], room: int, overlap: int) -> None:
    found = windows(sizes, room, overlap)
    assert [place for w in found for place in range(w.kept_first, w.kept_last)] == list(range(len(sizes)))
    for window in found:
        assert window.first <= window.kept_first < window.kept_last <= window.last
        assert sum(sizes[window.first : window.last]) <= room


def test_neighbouring_windows_share_about_what_is_asked() -> None:
    found = windows([1] * 1000, 100, 40)
    assert {left.last - right.first for left, right in pairwise(found)} == {40}
    assert all(window.kept_first - window.first >= 20 for window in found[1:])


def test_pieces_are_those_of_the_tokenizer_and_every_token_has_one(tiny: Path) -> None:
    pieces = of_folder(tiny)
    shown = page("Ada Okoro\u200b, \ud800 \U0001f600 " + "_" * 50)
    flat, sizes = pieces.of(shown)
    assert len(sizes) == len(shown.words)
    assert sizes.min() >= 1
    assert sizes.max() == MOST
    assert len(flat) == sizes.sum()
    again = Pieces(pieces.written())
    assert np.array_equal(again.of(shown)[0], flat)


def test_blanks_matter_to_tokenizers_that_see_them(tmp_path: Path) -> None:
    tokenizers: Any = importlib.import_module("tokenizers")
    bytes_ = tokenizers.pre_tokenizers.ByteLevel
    vocabulary = {"<s>": 0, "</s>": 1, "<unk>": 2, "<mask>": 3}
    for char in sorted(bytes_.alphabet()):
        vocabulary[char] = len(vocabulary)
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = bytes_(add_prefix_space=False)
    (tmp_path / "tokenizer.json").write_text(made.to_str(), encoding="utf-8")
    pieces = of_folder(tmp_path)
    _, sizes = pieces.of(page("ab cd5"))
    assert sizes.tolist() == [3, 3, 1] or sizes.tolist() == [3, 4]
    assert (pieces.begin, pieces.end, pieces.unknown, pieces.mask) == (0, 1, 2, 3)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no tokenizer"):
        of_folder(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(FormatError, match="no tokenizer"):
        of_folder(tmp_path)


# --- eight bits ---


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 1 << 30))
def test_eight_bits_lose_at_most_half_a_step(height: int, width: int, seed: int) -> None:
    table = np.random.default_rng(seed).normal(0, 1, (height, width)).astype(np.float32)
    for axis in (0, 1):
        whole, factors = eight_bits(table, axis=axis, steps=63)
        assert np.abs(whole).max() <= 63
        assert (np.abs(whole * factors - table) <= factors * 0.501).all()


# --- learning ---


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two small layers, drawn, that reads letters."""
    folder = tmp_path_factory.mktemp("encoder")
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    encoder = encoders()[0]
    size, inner = 16, 24
    swapped = {14: len(words), 12: 64} | {8: size}
    shapes = {name: [swapped.get(n, n) for n in shape] for name, shape in encoder["shapes"].items()}
    for name, shape in shapes.items():
        # 12 is the length of the places and of the inner layer
        if "position" not in name:
            shapes[name] = [inner if n == 64 else n for n in shape]
    written({**encoder, "shapes": shapes, "config": encoder["config"] | {"hidden_size": size}}, folder)
    return folder


def options(tiny: Path, **changes: Any) -> transformer.Options:
    small = transformer.Options(
        encoder=str(tiny), window=60, overlap=20, window_learned=50, batch=400, beside=12, passes=2, rate=2e-3,
        rate_fresh=2e-2, drop_words=0.0, int8=False,
    )  # fmt: skip
    return replace(small, **changes)


SMALL = bilstm.Options(
    vectors="", words=12, letters=6, letters_lstm=5, lstm=12, hidden=10, batch=1500, stretch=40, optimizer="adam",
    rate=1e-2, passes=2, dropout=0.1, int8=False,
)  # fmt: skip


@pytest.fixture(scope="module")
def fine_tuned(tiny: Path) -> transformer.Transformer:
    model = train.train(notes()[:8], learner="transformer", options=options(tiny, passes=3))
    assert isinstance(model, transformer.Transformer)
    return model


@pytest.fixture(scope="module")
def recurrent() -> bilstm.BiLSTM:
    chosen = replace(SMALL, columns="beside", unit="document", coupled=False, passes=8, batch=600)
    model = train.train(notes()[:8], learner="bilstm", options=chosen)
    assert isinstance(model, bilstm.BiLSTM)
    return model


@pytest.fixture(params=["fine_tuned", "recurrent"])
def model(request: pytest.FixtureRequest) -> store.Model:
    return request.getfixturevalue(request.param)


def test_loss_falls_on_notes_held_out(tiny: Path) -> None:
    for learner, chosen in (("transformer", options(tiny)), ("bilstm", SMALL)):
        losses: list[float] = []
        train.train(
            notes()[:5],
            held=notes()[5:7],
            learner=learner,
            options=chosen,
            told=lambda _, loss: losses.append(loss),  # noqa: B023
        )
        assert len(losses) == 2
        assert losses[1] < losses[0] < 4.2


class Stopped(Exception):  # noqa: N818
    """Somebody pulls the plug."""


@pytest.mark.parametrize("learner", ["transformer", "bilstm"])
def test_an_interrupted_training_goes_on_to_the_same_model(learner: str, tiny: Path, tmp_path: Path) -> None:
    chosen: Any = options(tiny, judged=4) if learner == "transformer" else SMALL
    given: dict[str, Any] = {"held": notes()[3:4], "learner": learner}
    whole: Any = train.train(notes()[:3], options=chosen, **given)
    kept = replace(chosen, checkpoint=str(tmp_path / "training.npz"), every=1)

    def pulled(number: int, loss: float) -> None:
        if number == 1:
            raise Stopped

    with pytest.raises(Stopped):
        train.train(notes()[:3], options=kept, told=pulled, **given)
    assert (tmp_path / "training.npz").is_file()
    resumed: Any = train.train(notes()[:3], options=kept, **given)
    assert resumed.network == whole.network
    assert resumed.manifest == whole.manifest
    with pytest.raises(UsageError, match="the checkpoint of another training"):
        train.train(notes()[:3], options=replace(kept, dropout=0.2), **given)
    (tmp_path / "training.npz").write_bytes(b"PK")
    with pytest.raises(FormatError, match="no checkpoint"):
        train.train(notes()[:3], options=kept, **given)


def test_training_stops_when_nothing_is_gained(tiny: Path) -> None:
    passes: list[int] = []
    chosen = options(tiny, passes=20, rate=0.0, rate_fresh=0.0, patience=2)
    train.train(
        notes()[:2], held=notes()[2:3], learner="transformer", options=chosen, told=lambda at, _: passes.append(at)
    )
    assert passes == [0, 1, 2]


def test_recased_copies_keep_their_spans() -> None:
    doc = Document("a", "Frau Groß, 61", (Span(5, 9, notes()[0].spans[0].label),))
    copies = networks.recased([doc] * 10, 0.3, seed=1)
    assert [copy.text for copy in copies] == ["FRAU GROß, 61"] * 3 + ["frau groß, 61"] * 3
    assert all(copy.spans == doc.spans for copy in copies)
    assert len(networks.recased([doc] * 3, 0.9, seed=1)) == 2


def test_wrong_options_are_refused(tiny: Path) -> None:
    for learner, chosen, message in (
        ("transformer", transformer.Options(), "name its folder"),
        ("transformer", options(tiny, window=65), "a window of 65 is too long"),
        ("bilstm", replace(SMALL, unit="line"), "must be sentence or document"),
        ("bilstm", replace(SMALL, optimizer="newton"), "must be sgd or adam"),
        ("bilstm", replace(SMALL, letters=0, words=0), "nothing to read"),
    ):
        with pytest.raises(UsageError, match=message):
            train.train(notes()[:2], learner=learner, options=chosen)


# --- torch and onnxruntime ---


def by_torch(learner: str, chosen: Any, docs: Sequence[Document]) -> tuple[Any, Any, Any]:
    """A drawn network of these options, the arrays it has, and the notes as it reads them."""
    module: Any = importlib.import_module(f"deident.learn._{learner}_net")
    torch.manual_seed(3)
    task = Task(docs)
    if learner == "bilstm":
        read, known = bilstm.numbers(task, chosen)
        net = module.Network(read, chosen)
        if net.beside:  # as it is kept
            net.said.data = net.said.data.half().float()
        return net.eval(), read, known
    pieces = of_folder(Path(chosen.encoder))
    read = transformer.numbers(task, chosen, pieces)
    chances = module.Chances(0.1, 0.1, 0.1, 0.1)
    net = module.Network(
        _encoders.read(Path(chosen.encoder)),
        features=len(read.data.keys),
        beside=chosen.beside,
        tags=len(read.data.labels),
        chances=chances,
        tune_words=chosen.tune_words,
    )
    for parameter in net.own.values():
        parameter.data.normal_(0, 0.2)
        parameter.data = parameter.data.half().float()  # as some of it is kept
    return net.eval(), read, pieces


@pytest.mark.parametrize("columns", ["beside", "none"])
def test_the_graph_of_a_transformer_computes_what_torch_does(columns: str, tiny: Path) -> None:
    doc = notes()[0]
    chosen = options(tiny, columns=columns, least=1)
    net, read, pieces = by_torch("transformer", chosen, [doc])
    arrays = net.arrays()
    manifest = Task([doc]).manifest("transformer", read.data.labels, chosen, features=columns)
    encoder = _encoders.read(tiny)
    said = networks.said_weights(read.data.keys, arrays["said"]) if columns == "beside" else None
    model = transformer.Transformer(
        manifest, transformer.graph(arrays, encoder.shape, int8=False), said, pieces.written()
    )
    shown = pages(model.features)(doc)
    found, _ = transformer.Scorer(model).scores(shown)
    module: Any = importlib.import_module("deident.learn._transformer_net")
    for window in windows(read.sizes, 58, 20):
        with torch.no_grad():
            scores = net(module.batch_of(read, [(window.first, window.last)])).numpy()
        kept = scores[window.kept_first - window.first : window.kept_last - window.first]
        assert np.allclose(kept, found[window.kept_first : window.kept_last], atol=1e-4)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"coupled": False, "columns": "beside", "unit": "document"},
        {"letters": 0, "sequence": False},
        {"words": 0, "coupled": False},
    ],
)
def test_the_graphs_of_a_bilstm_compute_what_torch_does(changes: dict[str, Any]) -> None:
    doc = notes()[1]
    chosen = replace(SMALL, **changes)
    net, read, known = by_torch("bilstm", chosen, [doc])
    arrays = net.arrays()
    manifest = Task([doc]).manifest("bilstm", read.data.labels, chosen, features=chosen.columns)
    network, spelling = bilstm.graphs(arrays, manifest.options)
    still = np.zeros((len(read.data.labels),) * 2, dtype=np.float32)
    said = networks.said_weights(read.data.keys, arrays["said"]) if chosen.columns == "beside" else None
    table = arrays.get("vectors.weight", np.zeros((1, 0), dtype=np.float32))
    model = bilstm.BiLSTM(manifest, network, spelling, known, table, still, still[0], said)
    found, stretches = bilstm.Scorer(model).scores(pages(model.features)(doc))
    module: Any = importlib.import_module("deident.learn._bilstm_net")
    batch = module.batch_of(read, stretches)
    with torch.no_grad():
        scores = net(batch).reshape(-1, found.shape[1])[batch.places].numpy()
    assert np.allclose(scores, found, atol=1e-5)


def test_the_order_of_tags_is_summed_and_chosen_as_by_trying_all() -> None:
    module: Any = importlib.import_module("deident.learn._bilstm_net")
    net, _, _ = by_torch("bilstm", replace(SMALL, letters=0), notes()[:1])
    tags = 4
    del net.moves, net.first
    net.moves, net.first = torch.randn(tags, tags), torch.randn(tags)
    scores, lengths = torch.randn(2, 5, tags), torch.tensor([5, 3])
    best = module._best(scores, lengths, net.moves, net.first)
    for row, length in enumerate(lengths.tolist()):
        every = {
            path: float(net.first[path[0]])
            + sum(float(scores[row, at, tag]) for at, tag in enumerate(path))
            + sum(float(net.moves[a, b]) for a, b in pairwise(path))
            for path in product(range(tags), repeat=length)
        }
        assert tuple(best[row, :length].tolist()) == max(every, key=lambda path: every[path])
        total = float(np.logaddexp.reduce(list(every.values())))
        assert float(net._all(scores, lengths)[row]) == pytest.approx(total, abs=1e-4)


# --- use ---


def test_a_network_is_a_detector_that_comes_back_from_disk(model: store.Model, tmp_path: Path) -> None:
    store.save(model, tmp_path / "m")
    again = detect.load("learned", Detect(model=str(tmp_path / "m")))
    held = [*notes()[:3], Document("e", ""), Document("b", " \n")]
    found = [doc.spans for doc in train.predict(model, held)]
    assert sum(map(len, found)) > 10
    assert [tuple(again.detect(doc)) for doc in held] == found
    assert all(0 <= span.score <= 1.001 for spans in found for span in spans)
    named = "TRANSFORMER" if isinstance(model, transformer.Transformer) else "BILSTM"
    assert again.why(found[0][0]).startswith(f"a {named} learned")


def test_nothing_depends_on_what_came_before(model: store.Model) -> None:
    docs = notes()[:5]
    together = {doc.id: doc.spans for doc in train.predict(model, docs)}
    for doc in reversed(docs):
        (alone,) = train.predict(model, [doc])
        assert alone.spans == together[doc.id]


def test_a_bias_finds_more(model: store.Model) -> None:
    counts = [sum(len(doc.spans) for doc in train.predict(model, notes()[:3], bias=bias)) for bias in (-3, 0, 3)]
    assert counts == sorted(counts)
    assert counts[0] < counts[2]


def test_eight_bits_are_a_third_of_the_size_and_nearly_the_same(
    fine_tuned: transformer.Transformer, tmp_path: Path
) -> None:
    small = transformer.in_eight_bits(fine_tuned)
    with pytest.raises(UsageError, match="in eight bits already"):
        transformer.in_eight_bits(small)
    assert small.manifest.options["int8"] is True
    names = arrays_of(small.network)
    assert {array.dtype.name for array in names.values()} >= {"int8", "float32"}
    held = notes()[:3]
    pairs = zip(train.predict(fine_tuned, held), train.predict(small, held), strict=True)
    both = [(set(a.spans), set(b.spans)) for a, b in pairs]
    assert sum(len(a & b) for a, b in both) > 0.9 * sum(len(a | b) for a, b in both)
    store.save(small, tmp_path / "m")
    again = store.load(tmp_path / "m")
    assert [doc.spans for doc in train.predict(again, held)] == [doc.spans for doc in train.predict(small, held)]


def test_a_folder_holds_no_word_of_a_note(recurrent: bilstm.BiLSTM, tmp_path: Path) -> None:
    store.save(recurrent, tmp_path / "m")
    content = b"".join(path.read_bytes() for path in (tmp_path / "m").iterdir())
    for path in (tmp_path / "m").glob("*.npz"):
        with np.load(path) as arrays:
            assert all(arrays[name].dtype.kind in "uif" for name in arrays.files)
    for doc in notes()[:8]:
        for span in doc.spans:
            text = doc.text[span.start : span.end]
            if len(text) > 7:
                assert text.encode() not in content


@pytest.mark.parametrize("lost", ["network.onnx", "beside.npz"])
def test_a_folder_that_lacks_something_is_refused(model: store.Model, lost: str, tmp_path: Path) -> None:
    store.save(model, tmp_path / "m")
    (tmp_path / "m" / lost).unlink()
    with pytest.raises(FormatError, match="is not a model"):
        store.load(tmp_path / "m")
    store.save(model, tmp_path / "m")
    (tmp_path / "m" / "network.onnx").write_bytes(b"no graph")
    with pytest.raises(FormatError, match="no graph that can be run"):
        list(train.predict(store.load(tmp_path / "m"), notes()[:1]))


def test_packages_that_are_missing_are_named_with_their_extra(
    model: store.Model, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingPackageError, match=r"onnxruntime: pip install 'deident\[neural\]'"):
        list(train.predict(replace(model), notes()[:1]))  # pyright: ignore[reportArgumentType]
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r"torch: pip install 'deident\[train\]'"):
        train.train(notes()[:1], learner="bilstm", options=SMALL)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingPackageError, match=r"tokenizers: pip install 'deident\[neural\]'"):
        of_folder(tiny)


def test_use_needs_neither_torch_nor_onnx(fine_tuned: transformer.Transformer, tmp_path: Path) -> None:
    store.save(transformer.in_eight_bits(fine_tuned), tmp_path / "m")
    code = (
        "import sys; sys.modules['torch'] = sys.modules['onnx'] = None\n"
        "from pathlib import Path\n"
        "from deident.document import Document\n"
        "from deident.learn import store, train\n"
        "model = store.load(Path(sys.argv[1]))\n"
        "print(len(list(train.predict(model, [Document('a', 'Seen on 03/04/2019 by Dr. Petrov.')]))))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path / "m")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"


# --- word vectors ---


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "v.txt").write_text("the 1 2\nnurse 3 4\n2019 5 6\n", encoding="utf-8")
    wink = {
        "dimensions": 2,
        "words": ["the", "nurse", "2019"],
        "vectors": {"the": [1, 2, 9], "nurse": [3, 4, 9], "2019": [5, 6, 9]},
    }
    (tmp_path / "v.json").write_text(json.dumps(wink), encoding="utf-8")
    yield tmp_path


@pytest.mark.parametrize("name", ["v.txt", "v.json"])
def test_vectors_are_read_in_both_forms(name: str, files: Path) -> None:
    words, table = vectors.read(files / name)
    assert list(words) == ["the", "nurse", "2019"]
    assert table.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert list(vectors.read(files / name, most=2)[0]) == ["the", "nurse"]


def test_files_that_hold_no_vectors_are_refused(files: Path) -> None:
    for name, content in (("a.txt", ""), ("b.txt", "the 1 x\n"), ("c.json", "{}"), ("d.txt", "the 1\nof 1 2\n")):
        (files / name).write_text(content, encoding="utf-8")
        with pytest.raises(FormatError):
            vectors.read(files / name)


def test_words_begin_with_the_vectors_of_the_file(files: Path) -> None:
    chosen = replace(SMALL, words=2, vectors=str(files / "v.txt"))
    known, table = bilstm.lexicon({"Nurse": 1, "twice": 2, "once": 1, "5019": 3}, chosen)
    assert table[known.row("NURSE")].tolist() == [3, 4]
    assert known.row("once") == 0
    assert known.row("twice") > 0
    assert known.row("5019") > 0
    assert known.letters("sé").tolist() == [int(np.searchsorted(known.alphabet, ord("s"))) + 1, 0]
    with pytest.raises(UsageError, match="have 2 numbers, not 12"):
        bilstm.lexicon({}, replace(chosen, words=12))
    assert feature_set(chosen.columns).reach == 0
