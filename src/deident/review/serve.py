"""`deident review`: open a project, bring notes in, take them out, or serve the page."""

import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from deident import batch
from deident.config import Config
from deident.document import Document, Failure
from deident.errors import UsageError
from deident.review import keys
from deident.review.app import create
from deident.review.learning import Annotator, Learner, find_all
from deident.review.store import Project, Settings
from deident.service import run
from deident.service.access import Access, read

PORT = 8643
_AT_ONCE = 50

log = logging.getLogger(__name__)


def open_project(place: str, settings: Settings | None) -> Project:
    """A project by its file or URL; what it was made with holds."""
    return Project(place if "://" in place else Path(place), settings=settings)


def learner(project: Project, config: Config, place: str, models: Path | None) -> Learner:
    """Models lie beside the project's file, or where the user says."""
    if models is None:
        models = Path("deident-models") if "://" in place else Path(f"{place}.models")
    return Learner(project, config, models)


def add(
    project: Project, annotator: Annotator, documents: Iterable[Document | Failure], failures: list[Failure]
) -> tuple[int, int]:
    """Bring notes in; how many are new, and how many were there already."""
    new = known = 0
    held: list[Document] = []

    def flush() -> None:
        nonlocal new, known
        done, failed = find_all(annotator, held)
        failures.extend(Failure(*reason.split(": ", 1)) for reason in failed)
        added, there = project.add(done)
        new, known = new + added, known + there
        held.clear()

    for item in documents:
        if isinstance(item, Failure):
            failures.append(item)
            continue
        held.append(item)
        if len(held) == _AT_ONCE:
            flush()
    flush()
    return new, known


def export(project: Project, form: str, out: Path, *, half: bool, outcome: batch.Outcome) -> None:
    """The settled notes with their final spans, in a format."""
    documents: Sequence[Document] = [gold for gold, _ in project.settled(half=half)]
    if not documents:
        raise UsageError("no note is settled yet")
    outcome.done += len(documents)
    batch.write_as(documents, form, out, outcome)


def serve(project: Project, config: Config, learned: Learner, *, said: Callable[[str], None]) -> None:
    """The page, until told to stop."""
    keys.keys(config.review.keys)
    keys.label_keys(config.review.label_keys)
    settings = config.service
    run.check(settings)
    access = None
    if settings.tokens:
        access = Access(Path(settings.tokens))
        if not any(token.may("review") for token in read(Path(settings.tokens))):
            raise UsageError(f"no token in {settings.tokens} may review: deident token new NAME --role review")
    with run.bind(settings) as bound:
        run.logs()
        key = secrets.token_urlsafe(24)
        app = create(project, config, learned, learned.annotator(), key=key, access=access)
        url = run.address(settings, bound, said=said)
        where = url if access is not None else f"{url}/#key={key}"
        run.listen(app, settings, bound, lambda: said(f"read at {where}"))
        learned.stop()


def with_port(config: Config, port: int | None) -> Config:
    """The review page has a port of its own."""
    chosen = port if port is not None else PORT
    return replace(config, service=replace(config.service, port=chosen))
