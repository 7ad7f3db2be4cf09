"""The project: notes, readings, versions; SQLite in a file of its owner's, or PostgreSQL by URL.

Every change is one transaction. A reading has a revision, and an action names the one it was made on, so that two
windows of one reader cannot write over each other: the later is refused and reads again. Nothing is deleted: an action
that was undone stays in the log.
"""

import json
import os
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from deident.document import Document, Patient, Span
from deident.errors import DeidentError, MissingPackageError, UsageError
from deident.labels import Label
from deident.review import agreement, marks, queue
from deident.review.marks import Action, Mark, Marks, State

try:
    import sqlalchemy as sa
    from sqlalchemy import event, exc
except ImportError:
    raise MissingPackageError("sqlalchemy", "review") from None

VERSION = 1
READ, ADJUDICATE = "read", "adjudicate"
AGREED = "(both readers)"  # who adjudicated where there was nothing to adjudicate
_LOCK = 0x64656964  # of PostgreSQL; SQLite locks its file
_IDLE = 60.0  # seconds after which a reader is taken to have looked away

_tables = sa.MetaData()
_meta = sa.Table("meta", _tables, sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text))
_note = sa.Table(
    "note",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", sa.Text, unique=True, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("patient", sa.Text, nullable=False),  # JSON, or ""
    sa.Column("meta", sa.Text, nullable=False),  # JSON
    sa.Column("given", sa.Text, nullable=False),  # JSON: the spans it came with
    sa.Column("position", sa.Integer),  # in the queue; NULL: not yet
    sa.Column("why", sa.Text, nullable=False, default=""),
    sa.Column("twice", sa.Boolean, nullable=False),  # two blind readers
    sa.Column("bare", sa.Boolean, nullable=False),  # without pre-annotation
    sa.Column("held", sa.Boolean, nullable=False),  # never learned from: versions are compared on it
    sa.Column("version", sa.Integer, nullable=False),  # that found the marks
    sa.Column("marks", sa.Text, nullable=False),  # JSON: what the machine found
    sa.Column("doubt", sa.Float, nullable=False),
    sa.Column("lowest", sa.Float, nullable=False),  # score
    sa.Column("labels", sa.Text, nullable=False),  # |DATE|PATIENT|
    sa.Column("disagree", sa.Integer, nullable=False),  # marks on which detectors disagree
)
_reading = sa.Table(
    "reading",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("note_id", sa.ForeignKey("note.id"), nullable=False),
    sa.Column("round", sa.Text, nullable=False),  # read, adjudicate, audit-3
    sa.Column("slot", sa.Integer, nullable=False),  # the first or the second reader
    sa.Column("reader", sa.Text, nullable=False),
    sa.Column("bare", sa.Boolean, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("submitted", sa.Boolean, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("marks", sa.Text, nullable=False),
    sa.Column("began", sa.Float, nullable=False),
    sa.Column("seen", sa.Float, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),  # of attention
    sa.UniqueConstraint("note_id", "round", "slot"),
    sa.UniqueConstraint("note_id", "round", "reader"),
)
_action = sa.Table(
    "action",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("reading_id", sa.ForeignKey("reading.id"), nullable=False, index=True),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("gone", sa.Text, nullable=False),
    sa.Column("come", sa.Text, nullable=False),
    sa.Column("undone", sa.Boolean, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.UniqueConstraint("reading_id", "revision"),
)
_version = sa.Table(
    "version",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("folder", sa.Text, nullable=False),  # of its model; "" for the one the project began with
    sa.Column("made", sa.Text, nullable=False),
    sa.Column("notes", sa.Integer, nullable=False),  # read ones that it learned from
    sa.Column("scores", sa.Text, nullable=False),  # JSON, on the notes held out
    sa.Column("in_use", sa.Boolean, nullable=False),
)
_audit = sa.Table(
    "audit",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("made", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("population", sa.Integer, nullable=False),
    sa.Column("notes", sa.Text, nullable=False),  # JSON: ids, in the order drawn
    sa.Column("seed", sa.Integer, nullable=False),
)


class Conflict(DeidentError):  # noqa: N818 (what it says of the request)
    """The reading has changed since."""


class Absent(DeidentError):  # noqa: N818
    """There is no such thing in the project, or not for this reader."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a project reads; set when it is made.

    twice, bare, held: shares of notes that two read blindly, that are shown without pre-annotation, that are kept from
    training. batch: how many notes are queued at once.
    """

    twice: float = 0.3
    bare: float = 0.1
    held: float = 0.2
    batch: int = 20
    random: float = 0.25
    different: float = 0.25
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("twice", "bare", "held", "random", "different"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is a share, from 0 to 1")
        if not 1 <= self.batch <= 1000:
            raise UsageError("a batch has 1 to 1000 notes")


@dataclass(frozen=True, slots=True)
class Found:
    """What the machine says of one note."""

    marks: Marks
    doubts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """One reader's work on one note."""

    id: int
    note: int
    key: str
    round: str
    reader: str
    bare: bool
    submitted: bool
    revision: int
    marks: Marks = field(repr=False)
    text: str = field(repr=False)
    undoable: bool = False


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _dump_marks(rows: Iterable[Mark]) -> str:
    return _dump([mark.to_json() for mark in rows])


def _load_marks(text: str) -> Marks:
    return tuple(marks.from_json(row) for row in json.loads(text))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Project:
    """A project that is open. `Project(Path("ward.review"))`, or `Project("postgresql+psycopg://…")`."""

    def __init__(self, place: str | Path, *, settings: Settings | None = None) -> None:
        self._file = None if isinstance(place, str) and "://" in place else Path(place)
        self._engine = self._connect(str(place))
        try:
            _tables.create_all(self._engine)
        except exc.DatabaseError:
            raise UsageError(f"{self.name} is not a review project") from None
        self.settings = self._settle(settings)

    @property
    def name(self) -> str:
        return self._file.stem if self._file is not None else str(self._engine.url.database)

    def _connect(self, place: str) -> sa.Engine:
        if self._file is None:
            try:
                return sa.create_engine(place, pool_pre_ping=True)
            except (exc.ArgumentError, exc.NoSuchModuleError):
                raise UsageError("the address of the database cannot be read; e.g. postgresql+psycopg://…") from None
            except ImportError as error:
                raise MissingPackageError(error.name or "the driver", "postgres") from None
        if not self._file.exists():
            if not self._file.absolute().parent.is_dir():
                raise UsageError(f"there is no folder for the project {self._file}")
            os.close(os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600))  # notes with their identifiers
        engine = sa.create_engine(f"sqlite:///{self._file}", connect_args={"timeout": 30})

        def connected(connection: Any, _record: Any) -> None:
            connection.isolation_level = None  # transactions are begun below, and not by the driver
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
                connection.execute(f"PRAGMA {pragma}")

        def begun(connection: sa.Connection) -> None:
            writes = connection.get_execution_options().get("writes", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        event.listen(engine, "connect", connected)
        event.listen(engine, "begin", begun)
        return engine

    @contextmanager
    def _write(self) -> Generator[sa.Connection]:
        """One writer at a time, whoever else reads: what was looked up stays true until what follows is written."""
        with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            if self._file is None:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            yield connection

    @contextmanager
    def _read(self) -> Generator[sa.Connection]:
        with self._engine.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        self._engine.dispose()

    def _settle(self, settings: Settings | None) -> Settings:
        """The settings of the project: those it was made with."""
        with self._write() as db:
            rows = {row.key: row.value for row in db.execute(sa.select(_meta))}
            if not rows:
                made = settings or Settings()
                values = {name: getattr(made, name) for name in Settings.__dataclass_fields__}
                for key, value in (("version", VERSION), ("settings", values)):
                    db.execute(_meta.insert().values(key=key, value=_dump(value)))
                db.execute(_version.insert().values(folder="", made=_now(), notes=0, scores="{}", in_use=True))
                return made
        if json.loads(rows["version"]) != VERSION:
            raise UsageError(f"{self.name} was made by another version of deident")
        return Settings(**json.loads(rows["settings"]))

    # --- notes -------------------------------------------------------------------------------------------------------

    def add(self, documents: Iterable[tuple[Document, Found]]) -> tuple[int, int]:
        """Notes with what was found in them; how many came in, and how many were there already (by id)."""
        new = known = 0
        settings = self.settings
        with self._write() as db:
            version = db.execute(sa.select(_version.c.id).where(_version.c.in_use)).scalar_one()
            present = set(db.execute(sa.select(_note.c.key)).scalars())
            for doc, found in documents:
                if doc.id in present:
                    known += 1
                    continue
                present.add(doc.id)
                new += 1
                patient = doc.patient.id if doc.patient and doc.patient.id else doc.id
                db.execute(
                    _note.insert().values(
                        key=doc.id,
                        text=doc.text,
                        size=len(doc.text),
                        patient=_dump(_patient_json(doc.patient)) if doc.patient else "",
                        meta=_dump(dict(doc.meta)),
                        given=_dump([[s.start, s.end, s.label.value, s.source, s.score] for s in doc.spans]),
                        twice=queue.share_of(doc.id, settings.seed, "twice") < settings.twice,
                        bare=queue.share_of(doc.id, settings.seed, "bare") < settings.bare,
                        held=queue.share_of(patient, settings.seed, "held") < settings.held,
                        **_found_values(found, version),
                    )
                )
        self.fill_queue()
        return new, known

    def found_again(self, note: int, found: Found, version: int) -> None:
        """What another version finds in a note that nobody has begun to read."""
        with self._write() as db:
            begun = sa.exists().where(_reading.c.note_id == note, _reading.c.round == READ)
            db.execute(_note.update().where(_note.c.id == note, ~begun).values(**_found_values(found, version)))

    def unread(self) -> list[int]:
        """The notes that nobody has begun to read."""
        with self._read() as db:
            begun = sa.select(_reading.c.note_id).where(_reading.c.round == READ)
            return list(db.execute(sa.select(_note.c.id).where(_note.c.id.not_in(begun))).scalars())

    def document(self, note: int) -> Document:
        """A note as it came in."""
        with self._read() as db:
            row = db.execute(sa.select(_note).where(_note.c.id == note)).one()
        return _document(row)

    def fill_queue(self) -> None:
        """Queue the next batch, where fewer notes than half a batch are queued that nobody has begun."""
        settings = self.settings
        with self._write() as db:
            begun = sa.select(_reading.c.note_id).where(_reading.c.round == READ)
            free = sa.select(sa.func.count()).where(_note.c.position.is_not(None), _note.c.id.not_in(begun))
            if db.execute(free).scalar_one() * 2 >= settings.batch:
                return
            rows = db.execute(
                sa.select(_note.c.id, _note.c.doubt, _note.c.text).where(_note.c.position.is_(None))
            ).all()
            last = db.execute(sa.select(sa.func.max(_note.c.position))).scalar_one() or 0
            candidates = [queue.Candidate(row.id, row.doubt, queue.shape(row.text)) for row in rows]
            shares = queue.Shares(settings.random, settings.different)
            chosen = queue.plan(candidates, settings.batch, seed=settings.seed + last, shares=shares)
            for position, (note, why) in enumerate(chosen, last + 1):
                db.execute(_note.update().where(_note.c.id == note).values(position=position, why=why))

    def requeue(self) -> None:
        """Forget the queue of notes that nobody has begun: a new version doubts others."""
        with self._write() as db:
            begun = sa.select(_reading.c.note_id).where(_reading.c.round == READ)
            db.execute(_note.update().where(_note.c.id.not_in(begun)).values(position=None, why=""))
        self.fill_queue()

    # --- readings ----------------------------------------------------------------------------------------------------

    def next(self, reader: str) -> int | None:
        """The reading this reader is at, or a new one of the next note that wants a reader; None: all is read."""
        self.fill_queue()
        with self._write() as db:
            open_ = sa.select(_reading.c.id).where(
                _reading.c.reader == reader, _reading.c.round == READ, ~_reading.c.submitted
            )
            found = db.execute(open_.order_by(_reading.c.id)).scalars().first()
            return found if found is not None else self._take(db, reader)

    def _take(self, db: sa.Connection, reader: str) -> int | None:
        others = (
            sa.select(_reading.c.note_id, sa.func.count().label("taken"))
            .where(_reading.c.round == READ)
            .group_by(_reading.c.note_id)
            .subquery()
        )
        mine = sa.select(_reading.c.note_id).where(_reading.c.round == READ, _reading.c.reader == reader)
        taken = sa.func.coalesce(others.c.taken, 0)
        wanted = (
            sa.select(_note, taken.label("taken"))
            .outerjoin(others, others.c.note_id == _note.c.id)
            .where(_note.c.position.is_not(None), _note.c.id.not_in(mine))
            .where(taken < sa.case((_note.c.twice, 2), else_=1))
            .order_by(_note.c.position)
        )
        note = db.execute(wanted).first()
        return None if note is None else self._begin(db, note, READ, note.taken + 1, reader, _shown(note))

    def _begin(self, db: sa.Connection, note: Any, round_: str, slot: int, reader: str, shown: Marks) -> int:
        now = time.time()
        made = db.execute(
            _reading.insert().values(
                note_id=note.id, round=round_, slot=slot, reader=reader, bare=note.bare and round_ == READ,
                version=note.version, submitted=False, revision=0, marks=_dump_marks(shown), began=now, seen=now,
                seconds=0.0,
            )
        )  # fmt: skip
        return int(cast(Any, made.inserted_primary_key)[0])

    def reading(self, identifier: int, reader: str) -> Reading:
        """A reading, for the one whose it is: nobody else may see it before it is adjudicated."""
        with self._read() as db:
            return self._reading(db, identifier, reader)

    def _reading(self, db: sa.Connection, identifier: int, reader: str) -> Reading:
        query = sa.select(_reading, _note.c.key, _note.c.text).join(_note, _note.c.id == _reading.c.note_id)
        row = db.execute(query.where(_reading.c.id == identifier, _reading.c.reader == reader)).first()
        if row is None:
            raise Absent("there is no such reading of yours")
        undoable = sa.select(sa.func.count()).where(_action.c.reading_id == identifier, ~_action.c.undone)
        return Reading(
            row.id, row.note_id, row.key, row.round, row.reader, row.bare, row.submitted, row.revision,
            _load_marks(row.marks), row.text, db.execute(undoable).scalar_one() > 0,
        )  # fmt: skip

    def act(self, identifier: int, reader: str, revision: int, action: Action) -> Reading:
        """One action, wholly or not at all, on the revision that the reader saw."""
        with self._write() as db:
            before = self._open(db, identifier, reader, revision)
            after = marks.act(before.marks, action, before.text)
            gone, come = marks.changed(before.marks, after)
            if not gone and not come:
                return before
            self._save(db, before, after)
            db.execute(
                _action.insert().values(
                    reading_id=identifier, revision=revision + 1, kind=action.kind, gone=_dump_marks(gone),
                    come=_dump_marks(come), undone=False, at=time.time(),
                )
            )  # fmt: skip
            return self._reading(db, identifier, reader)

    def undo(self, identifier: int, reader: str, revision: int) -> Reading:
        """Take back the last action that was not taken back."""
        with self._write() as db:
            before = self._open(db, identifier, reader, revision)
            last = db.execute(
                sa.select(_action)
                .where(_action.c.reading_id == identifier, ~_action.c.undone)
                .order_by(_action.c.revision.desc())
            ).first()
            if last is None:
                raise marks.MarkError("there is nothing to undo")
            after = marks.undone(before.marks, _load_marks(last.gone), _load_marks(last.come))
            self._save(db, before, after)
            db.execute(_action.update().where(_action.c.id == last.id).values(undone=True))
            return self._reading(db, identifier, reader)

    def submit(self, identifier: int, reader: str, revision: int) -> None:
        """Done with a note; locked until every mark is judged. Where two readers agree, that settles it."""
        with self._write() as db:
            before = self._open(db, identifier, reader, revision)
            left = marks.unjudged(before.marks)
            if left:
                raise marks.MarkError(f"{left} marks are not judged yet")
            self._save(db, before, before.marks, submitted=True)
            if before.round == READ:
                self._settle_agreed(db, before.note)

    def reopen(self, identifier: int, reader: str) -> Reading:
        """Back to a note that was submitted, unless it is adjudicated by now."""
        with self._write() as db:
            before = self._reading(db, identifier, reader)
            if before.round == READ:
                judged = sa.select(_reading.c.reader).where(
                    _reading.c.note_id == before.note, _reading.c.round == ADJUDICATE
                )
                who = db.execute(judged).scalars().first()
                if who is not None and who != AGREED:
                    raise Conflict("the note is adjudicated, or being adjudicated, by now")
                db.execute(_reading.delete().where(_reading.c.note_id == before.note, _reading.c.round == ADJUDICATE))
            changed = {"submitted": False, "revision": before.revision + 1, "seen": time.time()}
            db.execute(_reading.update().where(_reading.c.id == identifier).values(**changed))
            return self._reading(db, identifier, reader)

    def _open(self, db: sa.Connection, identifier: int, reader: str, revision: int) -> Reading:
        before = self._reading(db, identifier, reader)
        if before.submitted:
            raise Conflict("the note was submitted; open it again first")
        if before.revision != revision:
            raise Conflict("the note has changed in another window; it is read anew")
        return before

    def _save(self, db: sa.Connection, before: Reading, after: Marks, *, submitted: bool = False) -> None:
        now = time.time()
        idle = now - _reading.c.seen
        spent = sa.case((idle > _IDLE, _IDLE), else_=idle)
        saved = db.execute(
            _reading.update()
            .where(_reading.c.id == before.id, _reading.c.revision == before.revision)
            .values(
                marks=_dump_marks(after), revision=before.revision + 1, submitted=submitted, seen=now,
                seconds=_reading.c.seconds + spent,
            )
        )  # fmt: skip
        if saved.rowcount != 1:
            raise Conflict("the note has changed in another window; it is read anew")

    # --- adjudication ------------------------------------------------------------------------------------------------

    def _settle_agreed(self, db: sa.Connection, note: int) -> None:
        sides = self._sides(db, note)
        if len(sides) == 2:
            merged = agreement.merged(marks.spans(sides[0]), marks.spans(sides[1]))
            if not marks.unjudged(merged):
                row = db.execute(sa.select(_note).where(_note.c.id == note)).one()
                made = self._begin(db, row, ADJUDICATE, 1, AGREED, merged)
                db.execute(_reading.update().where(_reading.c.id == made).values(submitted=True))

    def _sides(self, db: sa.Connection, note: int) -> list[Marks]:
        """What the readers of a note submitted; the order does not tell who came first."""
        rows = db.execute(
            sa.select(_reading.c.marks, _reading.c.slot)
            .where(_reading.c.note_id == note, _reading.c.round == READ, _reading.c.submitted)
            .order_by(_reading.c.slot)
        ).all()
        sides = [_load_marks(row.marks) for row in rows]
        return sides[::-1] if queue.share_of(str(note), self.settings.seed, "order") < 0.5 else sides

    def to_adjudicate(self) -> list[int]:
        """The notes that two have read, who disagree, and that nobody has settled."""
        with self._read() as db:
            read = (
                sa.select(_reading.c.note_id)
                .where(_reading.c.round == READ, _reading.c.submitted)
                .group_by(_reading.c.note_id)
                .having(sa.func.count() == 2)
            )
            settled = sa.select(_reading.c.note_id).where(_reading.c.round == ADJUDICATE, _reading.c.submitted)
            query = sa.select(_note.c.id).where(_note.c.id.in_(read), _note.c.id.not_in(settled))
            return list(db.execute(query.order_by(_note.c.position)).scalars())

    def adjudicate(self, note: int, reader: str) -> int:
        """A reading of the note with agreed spans accepted, and the others side by side."""
        with self._write() as db:
            present = sa.select(_reading.c.id, _reading.c.reader).where(
                _reading.c.note_id == note, _reading.c.round == ADJUDICATE
            )
            row = db.execute(present).first()
            if row is not None:
                if row.reader != reader:
                    raise Conflict("another adjudicates this note")
                return int(row.id)
            sides = self._sides(db, note)
            if len(sides) != 2:
                raise Absent("no two readers have read this note")
            merged = agreement.merged(marks.spans(sides[0]), marks.spans(sides[1]))
            found = db.execute(sa.select(_note).where(_note.c.id == note)).one()
            return self._begin(db, found, ADJUDICATE, 1, reader, merged)

    def agreement(self) -> dict[str, Any]:
        """Of all notes that two have read, however they were settled."""
        pairs: list[agreement.Pair] = []
        with self._read() as db:
            query = (
                sa.select(_reading.c.marks, _note.c.key)
                .join(_note, _note.c.id == _reading.c.note_id)
                .where(_reading.c.round == READ, _reading.c.submitted)
                .order_by(_note.c.position, _reading.c.slot)
            )
            by_key: dict[str, list[Marks]] = {}
            for row in db.execute(query):
                by_key.setdefault(row.key, []).append(_load_marks(row.marks))
        for key, sides in by_key.items():
            if len(sides) == 2:
                pairs.append(agreement.Pair(key, marks.spans(sides[0]), marks.spans(sides[1])))
        return agreement.agreement(pairs)

    def times(self) -> dict[str, Any]:
        """How long readers looked at notes, with and without pre-annotation: medians, in seconds a thousand letters."""
        with self._read() as db:
            query = (
                sa.select(_reading.c.bare, _reading.c.seconds, _note.c.size)
                .join(_note, _note.c.id == _reading.c.note_id)
                .where(_reading.c.round == READ, _reading.c.submitted)
            )
            rows = db.execute(query).all()
        result: dict[str, Any] = {}
        for name, bare in (("with", False), ("without", True)):
            rates = sorted(row.seconds / max(row.size, 1) * 1000 for row in rows if row.bare is bare)
            result[name] = {"notes": len(rates), "median": rates[len(rates) // 2] if rates else None}
        return result

    # --- audit -------------------------------------------------------------------------------------------------------

    def draw_audit(self, size: int, *, seed: int) -> int:
        """A random sample of all notes that nobody has read, to be read against what the machine leaves."""
        from random import Random

        unread = self.unread()
        if not unread:
            raise UsageError("every note is read: there is nothing left that only the machine has seen")
        drawn = Random(seed).sample(sorted(unread), min(size, len(unread)))  # noqa: S311 (a sample, no secret)
        with self._write() as db:
            version = db.execute(sa.select(_version.c.id).where(_version.c.in_use)).scalar_one()
            values = {
                "made": _now(),
                "version": version,
                "population": len(unread),
                "notes": _dump(drawn),
                "seed": seed,
            }
            made = db.execute(_audit.insert().values(**values))
            return int(cast(Any, made.inserted_primary_key)[0])

    def audits(self) -> list[dict[str, Any]]:
        """What was drawn, what is read of it, and how many notes of those leaked something."""
        with self._read() as db:
            rows = db.execute(sa.select(_audit).order_by(_audit.c.id.desc())).all()
            result: list[dict[str, Any]] = []
            for row in rows:
                query = sa.select(_reading.c.marks).where(_reading.c.round == f"audit-{row.id}", _reading.c.submitted)
                missed = [
                    sum(mark.origin == "reader" and mark.state is State.ACCEPTED for mark in _load_marks(text))
                    for text in db.execute(query).scalars()
                ]
                drawn = json.loads(row.notes)
                result.append(
                    {"id": row.id, "made": row.made, "version": row.version, "population": row.population,
                     "drawn": len(drawn), "read": len(missed), "leaking": sum(count > 0 for count in missed),
                     "missed": sum(missed)}
                )  # fmt: skip
        return result

    def next_audit(self, audit: int, reader: str) -> int | None:
        """The next note of an audit, for this reader; what the machine found stands as it is, already accepted."""
        name = f"audit-{audit}"
        with self._write() as db:
            row = db.execute(sa.select(_audit).where(_audit.c.id == audit)).first()
            if row is None:
                raise Absent("there is no such audit")
            begun = sa.select(_reading.c.id, _reading.c.note_id, _reading.c.reader, _reading.c.submitted)
            taken = {each.note_id: each for each in db.execute(begun.where(_reading.c.round == name))}
            for each in taken.values():
                if each.reader == reader and not each.submitted:
                    return int(each.id)
            free = next((note for note in json.loads(row.notes) if note not in taken), None)
            if free is None:
                return None
            found = db.execute(sa.select(_note).where(_note.c.id == free)).one()
            shown = tuple(replace(mark, state=State.ACCEPTED) for mark in _load_marks(found.marks))
            return self._begin(db, found, name, 1, reader, shown)

    # --- what comes out ----------------------------------------------------------------------------------------------

    def settled(self, *, half: bool = False, learn: bool | None = None) -> list[tuple[Document, Document]]:
        """The notes that are done, with their final spans, each beside what the machine had found there.

        A note that two read is done when their disagreements are; with `half`, one reading is enough. learn: only the
        notes to learn from (True), or only those held out (False).
        """
        with self._read() as db:
            query = sa.select(_note).order_by(_note.c.id)
            if learn is not None:
                query = query.where(_note.c.held.is_(not learn))
            notes = {row.id: row for row in db.execute(query)}
            readings = db.execute(sa.select(_reading).where(_reading.c.submitted).order_by(_reading.c.slot)).all()
        final: dict[int, Marks] = {}
        count: dict[int, int] = {}
        for row in readings:
            if row.round == READ and row.note_id in notes:
                count[row.note_id] = count.get(row.note_id, 0) + 1
                if count[row.note_id] == 1 and (half or not notes[row.note_id].twice):
                    final[row.note_id] = _load_marks(row.marks)
        for row in readings:
            if row.round == ADJUDICATE and row.note_id in notes:
                final[row.note_id] = _load_marks(row.marks)
        return [
            (
                replace(_document(row), spans=marks.spans(final[identifier])),
                replace(_document(row), spans=marks.spans(_load_marks(row.marks), doubtful=True)),
            )
            for identifier, row in notes.items()
            if identifier in final
        ]

    def versions(self) -> list[dict[str, Any]]:
        with self._read() as db:
            return [
                {"id": row.id, "folder": row.folder, "made": row.made, "notes": row.notes, "in_use": row.in_use,
                 "scores": json.loads(row.scores)}
                for row in db.execute(sa.select(_version).order_by(_version.c.id))
            ]  # fmt: skip

    def add_version(self, *, folder: str, notes: int, scores: Mapping[str, Any]) -> int:
        with self._write() as db:
            values = {"folder": folder, "made": _now(), "notes": notes, "scores": _dump(dict(scores)), "in_use": False}
            return int(cast(Any, db.execute(_version.insert().values(**values)).inserted_primary_key)[0])

    def score_version(self, version: int, scores: Mapping[str, Any]) -> None:
        with self._write() as db:
            db.execute(_version.update().where(_version.c.id == version).values(scores=_dump(dict(scores))))

    def use_version(self, version: int) -> None:
        with self._write() as db:
            if db.execute(sa.select(_version.c.id).where(_version.c.id == version)).first() is None:
                raise Absent("there is no such version")
            db.execute(_version.update().values(in_use=_version.c.id == version))

    # --- what is shown of it -----------------------------------------------------------------------------------------

    def progress(self, reader: str) -> dict[str, Any]:
        """Counts for the page's head."""
        with self._read() as db:

            def count(*where: Any) -> int:
                return int(db.execute(sa.select(sa.func.count()).select_from(_reading).where(*where)).scalar_one())

            own = (_reading.c.reader == reader, _reading.c.round == READ)
            notes = int(db.execute(sa.select(sa.func.count()).select_from(_note)).scalar_one())
            readers = db.execute(sa.select(_reading.c.reader).where(_reading.c.round == READ).distinct()).scalars()
            result = {
                "notes": notes,
                "mine": count(*own, _reading.c.submitted),
                "readings": count(_reading.c.round == READ, _reading.c.submitted),
                "readers": sorted(readers),
            }
            settled = (
                sa.select(_reading.c.note_id)
                .join(_note, _note.c.id == _reading.c.note_id)
                .where(_reading.c.submitted)
                .where(sa.or_(_reading.c.round == ADJUDICATE, sa.and_(_reading.c.round == READ, ~_note.c.twice)))
            )
            done = sa.select(sa.func.count()).select_from(settled.distinct().subquery())
            result["settled"] = int(db.execute(done).scalar_one())
        return result | {"adjudicate": len(self.to_adjudicate())}

    def notes(
        self, reader: str, *, label: str | None = None, below: float | None = None, disagree: bool = False,
        state: str | None = None, start: int = 0, count: int = 100,
    ) -> dict[str, Any]:  # fmt: skip
        """The notes for a list, with this reader's own state; filters by type, score and disagreement."""
        own = (
            sa.select(_reading.c.note_id, _reading.c.id, _reading.c.submitted)
            .where(_reading.c.reader == reader, _reading.c.round == READ)
            .subquery()
        )
        query = sa.select(
            _note.c.id, _note.c.key, _note.c.size, _note.c.labels, _note.c.lowest, _note.c.disagree, _note.c.doubt,
            _note.c.bare, _note.c.twice, _note.c.position, own.c.id.label("reading"), own.c.submitted,
        ).outerjoin(own, own.c.note_id == _note.c.id)  # fmt: skip
        if label is not None:
            query = query.where(_note.c.labels.contains(f"|{label}|", autoescape=True))
        if below is not None:
            query = query.where(_note.c.lowest < below)
        if disagree:
            query = query.where(_note.c.disagree > 0)
        if state == "done":
            query = query.where(own.c.submitted)
        elif state == "begun":
            query = query.where(own.c.id.is_not(None), ~own.c.submitted)
        elif state == "new":
            query = query.where(own.c.id.is_(None))
        with self._read() as db:
            total = db.execute(sa.select(sa.func.count()).select_from(query.subquery())).scalar_one()
            order = (_note.c.position.is_(None), _note.c.position, _note.c.id)
            rows = db.execute(query.order_by(*order).offset(start).limit(count)).all()
        return {"total": total, "notes": [_listed(row) for row in rows]}

    def open_note(self, note: int, reader: str) -> int:
        """This reader's reading of a note chosen from the list."""
        with self._write() as db:
            own = sa.select(_reading.c.id).where(
                _reading.c.note_id == note, _reading.c.reader == reader, _reading.c.round == READ
            )
            found = db.execute(own).scalars().first()
            if found is not None:
                return int(found)
            row = db.execute(sa.select(_note).where(_note.c.id == note)).first()
            if row is None:
                raise Absent("there is no such note")
            taken = sa.select(sa.func.count()).where(_reading.c.note_id == note, _reading.c.round == READ)
            slots = db.execute(taken).scalar_one()
            if slots >= (2 if row.twice else 1):
                raise Conflict("others read this note already")
            return self._begin(db, row, READ, slots + 1, reader, _shown(row))


def _patient_json(patient: Patient) -> dict[str, Any]:
    return {"id": patient.id, "known": [[label.value, text] for label, text in patient.known]}


def _document(row: Any) -> Document:
    patient = None
    if row.patient:
        stored = json.loads(row.patient)
        patient = Patient(stored["id"], tuple((Label(label), text) for label, text in stored["known"]))
    given = tuple(Span(s[0], s[1], Label(s[2]), s[3], s[4]) for s in json.loads(row.given))
    return Document(row.key, row.text, given, patient, json.loads(row.meta))


def _shown(note: Any) -> Marks:
    """What a reader begins with: what the machine found, or nothing."""
    return () if note.bare else _load_marks(note.marks)


def _found_values(found: Found, version: int) -> dict[str, Any]:
    labels = sorted({mark.label.value for mark in found.marks})
    return {
        "version": version,
        "marks": _dump_marks(found.marks),
        "doubt": queue.doubt(found.doubts),
        "lowest": min((mark.score for mark in found.marks), default=1.0),
        "labels": f"|{'|'.join(labels)}|" if labels else "",
        "disagree": sum(queue.disagree(mark.finds) for mark in found.marks),
    }


def _listed(row: Any) -> dict[str, Any]:
    """A row of the list. Of a bare note nothing is told that the machine found: its reader would see it."""
    state = "new" if row.reading is None else "done" if row.submitted else "begun"
    shown: dict[str, Any] = {"id": row.id, "key": row.key, "size": row.size, "state": state, "queued": row.position}
    if row.bare:
        return shown | {"labels": [], "lowest": None, "disagree": None, "doubt": None}
    labels: Sequence[str] = row.labels.strip("|").split("|") if row.labels else []
    return shown | {"labels": labels, "lowest": row.lowest, "disagree": row.disagree, "doubt": round(row.doubt, 3)}
