"""Tables in, tables out: CSV and TSV, Parquet, and the tables of a database, row by row through `tables.Rows`.

Rows are read in blocks, worked on here or by processes, and written in their order. A row that fails is left out and
counted, with its place and a reason. The output appears whole or not at all: a file by a rename, a table of a database
by one transaction.
"""

import csv
import io
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from deident import formats
from deident.api import Deidentifier
from deident.batch import Keys, Outcome, Progress, replacing, run_keys
from deident.batch._pool import Here, Pool
from deident.config import Config
from deident.document import Failure
from deident.errors import FormatError, MissingPackageError, UsageError
from deident.formats import Source
from deident.pipeline import Pipeline
from deident.tables import Columns, Rows, scrub_batch

_BLOCK = 64  # rows
_REASON = "deident_error"
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")

Row = list[Any]


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows, by the number of the first one."""

    first: int
    rows: tuple[Row, ...] = field(repr=False)

    def parts(self) -> "list[Block]":
        return [Block(self.first + place, (row,)) for place, row in enumerate(self.rows)]

    def died(self, reason: str) -> tuple[Row | Failure, ...]:
        return tuple(Failure("", reason) for _ in self.rows)


@dataclass(frozen=True, slots=True)
class Arrow:
    """Some rows as an Arrow record batch."""

    first: int
    batch: Any = field(repr=False)

    def parts(self) -> "list[Arrow]":
        return [Arrow(self.first + place, self.batch.slice(place, 1)) for place in range(self.batch.num_rows)]

    def died(self, reason: str) -> tuple[Row | Failure, ...]:
        return tuple(Failure("", reason) for _ in range(self.batch.num_rows))


def make(
    config: Config, run_key: bytes, columns: Columns, names: tuple[str, ...]
) -> Callable[[Block | Arrow], tuple[Any, ...]]:
    """What a process does with a block: loads words and models, once."""
    rows = Rows(Deidentifier(Pipeline.from_config(config, run_key=run_key), config), columns, names)

    def work(block: Block | Arrow) -> tuple[Any, ...]:
        if isinstance(block, Arrow):
            return (scrub_batch(rows, block.batch, errors="null", reason=_REASON),)
        return tuple(map(rows.scrub, block.rows))

    return work


@contextmanager
def _runner(
    config: Config, columns: Columns, names: Sequence[str], workers: int, keys: Keys, seconds: float | None
) -> Generator[Here | Pool]:
    made = partial(make, config, keys.run, columns, tuple(names))
    if not workers:
        if seconds is not None:
            raise UsageError("only a process of its own can be stopped in time: --timeout needs --workers")
        yield Here(made())
        return
    with Pool(made, workers, seconds=seconds) as pool:
        yield pool


@dataclass(slots=True)
class Told:
    """What a run over a table did; `blocked` are the columns that nobody named."""

    outcome: Outcome = field(default_factory=Outcome)
    blocked: list[str] = field(default_factory=list[str])


def kind_of(path: Path) -> Literal["delimited", "parquet"]:
    source = Source(path, path.name)
    if source.suffix in _DELIMITERS:
        return "delimited"
    if source.suffix in _PARQUET:
        return "parquet"
    raise UsageError(f"{path} is no table that can be read: {', '.join((*_DELIMITERS, *_PARQUET))}")


def scrub_file(
    path: Path,
    out: Path,
    columns: Columns,
    config: Config,
    told: Told,
    *,
    workers: int = 0,
    seconds: float | None = None,
) -> Iterator[Progress]:
    """One file of rows, written anew in the same form, of the columns that are named."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    if out.exists() and out.samefile(path):
        raise UsageError(f"the output would overwrite the input {path}; name another one")
    work = _delimited if kind_of(path) == "delimited" else _parquet
    yield from work(path, out, columns, config, told, workers, seconds)


# ---- delimited text ------------------------------------------------------------------------------------------------


def _delimited(
    path: Path, out: Path, columns: Columns, config: Config, told: Told, workers: int, seconds: float | None
) -> Iterator[Progress]:
    source = Source(path, path.stem)
    delimiter = _DELIMITERS[source.suffix]
    limit = config.limits.file_bytes
    csv.field_size_limit(limit)
    with ExitStack() as stack:
        stream = stack.enter_context(source.opened())
        lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        stack.callback(lines.detach)
        read = csv.reader(lines, delimiter=delimiter, strict=True)
        failures: list[Failure] = []
        cells = _cells(read, failures)
        names = next(cells, (0, []))[1]
        if failures or not names:
            raise FormatError(failures[0].reason if failures else "the table is empty")
        known = Rows.check(columns, names)
        told.blocked = known.blocked
        runner = stack.enter_context(_runner(config, columns, names, workers, run_keys(config), seconds))
        target = stack.enter_context(replacing(out))
        text = io.TextIOWrapper(target, encoding="utf-8", newline="", write_through=True)
        stack.callback(text.detach)
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        writer.writerow(known.names)
        outcome = told.outcome
        size = source.size()
        for block, made in runner.run(_blocks(cells, len(names), failures)):
            for place, row in enumerate(made):
                if isinstance(row, Failure):
                    outcome.failures.append(_failed(row, block.first + place))
                else:
                    writer.writerow(row)
                    outcome.done += 1
            yield Progress(
                outcome.done, len(outcome.failures) + len(failures), 0 if source.packed else stream.tell(), size
            )
        outcome.failures += failures


def _cells(read: Iterator[list[str]], failures: list[Failure]) -> Iterator[tuple[int, list[str]]]:
    """The rows with their numbers; what cannot be read ends the table, for nobody knows where the next row begins."""
    number = 0
    while True:
        try:
            row = next(read, None)
        except csv.Error:
            failures.append(Failure("", f"behind row {number}: not delimited text, or a cell over the limit"))
            return
        except UnicodeDecodeError:
            failures.append(Failure("", f"behind row {number}: not UTF-8"))
            return
        except (FormatError, EOFError, OSError) as error:
            failures.append(Failure("", f"behind row {number}: {formats.reason(error)}"))
            return
        if row is None:
            return
        if row:
            yield number, row
            number += 1


def _blocks(cells: Iterator[tuple[int, list[str]]], width: int, failures: list[Failure]) -> Iterator[Block]:
    held: list[Row] = []
    first = 1
    for number, row in cells:
        if len(row) != width:
            failures.append(Failure("", f"row {number}: {len(row)} cells, where the head has {width}"))
        if held and (len(row) != width or len(held) >= _BLOCK):
            yield Block(first, tuple(held))
            held = []
        if len(row) == width:
            first = first if held else number
            held.append(row)
    if held:
        yield Block(first, tuple(held))


def _failed(failure: Failure, number: int) -> Failure:
    return Failure(failure.id, f"row {number}: {failure.reason}")


# ---- Parquet -------------------------------------------------------------------------------------------------------


def _parquet(
    path: Path, out: Path, columns: Columns, config: Config, told: Told, workers: int, seconds: float | None
) -> Iterator[Progress]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingPackageError("pyarrow", "tables") from None
    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowException, OSError):
        raise FormatError(f"{path} is not Parquet, or is damaged") from None
    with ExitStack() as stack:
        stack.enter_context(cast(Any, file))
        names = list(file.schema_arrow.names)
        known = Rows.check(columns, names)
        told.blocked = known.blocked
        for name in columns.text:
            kind = str(file.schema_arrow.field(name).type)
            if kind not in ("string", "large_string", "string_view") and not kind.startswith(
                "dictionary<values=string"
            ):
                raise UsageError(f"the column '{name}' is of type {kind}, not a text")
        needed = [name for name in names if columns.goes_out(name) or columns.is_read(name)]
        kinds = [
            pa.field(
                name,
                pa.string() if name in columns.text or name in columns.fields else file.schema_arrow.field(name).type,
            )
            for name in known.names
        ]
        schema = pa.schema(kinds)
        runner = stack.enter_context(_runner(config, columns, needed, workers, run_keys(config), seconds))
        target = stack.enter_context(replacing(out))
        writer = stack.enter_context(parquet.ParquetWriter(target, schema))
        total = file.metadata.num_rows
        outcome = told.outcome

        def batches() -> Iterator[Arrow]:
            first = 0
            for batch in file.iter_batches(batch_size=_BLOCK, columns=needed):
                yield Arrow(first, batch)
                first += batch.num_rows

        for block, made in runner.run(batches()):
            place = block.first
            for one in made:
                if isinstance(one, Failure):
                    outcome.failures.append(_failed(one, place))
                    place += 1
                    continue
                reasons = one.column(one.num_columns - 1).to_pylist()
                outcome.failures += [
                    Failure("", f"row {place + number}: {reason}") for number, reason in enumerate(reasons) if reason
                ]
                kept = pa.array([reason is None for reason in reasons])
                whole = pa.RecordBatch.from_arrays(one.columns[:-1], schema=schema).filter(kept)
                writer.write_batch(whole)
                outcome.done += whole.num_rows
                place += len(reasons)
            yield Progress(outcome.done, len(outcome.failures), place, total)


# ---- databases -----------------------------------------------------------------------------------------------------


def scrub_sql(
    url: str,
    table: str,
    out_url: str,
    out_table: str,
    columns: Columns,
    config: Config,
    told: Told,
    *,
    workers: int = 0,
    seconds: float | None = None,
) -> Iterator[Progress]:
    """One table of a database as a new one, there or elsewhere, in one transaction, in the order of its primary key."""
    try:
        import sqlalchemy as sa
        from sqlalchemy import exc
    except ImportError:
        raise MissingPackageError("sqlalchemy", "sql") from None
    try:
        engine = sa.create_engine(url)
        other = engine if out_url == url else sa.create_engine(out_url)
    except (exc.ArgumentError, exc.NoSuchModuleError):
        raise UsageError("that is no address of a database, as in sqlite:///notes.db") from None
    except ImportError as error:
        raise MissingPackageError(f"the driver {error.name}", "sql") from None
    try:
        with engine.connect() as source, ExitStack() as stack:
            target = source if other is engine else stack.enter_context(other.connect())
            yield from _sql(sa, source, target, table, out_table, columns, config, told, workers, seconds)
    except exc.SQLAlchemyError as error:
        # what a driver says quotes the statement and its values
        raise FormatError(f"the database refused it ({type(error).__name__})") from None
    finally:
        engine.dispose()
        other.dispose()


def _sql(
    sa: Any,
    source: Any,
    target: Any,
    table: str,
    out_table: str,
    columns: Columns,
    config: Config,
    told: Told,
    workers: int,
    seconds: float | None,
) -> Iterator[Progress]:
    if not sa.inspect(source).has_table(table):
        raise UsageError(f"there is no table '{table}'")
    if sa.inspect(target).has_table(out_table):
        raise UsageError(f"there is a table '{out_table}' already; name another one, or drop it")
    found = sa.Table(table, sa.MetaData(), autoload_with=source)
    names = [str(column.name) for column in found.columns]
    known = Rows.check(columns, names)
    told.blocked = known.blocked
    made_columns = [
        sa.Column(name, sa.Text() if name in columns.text or name in columns.fields else found.columns[name].type)
        for name in known.names
    ]
    written = sa.Table(out_table, sa.MetaData(), *made_columns)
    total = source.execute(sa.select(sa.func.count()).select_from(found)).scalar_one()
    order = list(found.primary_key.columns)
    outcome = told.outcome
    result: Any = None
    with _runner(config, columns, names, workers, run_keys(config), seconds) as runner:
        try:
            if target.dialect.name == "sqlite":  # which would make the table outside of the transaction
                target.exec_driver_sql("BEGIN")
            written.create(target)
            chosen = sa.select(found).order_by(*order).execution_options(yield_per=_BLOCK)
            result = source.execute(chosen)
            for block, made in runner.run(_fetched(result.partitions(_BLOCK))):
                rows: list[dict[str, Any]] = []
                for place, row in enumerate(made):
                    if isinstance(row, Failure):
                        outcome.failures.append(_failed(row, block.first + place))
                    else:
                        rows.append(dict(zip(known.names, row, strict=True)))
                if rows:
                    target.execute(sa.insert(written), rows)
                outcome.done += len(rows)
                yield Progress(outcome.done, len(outcome.failures), block.first + len(made), total)
            target.commit()
        except BaseException:
            if result is not None:
                result.close()
            target.rollback()
            raise


def _fetched(partitions: Iterable[Sequence[Any]]) -> Iterator[Block]:
    first = 0
    for partition in partitions:
        yield Block(first, tuple(list(row) for row in partition))
        first += len(partition)
