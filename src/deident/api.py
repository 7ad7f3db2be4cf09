"""For Python and notebooks: `deident.load()` gives one value that takes a text, a list of texts or a column of them.

    d = deident.load("deident.toml", replace="surrogate", key_file="study.key")
    d.scrub("Seen by Dr. Okoro.")                       # a text gives a text
    d.scrub(["one note", None, "another"])              # a list gives a list; None stays None
    df["note"] = d.scrub(df["note"], patient=df["pid"]) # a column of pandas, polars or Arrow gives one of its kind
    d.detect(df["note"])                                # spans in place of text

A text is worked on by itself: what comes out does not depend on its neighbours, its place or its process. Surrogates
are drawn for the patient; a text without one is a patient of its own, known by its SHA-256. So the same text gives the
same surrogates wherever it lies, and two texts cannot be linked.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast, overload

from deident import config as settings
from deident import policy
from deident.config import Config
from deident.document import Document, Failure, Patient, Span
from deident.errors import ConfigError, MissingPackageError, ProcessingError, UsageError
from deident.formats.jsonl import span_object
from deident.pipeline import Pipeline, attempt

Errors = Literal["raise", "null"]
PatientId = str | int | Patient | None


def load(config: Config | Path | str | None = None, *, key: bytes | None = None, **changes: Any) -> "Deidentifier":
    """Settings of a file, or of a `Config`, any of them changed by name: `load(detectors=["nlm"], replace="mask")`.

    key: what surrogates are drawn from, for those who keep it elsewhere than in a key file.
    """
    chosen = configured(config, key=key, changes=changes)
    return Deidentifier(Pipeline.from_config(chosen, key=key), chosen)


def configured(
    config: Config | Path | str | None, *, key: bytes | None = None, changes: Mapping[str, Any] | None = None
) -> Config:
    """The settings that `load` would use, and nothing loaded."""
    base = settings.load(Path(config)) if isinstance(config, Path | str) else config
    chosen = _changed(base if base is not None else Config(), changes or {})
    if key is not None and chosen.scrub.policy:
        policy.load(chosen.scrub.policy).check_key(chosen.scrub.replace)
    return chosen


def _changed(base: Config, changes: Mapping[str, Any]) -> Config:
    sections = {section.name: getattr(base, section.name) for section in fields(base)}
    known = [item.name for held in sections.values() for item in fields(held)]
    for name in changes:
        if name not in known:
            raise ConfigError(f"there is no setting '{name}'; there are: {', '.join(sorted(known))}")
    for section, held in sections.items():
        own = {item.name: _plain(changes[item.name]) for item in fields(held) if item.name in changes}
        checked = settings.build(type(held), own, where=f"load(): [{section}]")
        sections[section] = replace(held, **{name: getattr(checked, name) for name in own})
    return replace(base, **sections)


def _plain(value: object) -> object:
    """What a configuration file would hold."""
    if isinstance(value, tuple):
        return [_plain(item) for item in cast(tuple[object, ...], value)]
    return str(value) if isinstance(value, Path) else value


@dataclass(frozen=True, slots=True)
class Deidentifier:
    """A pipeline that takes texts as people have them."""

    pipeline: Pipeline = field(repr=False)
    config: Config = field(default_factory=Config)

    @overload
    def scrub(self, texts: str, *, patient: PatientId = None, errors: Literal["raise"] = "raise") -> str: ...
    @overload
    def scrub(self, texts: str, *, patient: PatientId = None, errors: Errors) -> str | None: ...
    @overload
    def scrub(
        self, texts: list[str] | tuple[str, ...], *, patient: Any = None, errors: Literal["raise"] = "raise"
    ) -> list[str]: ...
    @overload
    def scrub(self, texts: Any, *, patient: Any = None, errors: Errors = "raise") -> Any: ...
    def scrub(self, texts: Any, *, patient: Any = None, errors: Errors = "raise") -> Any:
        """The texts without the identifiers that were found, in the shape in which they came.

        patient: an id (or a `Patient`, with what is known of her) for all of them, or a column of ids.
        errors: a text that fails raises, by its place and without any of it; with "null" it becomes None.
        """
        return self._each(self.pipeline.scrub, lambda doc: doc.text, texts, patient, errors, spans=False)

    @overload
    def detect(self, texts: str, *, patient: PatientId = None, errors: Errors = "raise") -> tuple[Span, ...]: ...
    @overload
    def detect(
        self, texts: list[str] | tuple[str, ...], *, patient: Any = None, errors: Literal["raise"] = "raise"
    ) -> list[tuple[Span, ...]]: ...
    @overload
    def detect(self, texts: Any, *, patient: Any = None, errors: Errors = "raise") -> Any: ...
    def detect(self, texts: Any, *, patient: Any = None, errors: Errors = "raise") -> Any:
        """The spans of each text, by code points: tuples of `Span`; in polars and Arrow, lists of structs."""
        return self._each(self.pipeline.detect, lambda doc: doc.spans, texts, patient, errors, spans=True)

    def _each(
        self,
        work: Callable[[Document], Document],
        take: Callable[[Document], Any],
        texts: Any,
        patient: Any,
        errors: Errors,
        *,
        spans: bool,
    ) -> Any:
        if errors not in ("raise", "null"):
            raise UsageError(f"errors must be 'raise' or 'null', not '{errors}'")
        column = _Column.of([texts] if isinstance(texts, str) else texts)
        alone = isinstance(texts, str)
        patients = _patients(patient, len(column.values))
        made: list[Any] = []
        for place, (text, whose) in enumerate(zip(column.values, patients, strict=True)):
            if missing(text):
                made.append(None if spans else text)
                continue
            result = attempt(work, document(text, whose, place=None if alone else place))
            if isinstance(result, Document):
                made.append(take(result))
            elif errors == "null":
                made.append(None)
            else:
                raise failed(result, None if alone else place)
        return made[0] if alone else column.made(made, spans=spans)


def failed(failure: Failure, place: int | None = None) -> ProcessingError:
    return ProcessingError(failure.reason if place is None else f"text {place}: {failure.reason}")


def document(text: object, patient: Patient | None = None, *, place: int | None = None) -> Document:
    """The document of a text from a column; its id, where nobody gave one, is drawn from the text itself."""
    if not isinstance(text, str):
        where = "this" if place is None else f"text {place}"
        raise UsageError(f"{where} is of type {type(text).__name__}, not a text")
    named = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Document(named, text, patient=patient)


def patient_of(value: object) -> Patient | None:
    """A cell of a column of patient ids. The id 17 is the same patient as "17", also where a missing neighbour has made
    a fraction of it (17.0), as pandas does."""
    if isinstance(value, Patient):
        return value
    if missing(value) or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise UsageError(f"a patient's id is a text or a whole number, not of type {type(value).__name__}")
    return Patient(str(value))


def _patients(given: Any, count: int) -> Sequence[Patient | None]:
    if given is None or isinstance(given, str | int | Patient):
        return [patient_of(given)] * count
    values = _Column.of(given).values
    if len(values) != count:
        raise UsageError(f"{count} texts, but {len(values)} patients")
    known: dict[object, Patient | None] = {}
    found: list[Patient | None] = []
    for value in values:
        if isinstance(value, str | int):
            if value not in known:
                known[value] = patient_of(value)
            found.append(known[value])
        else:
            found.append(patient_of(value))
    return found


def missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN, NA, NaT."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    )


@dataclass(frozen=True, slots=True)
class _Column:
    """The values of anything that holds many, and how new ones take its shape."""

    values: list[Any]
    made: Callable[..., Any]

    @classmethod
    def of(cls, given: Any) -> "_Column":
        brought_by = type(given).__module__.partition(".")[0]
        if brought_by in _KINDS and hasattr(given, "__len__") and type(given).__name__ not in _FRAMES:
            return _KINDS[brought_by](given)
        if isinstance(given, list | tuple):
            return cls(list(cast(Iterable[Any], given)), _as_list)
        raise UsageError(f"give a text, a list, or a column of pandas, polars or Arrow; not a {type(given).__name__}")


_FRAMES = frozenset({"DataFrame", "LazyFrame", "Table", "RecordBatch"})


def _as_list(made: list[Any], *, spans: bool) -> list[Any]:  # noqa: ARG001 (the face of all columns)
    return made


def _pandas(series: Any) -> _Column:
    # a categorical column has no place for texts that it has not seen
    kind = series.dtype if str(series.dtype) in ("object", "str", "string", "string[pyarrow]") else object

    def made(values: list[Any], *, spans: bool) -> Any:
        return type(series)(values, index=series.index, name=series.name, dtype=object if spans else kind)

    return _Column(series.tolist(), made)


def _polars(series: Any) -> _Column:
    def made(values: list[Any], *, spans: bool) -> Any:
        import polars as pl

        struct = pl.Struct(
            {"start": pl.Int64, "end": pl.Int64, "label": pl.String, "score": pl.Float64, "source": pl.String}
        )
        return pl.Series(series.name, _rows(values) if spans else values, dtype=pl.List(struct) if spans else pl.String)

    return _Column(series.to_list(), made)


def _arrow(array: Any) -> _Column:
    def made(values: list[Any], *, spans: bool) -> Any:
        import pyarrow as pa

        text = array.type if str(array.type) in ("string", "large_string", "string_view") else pa.string()
        kind = pa.list_(pa.struct(span_fields())) if spans else text
        flat = pa.array(_rows(values) if spans else values, type=kind)
        return pa.chunked_array([flat]) if isinstance(array, pa.ChunkedArray) else flat

    return _Column(array.to_pylist(), made)


def _numpy(array: Any) -> _Column:
    def made(values: list[Any], *, spans: bool) -> Any:  # noqa: ARG001
        import numpy as np

        new = np.empty(len(values), dtype=object)
        for place, value in enumerate(values):  # at once, tuples of one length would become a table
            new[place] = value
        return new

    return _Column(array.tolist(), made)


_KINDS: Mapping[str, Callable[[Any], _Column]] = {
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _arrow,
    "numpy": _numpy,
}


def span_fields() -> list[Any]:
    """The fields of a span in Arrow."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingPackageError("pyarrow", "tables") from None
    return [
        pa.field("start", pa.int64()),
        pa.field("end", pa.int64()),
        pa.field("label", pa.string()),
        pa.field("score", pa.float64()),
        pa.field("source", pa.string()),
    ]


def _rows(values: Iterable[Any]) -> list[Any]:
    return [None if spans is None else [span_object(span) for span in spans] for spans in values]
