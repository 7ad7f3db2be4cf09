"""The same pipeline over a Spark DataFrame; the only import of pyspark (`pip install 'deident[spark]'`).

    import deident.spark

    clean = deident.spark.scrub(df, text="note", patient="pid", fields={"pid": "MEDICALRECORD"}, keep=["ward"],
                                replace="surrogate", key=key)
    spans = deident.spark.detect(df, text="note", keep=["note_id"])

Rows go through `mapInArrow`: what the executors are given are settings and keys, a few hundred bytes; each Python
worker loads words and models once and keeps them for all its partitions. The files that the settings name (a model, a
roster, patterns, a policy) are shipped once to every executor. Surrogates are drawn from the key for the row's patient,
so partitions, their number and their order make no difference; without a key one is drawn on the driver for this
DataFrame.

Only the columns that are named go out (`tables.Columns`). A row that fails makes the job fail, with a reason and no
text; with errors="null" its texts are null and the column `deident_error` says why.
"""

import atexit
import logging
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from deident.api import Deidentifier, Errors, configured
from deident.config import Config
from deident.errors import MissingPackageError, UsageError
from deident.pipeline import Pipeline
from deident.surrogates import read_key
from deident.tables import Columns, Rows, detect_batch, scrub_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REASON = "deident_error"
_SHIPPED = "deident-shipped:"  # before the path of a file that the executors are given
_TEXTS = frozenset({"string", "char", "varchar"})

_log = logging.getLogger(__name__)


def scrub(
    df: "DataFrame",
    *,
    text: str | Sequence[str],
    patient: str | None = None,
    id: str | None = None,  # noqa: A002 (as in tables.Columns)
    fields: Mapping[str, str] | None = None,
    keep: Sequence[str] = (),
    config: Config | Path | str | None = None,
    key: bytes | None = None,
    errors: Errors = "raise",
    ship: bool = True,
    **settings: Any,
) -> "DataFrame":
    """The DataFrame of the columns that are named, its texts and fields scrubbed.

    fields: columns that are wholly an identifier, by their label. config, key, settings: as for `deident.load`.
    ship=False: the files that the settings name lie at the same path on every node.
    """
    columns = Columns.of(text, patient=patient, id=id, fields=fields, keep=keep)
    return _mapped(df, "scrub", columns, configured(config, key=key, changes=settings), key, errors, ship=ship)


def detect(
    df: "DataFrame",
    *,
    text: str | Sequence[str],
    patient: str | None = None,
    id: str | None = None,  # noqa: A002
    keep: Sequence[str] = (),
    config: Config | Path | str | None = None,
    errors: Errors = "raise",
    ship: bool = True,
    **settings: Any,
) -> "DataFrame":
    """The DataFrame of the columns that are kept, and of the texts' spans in their place: start, end (code points),
    label, score, source."""
    columns = Columns.of(text, patient=patient, id=id, keep=keep)
    return _mapped(df, "detect", columns, configured(config, changes=settings), None, errors, ship=ship)


def _mapped(
    df: "DataFrame",
    verb: Literal["scrub", "detect"],
    columns: Columns,
    config: Config,
    key: bytes | None,
    errors: Errors,
    *,
    ship: bool,
) -> "DataFrame":
    if errors not in ("raise", "null"):
        raise UsageError(f"errors must be 'raise' or 'null', not '{errors}'")
    schema = _schema(df, verb, columns, errors)
    if config.scrub.key_file:  # which no executor needs to have
        key = read_key(Path(config.scrub.key_file))
        config = replace(config, scrub=replace(config.scrub, key_file=""))
    config = replace(config, scrub=replace(config.scrub, as_of=config.scrub.as_of or date.today().year))
    Pipeline.from_config(config, key=key)  # what is wrong with the settings is said here, and not by an executor
    config = _shipped(df, config) if ship else config
    work = _Work(verb, config, key, secrets.token_bytes(32), columns, tuple(df.columns), errors)
    return df.mapInArrow(work, schema)


def _schema(df: "DataFrame", verb: str, columns: Columns, errors: Errors) -> Any:
    """What comes out, from what goes in."""
    try:
        from pyspark.sql import types as t
    except ImportError:
        raise MissingPackageError("pyspark", "spark") from None
    columns.check(df.columns)
    if errors == "null" and REASON in df.columns:
        raise UsageError(f"there is a column '{REASON}' already; rename it")
    for name in columns.text:
        kind = df.schema[name].dataType.typeName()
        if kind not in _TEXTS:
            raise UsageError(f"the column '{name}' is of type {kind}, not a text")
    span = t.StructType(
        [
            t.StructField("start", t.LongType()),
            t.StructField("end", t.LongType()),
            t.StructField("label", t.StringType()),
            t.StructField("score", t.DoubleType()),
            t.StructField("source", t.StringType()),
        ]
    )
    found: list[Any] = []
    for known in df.schema.fields:
        if known.name in columns.text:
            found.append(t.StructField(known.name, t.ArrayType(span) if verb == "detect" else t.StringType()))
        elif known.name in columns.fields:
            found.append(t.StructField(known.name, t.StringType()))
        elif known.name in columns.keep:
            found.append(known)
        elif not columns.is_read(known.name):
            _log.info("the column '%s' is blocked: nobody named it", known.name)
    return t.StructType([*found, *([t.StructField(REASON, t.StringType())] if errors == "null" else [])])


@dataclass(frozen=True, slots=True)
class _Work:
    """What an executor is given: values alone, by which it loads what it needs."""

    verb: Literal["scrub", "detect"]
    config: Config
    key: bytes | None = field(repr=False)
    run_key: bytes = field(repr=False)
    columns: Columns
    names: tuple[str, ...]
    errors: Errors

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        rows = Rows(_loaded(self.config, self.key, self.run_key), self.columns, self.names)
        work: Callable[..., Any] = scrub_batch if self.verb == "scrub" else detect_batch
        for batch in batches:
            yield work(rows, batch, errors=self.errors, reason=REASON if self.errors == "null" else "")


@lru_cache(maxsize=2)
def _loaded(config: Config, key: bytes | None, run_key: bytes) -> Deidentifier:
    """Once in each Python worker, whatever the number of its partitions."""
    placed = _with_files(config, _place)
    return Deidentifier(Pipeline.from_config(placed, key=key, run_key=run_key), placed)


# ---- files that the settings name ----------------------------------------------------------------------------------


def _with_files(config: Config, moved: Callable[[str], str]) -> Config:
    """The settings with every path of a file changed."""

    def change(path: str) -> str:
        return moved(path) if path else path

    found = config.detect
    return replace(
        config,
        detect=replace(
            found,
            patterns=tuple(map(change, found.patterns)),
            roster=change(found.roster),
            providers=change(found.providers),
            model=change(found.model),
        ),
        scrub=replace(config.scrub, policy=_policy(config.scrub.policy, moved)),
        patients=replace(config.patients, patient_map=change(config.patients.patient_map)),
    )


def _policy(name: str, moved: Callable[[str], str]) -> str:
    """A policy of one's own is a file, and may extend others beside it."""
    if name.startswith(_SHIPPED):
        head, _, file = name.rpartition("/")
        return f"{moved(head)}/{file}"
    if not name.endswith(".toml"):
        return name
    folder, _, file = name.rpartition("/")
    return moved(f"{folder or '.'}/*.toml") + f"/{file}"


def _shipped(df: "DataFrame", config: Config) -> Config:
    """The settings as the executors know them, once the files that they name are on their way."""
    chosen: dict[str, int] = {}

    def number(path: str) -> str:
        return _SHIPPED + str(chosen.setdefault(path, len(chosen)))

    numbered = _with_files(config, number)
    if not chosen:
        return config
    try:
        context = df.sparkSession.sparkContext
    except Exception:  # noqa: BLE001 (Spark Connect has no context, and its errors differ by version)
        raise UsageError(
            "this session cannot ship files: put them where every node finds them, and say ship=False"
        ) from None
    folder = Path(tempfile.mkdtemp(prefix="deident-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # executors fetch it when they first need it
    for path, place in chosen.items():
        _copy(path, folder / str(place))
    context.addFile(str(folder), recursive=True)
    return _with_files(numbered, lambda path: path.replace(_SHIPPED, f"{_SHIPPED}{folder.name}/"))


def _copy(path: str, target: Path) -> None:
    """A file, or the files of a folder: all of a model, of a policy only what it may extend."""
    source = Path(path)
    if source.name == "*.toml" or source.is_dir():
        target.mkdir()
        found = source.parent.glob("*.toml") if not source.is_dir() else source.iterdir()
        for file in found:
            if file.is_file():
                shutil.copyfile(file, target / file.name)
    else:
        shutil.copyfile(source, target)


def _place(path: str) -> str:
    """Where a file lies on this node."""
    head, _, rest = path.partition(_SHIPPED)
    if head or not rest:
        return path
    from pyspark import SparkFiles

    folder, _, tail = rest.partition("/")
    return f"{SparkFiles.get(folder)}/{tail}"
