"""The command line: a command parses, calls one function, prints.

Results go to standard output or to the file named, progress and messages to standard error. Exit codes: 0 all done,
1 some documents failed (each with one line on standard error), 2 the command itself cannot be.
"""

import json
import re
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from deident import __version__
from deident.errors import DeidentError, UsageError

if TYPE_CHECKING:
    from deident.batch import Outcome, Progress
    from deident.config import Config, Service
    from deident.corpus.make import Variety
    from deident.document import Document, Failure
    from deident.evaluate import Scores
    from deident.experiments import Data
    from deident.vault import Secret

T = TypeVar("T")

app = typer.Typer(
    name="deident",
    help="Find and remove, or replace, the identifiers of people in clinical text.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

corpora = typer.Typer(
    help="The gold corpora, and tools to build one's own.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(corpora, name="corpus")
keys = typer.Typer(help="Keys, from which surrogates are drawn.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(keys, name="key")
tokens = typer.Typer(help="Who may use the service.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(tokens, name="token")
policies = typer.Typer(
    help="Policies: what becomes of each kind of identifier.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(policies, name="policy")

papers = typer.Typer(
    help="The tables and figures of the papers this stands on, made anew.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(papers, name="experiment")
vaults = typer.Typer(
    help="The way back, for those who may go it: an encrypted file of what was replaced.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(vaults, name="vault")

Inputs = Annotated[list[Path], typer.Argument(metavar="IN...", help="Files or folders of notes.")]
From = Annotated[str | None, typer.Option("--from", help="Format of the input; told from the files by default.")]
Detectors = Annotated[str | None, typer.Option("--detectors", help="Detectors to use, parted by commas.")]
Roster = Annotated[Path | None, typer.Option("--roster", help="CSV of known patients; see docs/detectors.md.")]
Providers = Annotated[
    Path | None, typer.Option("--providers", help="CSV of a site's providers, whose names hold for all notes.")
]
WholeRoster = Annotated[bool, typer.Option("--whole-roster", help="Every row of the roster holds for all notes.")]
Model = Annotated[Path | None, typer.Option("--model", help="Folder of a model, for the detector 'learned'.")]
Engine = Annotated[
    str | None,
    typer.Option("--engine", help="Model that is shipped: fast, balanced (the default), max (with a network)."),
]
Recall = Annotated[
    float | None, typer.Option("--recall", help="Share of identifiers wanted found, as 0.99, by the model's curve.")
]
OwnPatterns = Annotated[
    list[Path] | None, typer.Option("--patterns", help="A TOML file of patterns of one's own; may be repeated.")
]
PolicyName = Annotated[
    str | None, typer.Option("--policy", help="A policy, or the TOML file of one; see 'deident policy list'.")
]
Replacement = Annotated[
    str | None,
    typer.Option(
        "--replace",
        help="How what is removed is shown: tag, number, mask, null, surrogate, syllables; under a policy, what it "
        "allows.",
    ),
]
PatientPath = Annotated[
    str | None, typer.Option("--patient-path", help="Whose note it is, by its path, as in '{patient}/*'.")
]
PatientColumn = Annotated[
    str | None, typer.Option("--patient-column", help="The same, by a column or a field of the note's meta.")
]
PatientMap = Annotated[Path | None, typer.Option("--patient-map", help="The same, by a CSV of note_id and patient_id.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Settings in a TOML file.")]
MaxBytes = Annotated[int | None, typer.Option("--max-bytes", help="Largest file, or record, that is read.")]
Workers = Annotated[
    int, typer.Option("--workers", min=0, help="Processes that work side by side; 0: in this one.", show_default=True)
]
Seconds = Annotated[
    float | None, typer.Option("--timeout", help="Seconds after which a note is given up; needs --workers.")
]
Quarantine = Annotated[
    Path | None, typer.Option("--quarantine", help="Write what failed as JSON lines: id and reason, no text.")
]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deident {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command("detect")
def detect_command(
    inputs: Inputs,
    out: Annotated[
        Path | None, typer.Option("-o", "--output", help="File, or folder; standard output if none.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", help="Format of the output; default: spans as JSON lines.")] = None,
    read_as: From = None,
    detectors: Detectors = None,
    roster: Roster = None,
    providers: Providers = None,
    whole_roster: WholeRoster = False,
    patterns: OwnPatterns = None,
    model: Model = None,
    engine: Engine = None,
    recall: Recall = None,
    patient_path: PatientPath = None,
    patient_column: PatientColumn = None,
    patient_map: PatientMap = None,
    config_file: ConfigFile = None,
    max_bytes: MaxBytes = None,
    workers: Workers = 0,
    timeout: Seconds = None,
    quarantine: Quarantine = None,
) -> None:
    """Find identifiers and write where they are.

    By default one JSON line a note: {"id", "spans": [{"start", "end", "label", "score", "source"}]}, without its text.

    Example: deident detect notes/ -o spans.jsonl
    """
    from deident import batch
    from deident.formats import jsonl

    known = {"roster": roster, "providers": providers, "whole_roster": whole_roster}
    learned = {"patterns": patterns, "model": model, "engine": engine, "recall": recall}
    config = _config(config_file, detectors, max_bytes, found_by=known | learned)
    config = _grouped(config, patient_path, patient_column, patient_map)
    outcome = batch.Outcome()
    forms = batch.Forms(read_as, None, config.limits.file_bytes)
    with batch.runner(config, "detect", workers, seconds=timeout) as runner:
        done = _progress(batch.worked(runner, inputs, outcome, forms=forms), "detect")
        if to is None:
            batch.write_lines(done, out, lambda doc: _line(jsonl.to_object(doc, text=False)))
        elif out is None:
            raise UsageError(f"say with -o where the {to} output goes")
        else:
            batch.write_as(done, to, out, outcome)
    _quarantine(quarantine, outcome)
    _close(outcome, "read")


@app.command("scrub")
def scrub_command(
    inputs: Inputs,
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder for the scrubbed files.")],
    read_as: From = None,
    to: Annotated[str | None, typer.Option("--to", help="Format of the output; that of the input by default.")] = None,
    policy_name: PolicyName = None,
    replacement: Replacement = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="Of the surrogates: the same key gives the same stand-ins.")
    ] = None,
    patient_path: PatientPath = None,
    patient_column: PatientColumn = None,
    patient_map: PatientMap = None,
    spans: Annotated[
        str | None,
        typer.Option("--spans", help="Spans in the output: all, none, or tags (the default): not those of stand-ins."),
    ] = None,
    vault: Annotated[
        Path | None, typer.Option("--vault", help="Keep what is replaced in an encrypted file; see docs/policies.md.")
    ] = None,
    vault_key: Annotated[Path | None, typer.Option("--vault-key", help="Key file that opens the vault.")] = None,
    vault_passphrase: Annotated[
        Path | None, typer.Option("--vault-passphrase-file", help="Or the file of a passphrase.")
    ] = None,
    as_of: Annotated[
        int | None, typer.Option("--as-of", help="The year in which ages are told from years of birth; default: now.")
    ] = None,
    fixed_width: Annotated[
        bool, typer.Option("--fixed-width", help="What is put is as long as what was there, line by line.")
    ] = False,
    detectors: Detectors = None,
    roster: Roster = None,
    providers: Providers = None,
    whole_roster: WholeRoster = False,
    patterns: OwnPatterns = None,
    model: Model = None,
    engine: Engine = None,
    recall: Recall = None,
    config_file: ConfigFile = None,
    max_bytes: MaxBytes = None,
    workers: Workers = 0,
    timeout: Seconds = None,
    rename: Annotated[
        bool, typer.Option("--rename", help="Give files and notes keyed ids for names, which may be identifiers.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep a journal in the output folder; a run that was killed goes on.")
    ] = False,
    manifest: Annotated[
        Path | None, typer.Option("--manifest", help="Write what the run was: versions, settings, counts; no values.")
    ] = None,
    quarantine: Quarantine = None,
) -> None:
    """Write the notes anew, without their identifiers.

    Every input file has its counterpart of the same name in the output folder. A note that cannot be processed has
    none, and is named on standard error. See docs/batch.md for large runs.

    Example: deident scrub notes/ -o clean/ --policy safe-harbor

    Example: deident scrub notes/ -o clean/ --policy expert-determination --key-file study.key

    Example: deident scrub notes/ -o clean/ --replace surrogate --key-file study.key --workers 2 --resume
    """
    from datetime import UTC, datetime

    from deident import batch

    known = {"roster": roster, "providers": providers, "whole_roster": whole_roster}
    learned = {"patterns": patterns, "model": model, "engine": engine, "recall": recall}
    config = _config(config_file, detectors, max_bytes, found_by=known | learned)
    config = _scrubbed_by(config, policy_name, replacement, key_file, as_of, spans, fixed_width=fixed_width)
    config = _kept_in(config, vault, vault_key, vault_passphrase)
    config = _grouped(config, patient_path, patient_column, patient_map)
    began = datetime.now(UTC)
    outcome = batch.Outcome()
    forms = batch.Forms(read_as, to, config.limits.file_bytes)
    keys = batch.run_keys(config, rename=rename, resume=resume)
    how = {"from": read_as, "to": to, "renamed": rename}
    with batch.runner(config, "scrub", workers, keys=keys, seconds=timeout) as runner:
        facts = batch.facts(config, how, keys.kept) if resume else None
        _rate(batch.to_folder(runner, inputs, out, outcome, forms=forms, rename=keys.names, resume=facts), "scrub")
    _quarantine(quarantine, outcome)
    if manifest is not None:
        with batch.replacing(manifest) as stream:
            ran = batch.manifest(config, how | {"workers": workers}, outcome.counts(), began=began, key=keys.kept)
            stream.write((json.dumps(ran, indent=1) + "\n").encode())
    _close(outcome, "scrubbed" if not outcome.ended_before else "had already scrubbed")


@app.command("roster")
def roster_command(
    inputs: Inputs,
    out: Annotated[Path, typer.Option("-o", "--output", help="CSV file; only you can read it.")],
    read_as: From = None,
    patient_path: PatientPath = None,
    patient_column: PatientColumn = None,
    patient_map: PatientMap = None,
    least: Annotated[float, typer.Option("--least", min=0, max=1, help="Finds of a lower score are left out.")] = 0.9,
    detectors: Detectors = None,
    engine: Engine = None,
    config_file: ConfigFile = None,
    max_bytes: MaxBytes = None,
) -> None:
    """Gather what is surely found in each patient's notes, to look for it in all of them.

    The file holds identifiers. Given to scrub as --roster, a name that one note tells plainly is found in the same
    patient's other notes, too, where nothing tells that it is one.

    Example: deident roster notes/ -o known.csv --patient-path '{patient}/*'; deident scrub notes/ -o clean/ --roster
    known.csv --patient-path '{patient}/*'
    """
    from deident import batch
    from deident.detect._roster import gathered, written
    from deident.pipeline import Pipeline

    config = _config(config_file, detectors, max_bytes, found_by={"engine": engine})
    config = _grouped(config, patient_path, patient_column, patient_map)
    pipeline = Pipeline.from_config(config)
    outcome = batch.Outcome()
    found = batch.documents(inputs, read_as, limit=config.limits.file_bytes)
    rows = gathered(_progress(batch.results(pipeline.detect, found, outcome), "read"), least=least)
    with batch.replacing(out, private=True) as stream:
        stream.write(written(rows).encode())
    typer.echo(f"{out} knows of {len(rows)} patients: it holds identifiers", err=True)
    _close(outcome, "read")


@app.command("watch")
def watch_command(
    folder: Annotated[Path, typer.Argument(metavar="IN", help="Folder in which files arrive.")],
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder for the scrubbed files.")],
    read_as: From = None,
    to: Annotated[str | None, typer.Option("--to", help="Format of the output; that of the input by default.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Do what is there, and end: for cron.")] = False,
    settle: Annotated[
        float, typer.Option("--settle", min=0, help="Seconds that a file must have been still before it is taken.")
    ] = 5.0,
    every: Annotated[float, typer.Option("--every", min=0.05, help="Seconds between two looks.")] = 2.0,
    move_done: Annotated[
        Path | None, typer.Option("--move-done", help="Move originals there when they went through.")
    ] = None,
    policy_name: PolicyName = None,
    replacement: Replacement = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="Of the surrogates: the same key gives the same stand-ins.")
    ] = None,
    patient_path: PatientPath = None,
    patient_column: PatientColumn = None,
    patient_map: PatientMap = None,
    spans: Annotated[
        str | None,
        typer.Option("--spans", help="Spans in the output: all, none, or tags (the default): not those of stand-ins."),
    ] = None,
    vault: Annotated[
        Path | None, typer.Option("--vault", help="Keep what is replaced in an encrypted file; see docs/policies.md.")
    ] = None,
    vault_key: Annotated[Path | None, typer.Option("--vault-key", help="Key file that opens the vault.")] = None,
    vault_passphrase: Annotated[
        Path | None, typer.Option("--vault-passphrase-file", help="Or the file of a passphrase.")
    ] = None,
    as_of: Annotated[
        int | None, typer.Option("--as-of", help="The year in which ages are told from years of birth; default: now.")
    ] = None,
    fixed_width: Annotated[
        bool, typer.Option("--fixed-width", help="What is put is as long as what was there, line by line.")
    ] = False,
    detectors: Detectors = None,
    roster: Roster = None,
    providers: Providers = None,
    whole_roster: WholeRoster = False,
    patterns: OwnPatterns = None,
    model: Model = None,
    engine: Engine = None,
    recall: Recall = None,
    config_file: ConfigFile = None,
    max_bytes: MaxBytes = None,
    workers: Workers = 0,
    timeout: Seconds = None,
    rename: Annotated[
        bool, typer.Option("--rename", help="Give files and notes keyed ids for names, which may be identifiers.")
    ] = False,
    quarantine: Quarantine = None,
) -> None:
    """Scrub files as they arrive in a folder, each once, until it is stopped.

    A file is taken when it has been still for --settle seconds, or was moved in. One that fails stays where it is, is
    named on standard error and in --quarantine, and is tried again when it is changed. A kill at any point loses and
    doubles nothing. SIGTERM and Ctrl-C end it after the files at hand. See docs/batch.md.

    Example: deident watch incoming/ -o clean/ --policy safe-harbor --move-done done/ --quarantine failed.jsonl
    """
    from deident import batch
    from deident.batch.watch import Taking, Watch

    known = {"roster": roster, "providers": providers, "whole_roster": whole_roster}
    learned = {"patterns": patterns, "model": model, "engine": engine, "recall": recall}
    config = _config(config_file, detectors, max_bytes, found_by=known | learned)
    config = _scrubbed_by(config, policy_name, replacement, key_file, as_of, spans, fixed_width=fixed_width)
    config = _kept_in(config, vault, vault_key, vault_passphrase)
    config = _grouped(config, patient_path, patient_column, patient_map)
    forms = batch.Forms(read_as, to, config.limits.file_bytes)
    keys = batch.run_keys(config, rename=rename)
    files = notes = failed = 0
    with batch.runner(config, "scrub", workers, keys=keys, seconds=timeout) as runner:
        taking = Taking(settle, every, move_done)
        watch = Watch(runner, folder, out, forms=forms, taking=taking, rename=keys.names)
        with _until_stopped(watch.stop) as wait:
            if not once:
                typer.echo(f"watching {folder}", err=True)
            for done in watch.run(None if once else wait):
                files, notes, failed = files + 1, notes + done.notes, failed + len(done.failures)
                _report(done.failures)
                if quarantine is not None and done.failures:
                    batch.append_private(quarantine, [_line(_failed(failure)) for failure in done.failures])
    ended = f"scrubbed {notes} note{'' if notes == 1 else 's'} of {files} file{'' if files == 1 else 's'}"
    typer.echo(f"{ended}{f', {failed} failed' if failed else ''}", err=True)
    if once and failed:
        raise typer.Exit(1)


@contextmanager
def _until_stopped(stop: Callable[[], None]) -> Generator[Callable[[float], object]]:
    """SIGTERM and SIGINT call `stop`, and wake the one who waits by what this gives; a second SIGINT interrupts."""
    import signal
    from threading import Event

    woken = Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def stopped(number: int, _: object) -> None:
        stop()
        woken.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, stopped)
    try:
        yield woken.wait
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


TextColumns = Annotated[list[str], typer.Option("--text", help="Column of notes; repeatable.")]
Fields = Annotated[
    list[str] | None, typer.Option("--field", help="NAME=LABEL: a column that is wholly an identifier; repeatable.")
]
Keep = Annotated[list[str] | None, typer.Option("--keep", help="A column that stays as it is; repeatable.")]
RowId = Annotated[str | None, typer.Option("--id", help="Column that names a row in messages.")]
RowPatient = Annotated[str | None, typer.Option("--patient", help="Column that says whose row it is.")]


@app.command("table")
def table_command(
    source: Annotated[str, typer.Argument(metavar="IN", help="CSV, TSV or Parquet file, or a database (URL).")],
    text: TextColumns,
    out: Annotated[str, typer.Option("-o", "--output", help="File, or database (URL).")],
    fields: Fields = None,
    keep: Keep = None,
    patient: RowPatient = None,
    row_id: RowId = None,
    table: Annotated[str | None, typer.Option("--table", help="The table of the database.")] = None,
    to_table: Annotated[str | None, typer.Option("--to-table", help="The new table; default: TABLE_clean.")] = None,
    policy_name: PolicyName = None,
    replacement: Replacement = None,
    key_file: Annotated[Path | None, typer.Option("--key-file", help="Of the surrogates and codes.")] = None,
    detectors: Detectors = None,
    roster: Roster = None,
    config_file: ConfigFile = None,
    max_bytes: MaxBytes = None,
    workers: Workers = 0,
    timeout: Seconds = None,
    quarantine: Quarantine = None,
) -> None:
    """Scrub the rows of a table; columns that are not named are left out.

    Example: deident table notes.csv -o clean.csv --text note --patient mrn --field mrn=MEDICALRECORD --keep ward

    Example: deident table postgresql+psycopg://host/ehr --table notes -o sqlite:///clean.db --text note --keep id
    """
    from deident.batch import tables
    from deident.tables import Columns

    config = _config(config_file, detectors, max_bytes, found_by={"roster": roster})
    config = _scrubbed_by(config, policy_name, replacement, key_file)
    named = dict(_pair(item) for item in fields or ())
    columns = Columns.of(text, patient=patient, id=row_id, fields=named, keep=keep or ())
    told = tables.Told()
    if "://" in source:
        if table is None:
            raise UsageError("say with --table which table of the database")
        goal = to_table or f"{table}_clean"
        run = tables.scrub_sql(source, table, out, goal, columns, config, told, workers=workers, seconds=timeout)
    else:
        run = tables.scrub_file(Path(source), Path(out), columns, config, told, workers=workers, seconds=timeout)
    _rate(run, "scrub")
    _quarantine(quarantine, told.outcome)
    if told.blocked:
        typer.echo(f"left out, for nobody named them: {', '.join(told.blocked)}", err=True)
    _close(told.outcome, "scrubbed")


def _pair(text: str) -> tuple[str, str]:
    name, equals, label = text.partition("=")
    if not equals:
        raise UsageError(f"a field is written as NAME=LABEL, not '{text}'")
    return name, label


@app.command("convert")
def convert_command(
    source: Annotated[Path, typer.Argument(metavar="IN", help="File or folder.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File, or folder where a format holds one note a file.")],
    to: Annotated[str, typer.Option("--to", help="Format of the output.")],
    read_as: From = None,
    max_bytes: MaxBytes = None,
) -> None:
    """Write notes and their spans in another format.

    Example: deident convert gold/ gold.jsonl --from brat --to jsonl
    """
    from deident import batch

    config = _config(None, None, max_bytes)
    outcome = batch.Outcome()
    found = batch.documents([source], read_as, limit=config.limits.file_bytes)
    batch.write_as(batch.results(lambda doc: doc, found, outcome), to, out, outcome)
    _close(outcome, "converted")


@app.command("evaluate")
def evaluate_command(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="Notes with the right spans: file or folder.")],
    system: Annotated[Path, typer.Argument(metavar="SYSTEM", help="The same notes with the spans to judge.")],
    official: Annotated[bool, typer.Option("--official", help="The official i2b2-2014 script's numbers.")] = False,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write a report with plots and leaks in context.")] = None,
    with_text: Annotated[bool, typer.Option(help="Show leaked text in the report.")] = True,
    read_as: Annotated[str | None, typer.Option("--from", help="Format of GOLD (and of SYSTEM).")] = None,
    system_as: Annotated[str | None, typer.Option("--system-from", help="Format of SYSTEM where it differs.")] = None,
    max_bytes: MaxBytes = None,
) -> None:
    """Score spans against gold.

    SYSTEM may be what `deident detect` wrote. A note that it lacks counts as missed, wholly; only the official script
    passes over it.

    Example: deident evaluate gold/ spans.jsonl --html report.html
    """
    from deident import evaluate

    limit = _config(None, None, max_bytes).limits.file_bytes
    if official:
        numbers, failures = _official(gold, system, read_as, system_as, limit)
        typer.echo(json.dumps(numbers, indent=1) if as_json else _official_table(numbers))
        _fail(failures)
        return
    documents, outputs, unread = _gold_and_systems(gold, [system], read_as, system_as, limit)
    scores = evaluate.score(documents, outputs[0])
    failures = [*unread, *scores.failures]
    if html is not None:
        title = f"{system.name} against {gold.name}"
        _html(html, documents, outputs[0], unread, title=title, with_text=with_text)
    if as_json:
        errors = evaluate.analyse(documents, outputs[0]).to_json()
        matrix = evaluate.confusion(documents, outputs[0]).to_json()
        errors.pop("findings")
        failed = [{"id": failure.id, "reason": failure.reason} for failure in failures]
        result = scores.to_json() | {"corpus": _hash(documents), "errors": errors, "confusion": matrix}
        typer.echo(json.dumps(result | {"failures": failed}, indent=1))
    else:
        typer.echo(_scores_table(scores))
    _fail(failures)


@app.command("verify")
def verify_command(
    clean: Annotated[list[Path], typer.Argument(metavar="CLEAN...", help="Scrubbed files or folders.")],
    roster: Annotated[Path, typer.Option("--roster", help="CSV of known patients; see docs/detectors.md.")],
    providers: Providers = None,
    policy_name: Annotated[
        str | None, typer.Option("--policy", help="The policy of the run: what it lets stay is no hit.")
    ] = None,
    patient_path: PatientPath = None,
    patient_column: PatientColumn = None,
    patient_map: PatientMap = None,
    read_as: From = None,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
) -> None:
    """Search scrubbed notes, and their names, for people whom the roster knows.

    One line a hit: note, offsets, label, and how it was found (exact, part, nickname, typo, number …); no text. A note
    whose own name tells somebody is given by its place in the input. Exit code 1 where there is a hit.

    Example: deident verify clean/ --roster patients.csv --policy safe-harbor
    """
    from deident import batch, policy
    from deident.document import Failure
    from deident.patients import grouping
    from deident.pipeline import attempt
    from deident.verify import Verifier

    config = _grouped(_config(None, None, max_bytes), patient_path, patient_column, patient_map)
    chosen = policy.load(policy_name) if policy_name is not None else None
    verifier = Verifier(roster, policy=chosen, providers=providers)
    group = grouping(config.patients)
    failures: list[Failure] = []
    rows: list[dict[str, Any]] = []
    notes = 0
    for number, item in enumerate(batch.documents(clean, read_as, limit=config.limits.file_bytes), 1):
        doc = item if isinstance(item, Failure) else attempt(group, item)
        if isinstance(doc, Failure):
            failures.append(doc)
            continue
        notes += 1
        hits = list(verifier.hits(doc))
        name = f"note {number}" if any(hit.in_name for hit in hits) else doc.id
        for hit in hits:
            place = {"in": "name"} if hit.in_name else {"start": hit.start, "end": hit.end}
            rows.append({"id": name, **place, "label": hit.label.value, "how": hit.how})
    if as_json:
        failed = [{"id": failure.id, "reason": failure.reason} for failure in failures]
        typer.echo(json.dumps({"notes": notes, "hits": rows, "failures": failed}, indent=1, ensure_ascii=False))
    else:
        for row in rows:
            place = "its name" if "in" in row else f"{row['start']}..{row['end']}"
            typer.echo(f"{row['id']}  {place}  {row['label']}  {row['how']}")
    _report(failures)
    hit_notes = len({row["id"] for row in rows})
    typer.echo(f"verified {notes} notes: {len(rows)} hits in {hit_notes} of them", err=True)
    if rows or failures:
        raise typer.Exit(1)


@app.command("risk")
def risk_command(
    gold: Annotated[Path | None, typer.Argument(metavar="[GOLD", help="Annotated notes.")] = None,
    system: Annotated[Path | None, typer.Argument(metavar="SYSTEM]", help="The same with the spans found.")] = None,
    policy_name: Annotated[
        str | None, typer.Option("--policy", help="The policy of the run: what it lets stay is counted.")
    ] = None,
    reviewed: Annotated[
        int | None, typer.Option("--reviewed", min=1, help="Notes of the output that were read.")
    ] = None,
    leaking: Annotated[int, typer.Option("--leaking", min=0, help="Of these, the notes with a leak.")] = 0,
    wanted: Annotated[
        list[float] | None, typer.Option("--want", help="A bound for which to say how many notes to read: 0.01.")
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the bounds.")] = 0.95,
    manifest: Annotated[
        Path | None, typer.Option("--manifest", help="Of the run, as scrub --manifest wrote it: stands in the report.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the report for a study's files.")] = None,
    as_json: AsJson = False,
    as_of: Annotated[int, typer.Option("--as-of", help="The year in which ages are told; default: now.")] = 0,
    read_as: Annotated[str | None, typer.Option("--from", help="Format of GOLD (and of SYSTEM).")] = None,
    system_as: Annotated[str | None, typer.Option("--system-from", help="Format of SYSTEM where it differs.")] = None,
    max_bytes: MaxBytes = None,
) -> None:
    """Say what may still identify: how many people share what leaks or stays, and how sure one can be.

    With GOLD and SYSTEM: people who share each leaked or kept token, risk by note, classes of equal records. With
    --reviewed: an exact bound on the share of leaking notes. What it prints and writes holds no text and no id.

    Example: deident risk gold/ spans.jsonl --policy safe-harbor --html risk.html

    Example: deident risk --reviewed 200 --leaking 1 --want 0.01
    """
    from deident import policy, risk

    if (gold is None) != (system is None):
        raise UsageError("risk compares GOLD with SYSTEM: give both, or neither")
    if gold is None and reviewed is None and not wanted:
        raise UsageError("nothing to tell: give GOLD and SYSTEM, --reviewed, or --want")
    if leaking and reviewed is None:
        raise UsageError("--leaking is of --reviewed notes: say how many")
    sample = risk.Sample(reviewed, leaking, confidence) if reviewed is not None else None
    ran: dict[str, Any] = _manifest_of(manifest) if manifest is not None else {}
    found, failures = None, list["Failure"]()
    if gold is not None and system is not None:
        limit = _config(None, None, max_bytes).limits.file_bytes
        documents, outputs, failures = _gold_and_systems(gold, [system], read_as, system_as, limit)
        chosen = policy.load(policy_name) if policy_name is not None else None
        found = risk.analyse(documents, outputs[0], policy=chosen, as_of=as_of)
    sizes = {f"{share:g}": risk.sample_size(share, leaking=leaking, confidence=confidence) for share in wanted or []}
    result: dict[str, Any] = found.to_json() if found is not None else {}
    result |= {"sample": sample.to_json()} if sample is not None else {}
    result |= {"notes_to_read": sizes} if sizes else {}
    if html is not None:
        from datetime import date

        from deident.batch import replacing
        from deident.evaluate.report import Run
        from deident.risk import report

        run = Run(date.today().isoformat(), "deident risk", found.corpus if found is not None else "")
        page = report.render(found, sample=sample, wanted=wanted or [], manifest=ran, run=run)
        with replacing(html) as stream:
            stream.write(page.encode("utf-8"))
    if as_json:
        typer.echo(json.dumps(result | ({"run": ran} if ran else {}), indent=1))
    else:
        typer.echo("\n".join(_risk_lines(result)))
    _fail(failures)


def _manifest_of(path: Path) -> dict[str, Any]:
    try:
        data: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(f"{path} is no manifest of a run") from None
    if not isinstance(data, dict) or "settings" not in data:
        raise UsageError(f"{path} is no manifest of a run")
    return cast("dict[str, Any]", data)


def _risk_lines(result: "Mapping[str, Any]") -> Iterator[str]:
    for kind in ("leaked", "kept"):
        rows = [
            (name, *(str(row[key]) if row[key] is not None else "–" for key in ("count", "people_least", "small")))
            for name, row in result.get(kind, {}).items()
        ]
        if rows:
            yield _table((kind, "tokens", "people, least", "20,000 or fewer"), rows) + "\n"
    if "documents" in result:
        yield f"notes {result['documents']}, leaking {result['documents_leaking']}; mean risk {result['mean_risk']:.4f}"
        for name, count in result["documents_leaking_by_people"].items():
            yield f"  leaks that {name} share: {count}"
        for row in result["classes"]:
            yield f"equal in {', '.join(row['by'])}: k {row['k']}, alone {row['fewer_than_2']} of {row['records']}"
    if "sample" in result:
        row = result["sample"]
        yield (
            f"{row['read']} notes read, {row['leaking']} leaking: at most {row['at_most_per_1000_notes']:.1f} per 1,000"
            f" notes, {row['confidence']:.0%} confidence"
        )
    for share, count in result.get("notes_to_read", {}).items():
        yield f"for at most {float(share):g}: read {count} notes"


@app.command("compare")
def compare_command(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="Notes with the right spans: file or folder.")],
    first: Annotated[Path, typer.Argument(metavar="A", help="One system's spans.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The other's.")],
    as_json: AsJson = False,
    read_as: Annotated[str | None, typer.Option("--from", help="Format of GOLD.")] = None,
    system_as: Annotated[str | None, typer.Option("--system-from", help="Format of A and B where it differs.")] = None,
    seed: Annotated[int, typer.Option(help="Of the resampling.")] = 0,
    max_bytes: MaxBytes = None,
) -> None:
    """Set two systems side by side, with tests.

    How sure their difference is, at token level, whatever the label: approximate randomization by note, BCa bootstrap
    by patient, Wilcoxon signed ranks with Pratt's zeros, z-test of two proportions; then NLM Scrubber's aligned tokens.

    Example: deident compare gold/ rules.jsonl crf.jsonl
    """
    from deident import evaluate

    limit = _config(None, None, max_bytes).limits.file_bytes
    documents, outputs, failures = _gold_and_systems(gold, [first, second], read_as, system_as, limit)
    result = evaluate.compare(documents, outputs[0], outputs[1], seed=seed)
    typer.echo(json.dumps(result, indent=1) if as_json else _comparison_table(result))
    _fail(failures)


@app.command("explain")
def explain_command(
    text: Annotated[str, typer.Argument(help="The text itself; - reads standard input.")],
    detectors: Detectors = None,
    roster: Roster = None,
    providers: Providers = None,
    whole_roster: WholeRoster = False,
    patterns: OwnPatterns = None,
    model: Model = None,
    engine: Engine = None,
    recall: Recall = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show which detector found what in a text, and why.

    Example: deident explain "Seen 3/4/21, call 303-555-0182"
    """
    from deident.document import Document
    from deident.pipeline import Pipeline

    known = {"roster": roster, "providers": providers, "whole_roster": whole_roster}
    learned = {"patterns": patterns, "model": model, "engine": engine, "recall": recall}
    config = _config(config_file, detectors, None, found_by=known | learned)
    pipeline = Pipeline.from_config(config)
    doc = Document("text", sys.stdin.read() if text == "-" else text)
    found = sorted(pipeline.explain(doc), key=lambda pair: pair[0])
    kept = pipeline.detect(doc).spans
    if as_json:
        rows = [
            {"start": s.start, "end": s.end, "label": s.label.value, "score": s.score, "source": s.source, "why": why}
            for s, why in found
        ]
        result = [{"start": s.start, "end": s.end, "label": s.label.value, "source": s.source} for s in kept]
        typer.echo(json.dumps({"found": rows, "result": result}, ensure_ascii=False))
        return
    for span, why in found:
        words = " ".join(doc.text[span.start : span.end].split())
        typer.echo(f"{span.start:>5}–{span.end:<5} {span.label:<14} {span.score:.2f}  {words}  ← {span.source}: {why}")
    typer.echo(pipeline.scrub(doc).text.rstrip("\n"))


Corpus = Annotated[
    list[str], typer.Argument(metavar="CORPUS...", help="Notes with gold spans: files, folders, or a corpus of ours.")
]
Carriers = Annotated[
    list[Path] | None, typer.Option("--carrier", help="A file of texts that a corpus of ours annotates; repeatable.")
]
Split = Annotated[str, typer.Option("--split", help="Which split of corpora of ours; 'all' for all.")]
Learner = Annotated[str, typer.Option("--learner", help="crf, svm, …; an unknown name lists them.")]
Features = Annotated[str, typer.Option("--features", help="The feature set; an unknown name lists them.")]
Adapt = Annotated[
    list[str] | None, typer.Option("--adapt", help="Another kind of notes, learned from by EasyAdapt; repeatable.")
]
AdaptNer = Annotated[
    list[Path] | None,
    typer.Option("--adapt-ner", help="CoNLL columns of persons, places, organisations to adapt from; repeatable."),
]
Costs = Annotated[
    list[str] | None, typer.Option("--cost", help="LABEL=NUMBER: what a mistake on it costs; 'O=0.5' makes for recall.")
]
Bias = Annotated[float, typer.Option("--bias", help="Taken from the score of no PHI: above 0 finds more.")]
Settings = Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE: an option of the learner; repeatable.")]


@app.command("train")
def train_command(
    inputs: Corpus,
    out: Annotated[Path | None, typer.Option("-o", "--output", metavar="MODEL", help="Folder of the model.")] = None,
    learner: Learner = "crf",
    features: Features = "deident",
    adapt: Adapt = None,
    adapt_ner: AdaptNer = None,
    dev: Annotated[
        list[str] | None, typer.Option("--dev", help="Notes that say when to stop, and score the model; repeatable.")
    ] = None,
    hold: Annotated[float, typer.Option("--hold", min=0, max=0.9, help="Or this share of the notes, by patient.")] = 0,
    costs: Costs = None,
    bias: Bias = 0.0,
    settings: Settings = None,
    split: Split = "train",
    carriers: Carriers = None,
    dump: Annotated[
        Path | None, typer.Option("--dump-liblinear", metavar="FOLDER", help="Also write what LIBLINEAR reads.")
    ] = None,
    progress: Annotated[
        bool, typer.Option("--progress", help="A JSON line on standard error after each pass, for programs.")
    ] = False,
    read_as: From = None,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
) -> None:
    """Learn a model from notes with gold spans.

    A corpus of ours is named (deident-open, mtsamples-phi, aci-phi); the last two need their carriers. With --dev, or
    --hold, learning stops when it does no more good there, and the scores go into the model's manifest. What
    --dump-liblinear writes holds words of the notes.

    Example: deident train deident-open --dev deident-open -o mine; deident scrub notes/ --model mine …
    """
    from deident import evaluate
    from deident.learn import features as sets
    from deident.learn import store, svm, tagged, train

    if out is None and dump is None:
        raise UsageError("say with -o where the model goes")
    if out is not None:
        store.check_room(out)
    limit = _config(None, None, max_bytes).limits.file_bytes
    options = train.options_of(learner, _said(settings, costs))
    documents = _gold_notes(inputs, split, carriers, read_as, limit)
    if dev and hold:
        raise UsageError("--dev and --hold are two ways to the same: give one")
    held = _gold_notes(dev or [], "dev", carriers, read_as, limit)
    if hold:
        documents, held = train.parted(documents, hold)
    if dump is not None:
        chosen = sets.feature_set(features)
        svm.dump(_progress(tagged(documents, chosen), "dump"), chosen, dump)
        typer.echo(f"wrote {dump}: it holds words of the notes", err=True)
    if out is None:
        return
    sources = _sources(adapt, adapt_ner, split, carriers, read_as, limit)
    with _passes("train") as shown:
        told = _passes_as_lines(getattr(options, "passes", 0)) if progress else shown
        model = train.train(
            documents, sources=sources, held=held, learner=learner, features=features, options=options, told=told
        )
    model = train.biased(model, bias)
    if held:
        found = evaluate.by_id(_progress(train.predict(model, held), "score"))
        model = store.with_scores(model, evaluate.headline(evaluate.score(evaluate.by_id(held), found)))
    store.save(model, out)
    typer.echo(json.dumps(model.manifest.scores, indent=1) if as_json else _headline_table(model.manifest.scores))
    size = sum(path.stat().st_size for path in out.iterdir())
    typer.echo(f"learned from {model.manifest.documents} notes; {out} has {size / 1e6:.1f} MB", err=True)


@app.command("cv")
def cv_command(
    inputs: Corpus,
    count: Annotated[int, typer.Option("--folds", min=2, help="A patient's notes are in one fold.")] = 10,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="JSON lines of the spans found.")] = None,
    learner: Learner = "crf",
    features: Features = "deident",
    adapt: Adapt = None,
    adapt_ner: AdaptNer = None,
    costs: Costs = None,
    bias: Bias = 0.0,
    settings: Settings = None,
    seed: Annotated[int, typer.Option(help="Another one gives other folds.")] = 1,
    split: Split = "train",
    carriers: Carriers = None,
    read_as: From = None,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
) -> None:
    """Cross-validate: score each part of the notes by a model of all others.

    Example: deident cv deident-open --folds 5 --learner svm --features mega
    """
    from deident import batch, evaluate
    from deident.formats import jsonl
    from deident.learn import train

    limit = _config(None, None, max_bytes).limits.file_bytes
    documents = _gold_notes(inputs, split, carriers, read_as, limit)
    options = train.options_of(learner, _said(settings, costs))
    sources = _sources(adapt, adapt_ner, split, carriers, read_as, limit)
    found: dict[str, Document] = {}
    rows: dict[str, dict[str, dict[str, float]]] = {}
    gold = evaluate.by_id(documents)
    with _passes("fold 1") as told:
        parts = train.cross_validate(
            documents, count, sources=sources, learner=learner, features=features, options=options, bias=bias,
            seed=seed, told=told,
        )  # fmt: skip
        for number, part in enumerate(parts, 1):
            own = evaluate.by_id(part)
            found |= own
            scores = evaluate.score({name: gold[name] for name in own}, own)
            rows[f"fold {number}"] = evaluate.headline(scores)
            told.step(f"fold {number + 1}")
    rows["all"] = evaluate.headline(evaluate.score(gold, found))
    if out is not None:
        batch.write_lines(found.values(), out, lambda doc: _line(jsonl.to_object(doc, text=False)))
    tables = (f"{name}\n{_headline_table(row)}" for name, row in rows.items())
    typer.echo(json.dumps(rows, indent=1) if as_json else "\n\n".join(tables))


@app.command("blend")
def blend_command(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Folders of models.")],
    out: Annotated[Path, typer.Option("-o", "--output", metavar="MODEL", help="Folder of the blend.")],
    how: Annotated[str, typer.Option("--how", help="average, vote or union.")] = "average",
    weights: Annotated[
        list[float] | None, typer.Option("--weight", help="Of each model in turn, for an average; repeatable.")
    ] = None,
    least: Annotated[int, typer.Option("--least", help="How many must agree, for a vote; 0: more than half.")] = 0,
    bias: Bias = 0.0,
) -> None:
    """Join models into one that reads with all of them.

    Example: deident blend crf/ network/ --how average --weight 1 --weight 2 -o both
    """
    from deident.learn import blend, store, train

    store.check_room(out)
    made = blend.of([store.load(folder) for folder in models], how=how, weights=weights or (), least=least)
    store.save(train.biased(made, bias), out)
    typer.echo(f"{out} reads with {len(models)} models ({how})", err=True)


@keys.command("new")
def key_new(file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the key goes.")]) -> None:
    """Make a key file that only you can read. Whoever has it can draw the same stand-ins.

    Example: deident key new study.key
    """
    from deident.surrogates import make_key

    make_key(file)


@keys.callback()
def key_root() -> None:
    pass


# --- the service -----------------------------------------------------------------------------------------------------


@app.command("serve")
def serve_command(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on; default 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="Default 8642; 0 takes any.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, help="Processes; default 1.")] = None,
    token_file: Annotated[
        Path | None, typer.Option("--tokens", help="File of the tokens that let in; see deident token new.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Certificate chain (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Its private key (PEM).")] = None,
    policy_name: PolicyName = None,
    replacement: Replacement = None,
    key_file: Annotated[Path | None, typer.Option("--key-file", help="Of the surrogates.")] = None,
    detectors: Detectors = None,
    roster: Roster = None,
    providers: Providers = None,
    whole_roster: WholeRoster = False,
    patterns: OwnPatterns = None,
    model: Model = None,
    engine: Engine = None,
    recall: Recall = None,
    config_file: ConfigFile = None,
) -> None:
    """Serve detecting and scrubbing over HTTP; the text of requests is neither logged nor kept.

    Without tokens it listens on this machine alone. Further settings stand in docs/service.md.

    Example: deident serve --workers 2
    """
    from dataclasses import replace

    from deident.service import run

    known = {"roster": roster, "providers": providers, "whole_roster": whole_roster}
    learned = {"patterns": patterns, "model": model, "engine": engine, "recall": recall}
    config = _config(config_file, detectors, None, found_by=known | learned)
    config = _scrubbed_by(config, policy_name, replacement, key_file)
    service = _service(config, host, port, token_file, tls_cert, tls_key)
    config = replace(config, service=replace(service, workers=workers or service.workers))
    run.serve(config, said=lambda sentence: typer.echo(f"deident: {sentence}", err=True))


@app.command("mllp")
def mllp_command(
    forward: Annotated[str, typer.Option("--forward", help="HOST:PORT of the receiver.")],
    listen: Annotated[str, typer.Option("--listen", help="HOST:PORT; port 0 takes any.")] = "127.0.0.1:2575",
    remote: Annotated[bool, typer.Option("--remote", help="Other machines may reach it.")] = False,
    read_as: Annotated[str, typer.Option("--from", help="hl7, or hl7:site.toml.")] = "hl7",
    policy_name: PolicyName = None,
    replacement: Replacement = None,
    key_file: Annotated[Path | None, typer.Option("--key-file", help="Of the surrogates and codes.")] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Certificate chain (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Its private key (PEM).")] = None,
    tls_clients: Annotated[
        Path | None,
        typer.Option("--tls-clients", help="Authorities (PEM) of the senders, who must show a certificate."),
    ] = None,
    forward_tls: Annotated[bool, typer.Option("--forward-tls", help="TLS to the receiver.")] = False,
    forward_ca: Annotated[
        Path | None, typer.Option("--forward-ca", help="Authorities (PEM) of the receiver; with TLS to it.")
    ] = None,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=1, help="Largest message.")] = 16 * 1024 * 1024,
    connections: Annotated[int, typer.Option("--connections", min=1, help="Senders at a time.")] = 64,
    answer: Annotated[float, typer.Option("--answer-timeout", help="Seconds that the receiver has to answer.")] = 30.0,
    detectors: Detectors = None,
    roster: Roster = None,
    providers: Providers = None,
    whole_roster: WholeRoster = False,
    patterns: OwnPatterns = None,
    model: Model = None,
    engine: Engine = None,
    recall: Recall = None,
    config_file: ConfigFile = None,
) -> None:
    """Take HL7 v2 messages by MLLP, scrub them, send them on, and answer when the receiver has them.

    A sender is told AA only when the receiver has taken the scrubbed message; otherwise AE (try again) or AR (this
    message can never pass), and nothing of it goes on. See docs/structured.md.

    Example: deident mllp --forward 10.0.0.7:2575 --policy safe-harbor --key-file study.key
    """
    from deident.service import mllp

    known = {"roster": roster, "providers": providers, "whole_roster": whole_roster}
    learned = {"patterns": patterns, "model": model, "engine": engine, "recall": recall}
    config = _config(config_file, detectors, None, found_by=known | learned)
    config = _scrubbed_by(config, policy_name, replacement, key_file)
    secrecy = mllp.Secrecy.of(tls_cert, tls_key, tls_clients, forward=forward_tls, forward_ca=forward_ca)
    limits = mllp.Limits(message=max_bytes, connections=connections, answer=answer)
    places = mllp.Address.of(listen), mllp.Address.of(forward)
    door = mllp.Door(*places, form=read_as, remote=remote, limits=limits, secrecy=secrecy)
    mllp.serve(config, door, said=lambda sentence: typer.echo(f"deident: {sentence}", err=True))


@app.command("review")
def review_command(
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="File of the project, or the URL of a database.")],
    add: Annotated[
        list[Path] | None, typer.Option("--add", help="Notes to bring in: file or folder; repeatable.")
    ] = None,
    read_as: From = None,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the settled notes there, and do not serve.")
    ] = None,
    to: Annotated[str, typer.Option("--to", help="Format of what is written.")] = "jsonl",
    half: Annotated[bool, typer.Option("--half", help="Also notes that wait for their second reader.")] = False,
    serve: Annotated[bool, typer.Option(help="Serve the page.")] = True,
    twice: Annotated[float, typer.Option(help="Of a new project: share of notes that two read blindly.")] = 0.3,
    bare: Annotated[float, typer.Option(help="Of a new project: share shown without pre-annotation.")] = 0.1,
    held: Annotated[float, typer.Option(help="Of a new project: share kept from training.")] = 0.2,
    at_once: Annotated[int, typer.Option("--batch", help="Of a new project: how many notes are queued at once.")] = 20,
    seed: Annotated[int, typer.Option(help="Of a new project: which notes these are.")] = 1,
    models: Annotated[
        Path | None, typer.Option("--models", help="Folder of its models; default PROJECT.models")
    ] = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on; default 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="Default 8643; 0 takes any.")] = None,
    token_file: Annotated[
        Path | None, typer.Option("--tokens", help="File of the tokens that let in; readers are known by them.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="Certificate chain (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="Its private key (PEM).")] = None,
    policy_name: PolicyName = None,
    replacement: Replacement = None,
    key_file: Annotated[Path | None, typer.Option("--key-file", help="Of the surrogates.")] = None,
    detectors: Detectors = None,
    roster: Roster = None,
    providers: Providers = None,
    whole_roster: WholeRoster = False,
    patterns: OwnPatterns = None,
    model: Model = None,
    config_file: ConfigFile = None,
    max_bytes: MaxBytes = None,
) -> None:
    """Read notes in the browser, correct what was found, agree, and train on it; see docs/review.md.

    Example: deident review ward.review --add notes/
    """
    from dataclasses import replace

    from deident import batch
    from deident.review import serve as reviewing
    from deident.review.store import Settings

    known = {"roster": roster, "providers": providers, "whole_roster": whole_roster}
    config = _config(config_file, detectors, max_bytes, found_by=known | {"patterns": patterns, "model": model})
    config = _scrubbed_by(config, policy_name, replacement, key_file)
    config = reviewing.with_port(
        replace(config, service=_service(config, host, None, token_file, tls_cert, tls_key)), port
    )
    opened = reviewing.open_project(project, Settings(twice, bare, held, at_once, seed=seed))
    learner = reviewing.learner(opened, config, project, models)
    failures: list[Failure] = []
    if add:
        found = _progress(batch.documents(add, read_as, limit=config.limits.file_bytes), "add")
        new, there = reviewing.add(opened, learner.annotator(), found, failures)
        typer.echo(f"{new} notes brought in, {there} were there already", err=True)
        _report(failures)
    if export is not None:
        outcome = batch.Outcome()
        reviewing.export(opened, to, export, half=half, outcome=outcome)
        _close(outcome, "wrote")
    elif serve:
        reviewing.serve(opened, config, learner, said=lambda said: typer.echo(f"deident: {said}", err=True))
    opened.close()
    if failures:
        raise typer.Exit(1)


def _service(
    config: "Config", host: str | None, port: int | None, tokens: Path | None, cert: Path | None, key: Path | None
) -> "Service":
    """The settings of the service, with what the command line says put over them."""
    from dataclasses import replace

    given = {"host": host, "port": port}
    files = {"tokens": tokens, "tls_cert": cert, "tls_key": key}
    said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    said |= {name: str(value) for name, value in files.items() if value is not None}
    return replace(config.service, **said)


TokenFile = Annotated[Path, typer.Option("--file", help="File of the tokens.")]


@tokens.command("new")
def token_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is.")],
    role: Annotated[str, typer.Option("--role", help="scrub, review, or admin for both.")] = "scrub",
    file: TokenFile = Path("tokens.json"),
) -> None:
    """Make a token and print it, this once: the file holds its hash.

    Example: deident token new ward-7 --role scrub --file tokens.json
    """
    from deident.service import access

    typer.echo(access.new(file, name=name, role=role))


@tokens.command("list")
def token_list(file: TokenFile = Path("tokens.json"), as_json: AsJson = False) -> None:
    """Show whose tokens there are, and what each may do.

    Example: deident token list
    """
    from deident.service import access

    rows = access.listed(access.read(file))
    if as_json:
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    typer.echo(_table(("name", "role", "id", "made"), [(r["name"], r["role"], r["id"], r["created"]) for r in rows]))


@tokens.command("revoke")
def token_revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name, or its id.")],
    file: TokenFile = Path("tokens.json"),
) -> None:
    """Take a token away; a service that runs lets it in no more.

    Example: deident token revoke ward-7
    """
    from deident.service import access

    access.revoke(file, name)


@policies.command("list")
def policy_list() -> None:
    """The built-in policies, one a line.

    Example: deident policy list
    """
    from deident import policy

    for name in policy.names():
        typer.echo(f"{name:<22}{policy.load(name).title}")


@policies.command("show")
def policy_show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A built-in policy, or the TOML file of one.")],
    as_json: AsJson = False,
) -> None:
    """What becomes of each label, how removed ones may be shown, and what the policy is for.

    Example: deident policy show safe-harbor
    """
    from deident import policy

    found = policy.load(name)
    if as_json:
        typer.echo(json.dumps(found.to_json(), indent=1))
        return
    rows = [(label.value, action.value, label.safe_harbor or "–") for label, action in found.actions.items()]
    typer.echo(f"{found.name}: {found.title}\n\n{found.about}\n")
    for key, value in found.to_json().items():
        if key in ("rule", "extends", "staff", "census", "allows") and value:
            typer.echo(f"{key:<8} {', '.join(value) if isinstance(value, list) else value}")
    typer.echo("\n" + _table(("label", "treatment", "Safe Harbor item"), rows))


VaultFile = Annotated[Path, typer.Argument(metavar="VAULT", help="The file that scrub --vault wrote.")]
VaultKey = Annotated[Path | None, typer.Option("--key-file", help="Key file that opens it.")]
VaultPassphrase = Annotated[
    Path | None, typer.Option("--passphrase-file", help="File of its passphrase; asked for where neither is given.")
]


@vaults.command("lookup")
def vault_lookup(
    file: VaultFile,
    stand_in: Annotated[str, typer.Argument(metavar="[TEXT]", help="What stands in the scrubbed note.")] = "",
    note: Annotated[str, typer.Option("--note", help="Only in the note of this id.")] = "",
    key_file: VaultKey = None,
    passphrase_file: VaultPassphrase = None,
    as_json: AsJson = False,
) -> None:
    """Say what stood where TEXT stands now; the vault notes who asked, and when.

    Example: deident vault lookup study.vault "[PATIENT-1]" --note n17 --key-file vault.key
    """
    from deident.vault import Vault

    found = Vault(file, _vault_secret(key_file, passphrase_file)).lookup(stand_in=stand_in, note=note)
    if as_json:
        typer.echo(json.dumps([entry.to_json() for entry in found], indent=1, ensure_ascii=False))
    else:
        for entry in found:
            place = f"{entry.note}  {entry.start}..{entry.end}  {entry.label}"
            typer.echo(f"{place}  {entry.stand_in}  ← {entry.original}  (patient {entry.patient or 'unknown'})")
    typer.echo(f"{len(found)} entries", err=True)
    if not found:
        raise typer.Exit(1)


@vaults.command("export")
def vault_export(
    file: VaultFile,
    out: Annotated[Path, typer.Option("-o", "--output", help="JSON lines, readable by you alone.")],
    key_file: VaultKey = None,
    passphrase_file: VaultPassphrase = None,
) -> None:
    """Write everything that the vault holds, as it was: keep the file where the notes are kept.

    Example: deident vault export study.vault -o mapping.jsonl --key-file vault.key
    """
    from deident import batch
    from deident.vault import Vault

    if out.exists():
        raise UsageError(f"{out} exists already")
    found = Vault(file, _vault_secret(key_file, passphrase_file)).export()
    with batch.replacing(out, private=True) as stream:
        stream.writelines(_line(entry.to_json()) for entry in found)
    typer.echo(f"{len(found)} entries", err=True)


@vaults.command("rotate")
def vault_rotate(
    file: VaultFile,
    key_file: VaultKey = None,
    passphrase_file: VaultPassphrase = None,
    new_key_file: Annotated[
        Path | None, typer.Option("--new-key-file", help="Key file that opens it from now.")
    ] = None,
    new_passphrase_file: Annotated[Path | None, typer.Option("--new-passphrase-file", help="Or a passphrase.")] = None,
) -> None:
    """Seal the vault anew under another key; the old one opens it no more.

    Example: deident vault rotate study.vault --key-file vault.key --new-key-file next.key
    """
    from deident.vault import Secret, Vault

    opened = Vault(file, _vault_secret(key_file, passphrase_file))
    count = opened.rotate(Secret.of_files(new_key_file or "", new_passphrase_file or ""))
    typer.echo(f"{count} entries sealed anew", err=True)


@vaults.command("log")
def vault_log(
    file: VaultFile,
    key_file: VaultKey = None,
    passphrase_file: VaultPassphrase = None,
    as_json: AsJson = False,
) -> None:
    """Show who looked, exported or rotated, when, and how many entries that was; and how many there are.

    Example: deident vault log study.vault --key-file vault.key
    """
    from deident.vault import Vault

    count, rows = Vault(file, _vault_secret(key_file, passphrase_file)).log()
    if as_json:
        named = [dict(zip(("time", "user", "what", "entries"), row, strict=True)) for row in rows]
        typer.echo(json.dumps({"entries": count, "log": named}, indent=1))
        return
    typer.echo(_table(("time", "user", "what", "entries"), [(*row[:3], str(row[3])) for row in rows]))
    typer.echo(f"{count} entries", err=True)


def _vault_secret(key_file: Path | None, passphrase_file: Path | None) -> "Secret":
    from deident.vault import Secret

    if key_file is None and passphrase_file is None:
        return Secret.of_passphrase(typer.prompt("Passphrase", hide_input=True, err=True))
    return Secret.of_files(key_file or "", passphrase_file or "")


Corpora = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Corpora; all by default.")]
Carrier = Annotated[Path | None, typer.Option("--carrier", help="The file of other people's texts it annotates.")]


@corpora.command("stats")
def corpus_stats(names: Corpora = None, as_json: AsJson = False) -> None:
    """Count notes, tokens and spans of each type, by corpus and split.

    Example: deident corpus stats --json
    """
    from deident import corpus
    from deident.corpus import stats

    numbers = stats.statistics([corpus.name(name) for name in names] if names else corpus.NAMES)
    if as_json:
        typer.echo(json.dumps(numbers, indent=1))
        return
    columns = [(name, split, row) for name, splits in numbers.items() for split, row in splits.items()]
    types = sorted({label for _, _, row in columns for label in row["spans"]})
    rows = [
        ("split", *(split for _, split, _ in columns)),
        ("notes", *(str(row["docs"]) for _, _, row in columns)),
        ("tokens", *(str(row["tokens"]) for _, _, row in columns)),
        ("spans", *(str(sum(row["spans"].values())) for _, _, row in columns)),
        *((label, *(str(row["spans"].get(label, 0)) for _, _, row in columns)) for label in types),
    ]
    typer.echo(_table(("", *(name for name, _, _ in columns)), rows))


@corpora.command("build")
def corpus_build(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The corpus to build.")],
    carrier: Carrier = None,
    out: Annotated[Path | None, typer.Option("-o", "--output", help="Default: NAME.jsonl")] = None,
    split: Annotated[str | None, typer.Option(help="Only this split.")] = None,
) -> None:
    """Rebuild a corpus, byte for byte, as JSON lines.

    A stand-off corpus holds only what we inserted, and needs the carrier that holds the rest; a report whose hash is
    not that of the one annotated is refused.

    Example: deident corpus build mtsamples-phi --carrier mtsamples.jsonl
    """
    from deident import batch, corpus
    from deident.document import corpus_hash

    outcome = batch.Outcome()
    kept: list[Document] = []
    found = _kept(corpus.load(name, split=split, carrier=carrier), kept)
    batch.write_as(batch.results(lambda doc: doc, found, outcome), "jsonl", out or Path(f"{name}.jsonl"), outcome)
    _close(outcome, "built")
    typer.echo(f"every note equals by hash the one that was frozen; corpus {corpus_hash(kept)[:16]}", err=True)


@corpora.command("check")
def corpus_check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Corpora; deident-open by default.")
    ] = None,
    carrier: Carrier = None,
) -> None:
    """Look for mistakes of annotation.

    Faults are certain: overlaps, white space at the end of a span. Places to look at may be right: untagged repeats of
    tagged names, slips against the guide. A stand-off corpus is checked with its carrier.

    Example: deident corpus check deident-open
    """
    from deident import corpus
    from deident.corpus import stats

    faults = doubts = 0
    for name in names or [corpus.OWN]:
        for doc in corpus.load(name, carrier=carrier):
            for finding in stats.check(doc):
                faults += finding.fault
                doubts += not finding.fault
                kind = "fault" if finding.fault else "look"
                typer.echo(f"{kind}  {name}  {finding.id}  {finding.start}..{finding.end}  {finding.what}")
    typer.echo(f"{faults} faults, {doubts} places to look at", err=True)
    if faults:
        raise typer.Exit(1)


@corpora.command("agreement")
def corpus_agreement(
    mtsamples: Annotated[Path | None, typer.Option("--mtsamples", help="Carrier of mtsamples-phi.")] = None,
    as_json: AsJson = False,
) -> None:
    """How well two blind readers agree with each other and with gold; stand-off notes need their carrier.

    Example: deident corpus agreement --mtsamples mtsamples.jsonl
    """
    from deident.corpus import stats

    result = stats.agreement({"mtsamples-phi": mtsamples} if mtsamples is not None else {})
    if as_json:
        typer.echo(json.dumps(result, indent=1))
        return
    heads = ("F1", "notes", "token, any label", "token", "strict")
    rows = [(name, str(row.pop("documents")), *map(_figure, row.values())) for name, row in result.items()]
    typer.echo(_table(heads, rows))


@corpora.command("make")
def corpus_make(
    out: Annotated[Path, typer.Option("-o", "--output", help="JSON lines.")] = Path("synthetic.jsonl"),
    count: Annotated[int, typer.Option("--notes", min=1, help="How many.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed makes the same notes.")] = 1,
    carrier: Annotated[
        Path | None,
        typer.Option("--carrier", help="Reports nobody annotated, whose slots are filled for half of them."),
    ] = None,
    told: Annotated[
        bool, typer.Option("--report", help="Print how various they are, and what they share with dev.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make synthetic notes with exact gold, for training.

    With a carrier, half of the notes are reports of it that no corpus annotates, their blanked slots, dates and ages
    filled and heads, feet and histories put to them; the others take in sentences of these reports. --report counts,
    for each type, the spans, their different contexts and texts, and tells how many 5-grams of tokens stand in the
    dev notes of deident-open too.

    Example: deident corpus make --notes 5000 --seed 1 --report
    """
    from deident import batch, corpus
    from deident.corpus import carriers, make

    outcome = batch.Outcome()
    reports = carriers.reports(carrier) if carrier is not None else ()
    sentences = carriers.sentences(reports)
    made = _progress(make.notes(count, seed=seed, sentences=sentences, reports=reports), "make")
    kept: list[Document] = []
    batch.write_as(batch.results(lambda doc: doc, _kept(made, kept) if told else made, outcome), "jsonl", out, outcome)
    if told:
        found = make.variety(kept, corpus.load(corpus.OWN, split="dev"))
        typer.echo(json.dumps(found.to_json(), indent=1) if as_json else _variety_table(found))
    _close(outcome, "made")


def _kept(items: Iterable[T], kept: list[T]) -> Iterator[T]:
    """The items as they come, and each put aside."""
    for item in items:
        kept.append(item)
        yield item


def _variety_table(found: "Variety") -> str:
    rows = [
        (label, str(count), str(found.contexts[label]), str(found.values[label]))
        for label, count in found.spans.items()
    ]
    shared = (
        f"{found.shared_of_synthetic:.2%} of the different 5-grams stand in dev too, {found.shared_of_others:.2%} of"
    )
    table = _table(("", "spans", "contexts", "texts"), rows)
    return "\n".join((table, "", f"{found.layouts} layouts", f"{shared} those of dev"))


@corpora.command("split")
def corpus_split(
    inputs: Inputs,
    out: Annotated[Path, typer.Option("-o", "--output", help="JSON lines: id, split, hash of the text.")],
    shares: Annotated[str, typer.Option(help="Splits and their shares.")] = "train=70,dev=15,test=15",
    seed: Annotated[int, typer.Option(help="Another one gives another division.")] = 1,
    read_as: From = None,
) -> None:
    """Divide notes into splits, patients and near-duplicates kept together, and freeze the division.

    Example: deident corpus split notes/ -o splits.jsonl --shares train=80,test=20
    """
    from deident import batch, corpus
    from deident.corpus import splits

    outcome = batch.Outcome()
    documents = list(batch.results(lambda doc: doc, batch.documents(inputs, read_as), outcome))
    assigned = splits.assign(documents, _shares(shares), seed=seed)
    rows = ({"id": doc.id, "split": assigned[doc.id], "sha256": corpus.digest(doc.text)} for doc in documents)
    with batch.replacing(out) as stream:
        stream.writelines(_line(row) for row in rows)
    _close(outcome, "divided")


@corpora.command("sample")
def corpus_sample(
    inputs: Inputs,
    out: Annotated[Path, typer.Option("-o", "--output", help="JSON lines.")],
    count: Annotated[int | None, typer.Option(min=1, help="How many notes; all that are left by default.")] = None,
    seed: Annotated[int, typer.Option(help="Another one draws other notes.")] = 1,
    read_as: From = None,
) -> None:
    """Draw notes without duplicates: the latest of a patient's visit and kind, and one of near-duplicates.

    Where notes carry a patient and, in meta, visit, kind and date, of each group only the latest stays.

    Example: deident corpus sample notes.jsonl -o sample.jsonl --count 200
    """
    from deident import batch
    from deident.corpus import sampling

    outcome = batch.Outcome()
    documents = list(batch.results(lambda doc: doc, batch.documents(inputs, read_as), outcome))
    kept = sampling.without_near_duplicates(sampling.latest(documents))
    drawn = sampling.draw(kept, count if count is not None else len(kept), seed=seed)
    batch.write_as(drawn, "jsonl", out, outcome)
    typer.echo(f"{len(documents)} notes, {len(kept)} without duplicates, {len(drawn)} drawn", err=True)
    _fail(outcome.failures)


@papers.command("list")
def experiment_list(as_json: AsJson = False) -> None:
    """Name every table and figure that can be made.

    Example: deident experiment list
    """
    from deident import experiments

    titles = {name: made.title for name, made in experiments.experiments().items()}
    lines = "\n".join(f"{name:26}{title}" for name, title in titles.items())
    typer.echo(json.dumps(titles, indent=1) if as_json else lines)


@papers.command("run")
def experiment_run(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Tables and figures, or 'all'.")],
    folder: Annotated[
        Path | None,
        typer.Option("--corpus", metavar="DIR", help="Gold of one's own; by default the corpora of this project."),
    ] = None,
    other: Annotated[
        Path | None, typer.Option("--other", metavar="DIR", help="Gold of another institution, never learned from.")
    ] = None,
    carriers: Carriers = None,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="Where the tables go; what is finished there is kept.")
    ] = Path("papers"),
    fast: Annotated[
        bool, typer.Option("--fast", help="A few notes and passes: to see that all works; its figures say nothing.")
    ] = False,
    said: Annotated[
        list[str] | None, typer.Option("--set", metavar="SIZE=NUMBER", help="A size, as folds=10; repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another one gives other folds, surrogates and draws.")] = 1,
    open_test: Annotated[
        bool, typer.Option("--open-test", help="Open the test split, for the table of every system alone.")
    ] = False,
    read_as: From = None,
    max_bytes: MaxBytes = None,
) -> None:
    """Make tables and figures of the five papers anew, as Markdown, JSON and SVG.

    Without --corpus they are made of deident-open, and of mtsamples-phi and aci-phi where their carriers are given.
    A folder of gold, in any format, may hold the folders train, dev, other and test; without them a fifth of its
    patients are reported on, and the notes of the others are learned from. Exit code 1: some could not be made.

    Example: deident experiment run all --fast -o papers
    Example: deident experiment run thesis-a1 --corpus i2b2-2014/
    """
    from dataclasses import replace

    from deident import experiments

    limit = _config(None, None, max_bytes).limits.file_bytes

    def gold(names: Sequence[str], split: str) -> "tuple[Document, ...]":
        return tuple(_gold_notes(names, split, carriers, read_as, limit))

    if folder is not None:
        data = _own_data(folder, gold, seed, open_test)
    else:
        from deident import corpus

        held = [name for name in corpus.NAMES if name == corpus.OWN or corpus.carried(name, carriers or ())]
        parts = {"train": "train", "dev": "dev", "other": "style"} | ({"test": "test"} if open_test else {})
        data = experiments.Data(" + ".join(held), **{part: gold(held, split) for part, split in parts.items()})
    if other is not None:
        data = replace(data, other=gold([str(other)], "all"))
    sizes = (experiments.FAST if fast else experiments.FULL).changed(_said(said, None))
    lab = experiments.Lab(data, sizes, out, seed=seed, fast=fast)
    outcomes: list[experiments.Outcome] = []
    for outcome in experiments.run(names, lab):
        outcomes.append(outcome)
        how = outcome.reason or ("there already" if outcome.kept else f"{outcome.seconds} s")
        typer.echo(f"{outcome.experiment.name}: {'not run, ' if outcome.reason else ''}{how}", err=True)
    experiments.index(outcomes, lab)
    failed = sum(bool(outcome.reason) for outcome in outcomes)
    typer.echo(f"{len(outcomes) - failed} of {len(outcomes)} made; {out / 'index.md'} lists them", err=True)
    if failed:
        raise typer.Exit(1)


def _own_data(
    folder: Path, gold: "Callable[[Sequence[str], str], tuple[Document, ...]]", seed: int, open_test: bool
) -> "Data":
    """The parts of a folder of gold, by its own folders or else by patient."""
    from deident import experiments
    from deident.learn import train

    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}")
    names = ["train", "dev", "other", *(["test"] if open_test else [])]
    parts = {name: gold([str(folder / name)], "all") for name in names if (folder / name).is_dir()}
    if "train" not in parts:
        kept, held = train.parted(gold([str(folder)], "all"), 0.2, seed=seed)
        parts = {"train": tuple(kept), "dev": tuple(held)}
    elif "dev" not in parts:
        kept, held = train.parted(parts["train"], 0.2, seed=seed)
        parts |= {"train": tuple(kept), "dev": tuple(held)}
    return experiments.Data(folder.name, **parts)


def _shares(text: str) -> dict[str, float]:
    """`train=70,dev=15,test=15`"""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = (piece.strip() for piece in part.partition("="))
        if not name or name in shares or not re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", share):
            raise UsageError("shares are written as train=70,dev=15,test=15, each split once")
        shares[name] = float(share)
    return shares


# --- what the commands share -----------------------------------------------------------------------------------------


def _config(
    file: Path | None, detectors: str | None, max_bytes: int | None, *, found_by: Mapping[str, Any] | None = None
) -> "Config":
    """The settings of the file, with what the command line says put over them."""
    from dataclasses import replace

    from deident import config

    settings = config.load(file) if file is not None else config.Config()
    said: dict[str, Any] = {}
    for name, value in (found_by or {}).items():
        if isinstance(value, list):
            said[name] = tuple(map(str, cast("list[Path]", value)))
        elif value:
            said[name] = str(value) if isinstance(value, Path) else value
    if detectors is not None:
        said["detectors"] = tuple(name.strip() for name in detectors.split(",") if name.strip())
    settings = replace(settings, detect=replace(settings.detect, **said))
    if max_bytes is not None:
        settings = replace(settings, limits=replace(settings.limits, file_bytes=max_bytes))
    return settings


def _gold_notes(
    names: Sequence[str], split: str, carriers: list[Path] | None, read_as: str | None, limit: int
) -> "list[Document]":
    """The notes of corpora of ours, by name, and of files and folders. What cannot be read ends the command."""
    from deident import batch, corpus
    from deident.document import Document, Failure

    found: list[Document] = []
    failures: list[Failure] = []
    for name in names:
        if name in corpus.NAMES and not Path(name).exists():
            carrier = corpus.carried(name, carriers or ())
            found += corpus.load(name, split=None if split == "all" else split, carrier=carrier)
            continue
        for item in batch.documents([Path(name)], read_as, limit=limit):
            if isinstance(item, Document):
                found.append(item)
            else:
                failures.append(item)
    _fail(failures)
    return found


def _sources(
    adapt: list[str] | None, ner: list[Path] | None, split: str, carriers: list[Path] | None, read_as: str | None,
    limit: int,
) -> "list[list[Document]]":  # fmt: skip
    from deident.corpus import general

    notes = [_gold_notes([name], split, carriers, read_as, limit) for name in adapt or []]
    return [*notes, *(general.read(path) for path in ner or [])]


def _said(settings: list[str] | None, costs: list[str] | None) -> dict[str, str]:
    """The learner's options as they were said; --cost is the option `costs`."""
    said: dict[str, str] = {}
    for pair in settings or []:
        name, sign, value = pair.partition("=")
        if not sign:
            raise UsageError(f"--set takes NAME=VALUE, not '{pair}'")
        said[name.strip()] = value.strip()
    return said | ({"costs": ",".join(costs)} if costs else {})


def _headline_table(scores: "Mapping[str, Mapping[str, float]]") -> str:
    rows = [(name, *(_figure(row[key]) for key in "prf")) for name, row in scores.items()]
    return _table(("", "P", "R", "F"), rows) if rows else "not scored: give --dev or --hold"


def _passes_as_lines(whole: int) -> Callable[[int, float], None]:
    """The same for programs; there are `whole` passes at most."""
    return lambda number, loss: typer.echo(json.dumps({"pass": number + 1, "of": whole, "loss": loss}), err=True)


class _Passes:
    """Tells how learning goes on; `shown` puts a line in place of the one before."""

    def __init__(self, name: str, shown: Callable[[str], None]) -> None:
        self._name = name
        self._shown = shown

    def step(self, name: str) -> None:
        self._name = name
        self._shown(name)

    def __call__(self, number: int, loss: float) -> None:
        self._shown(f"{self._name}, pass {number + 1}, loss {loss:.4f}")


@contextmanager
def _passes(name: str) -> Generator[_Passes]:
    """A line on standard error that says how far learning is, where that is a terminal."""
    if not sys.stderr.isatty():
        yield _Passes(name, lambda _: None)
        return
    from rich.console import Console

    with Console(stderr=True).status(name) as status:
        yield _Passes(name, status.update)


def _scrubbed_by(
    settings: "Config",
    policy: str | None,
    replacement: str | None,
    key_file: Path | None,
    as_of: int | None = None,
    spans: str | None = None,
    *,
    fixed_width: bool = False,
) -> "Config":
    from dataclasses import replace

    said = {"policy": policy, "replace": replacement, "as_of": as_of, "spans": spans}
    said |= {"fixed_width": fixed_width or None}
    said["key_file"] = None if key_file is None else str(key_file)
    given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    return replace(settings, scrub=replace(settings.scrub, **given))


def _kept_in(settings: "Config", vault: Path | None, key: Path | None, passphrase: Path | None) -> "Config":
    from dataclasses import replace

    said = {"vault": vault, "vault_key_file": key, "vault_passphrase_file": passphrase}
    given: dict[str, Any] = {name: str(value) for name, value in said.items() if value is not None}
    return replace(settings, scrub=replace(settings.scrub, **given))


def _grouped(settings: "Config", path: str | None, column: str | None, table: Path | None) -> "Config":
    from dataclasses import replace

    said = {"patient_path": path, "patient_column": column, "patient_map": str(table) if table is not None else None}
    given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    return replace(settings, patients=replace(settings.patients, **given))


def _gold_and_systems(
    gold: Path, systems: list[Path], read_as: str | None, system_as: str | None, limit: int
) -> "tuple[dict[str, Document], list[dict[str, Document]], list[Failure]]":
    """Gold and the systems' outputs by id, and what of them could not be read."""
    from deident import batch
    from deident.document import Document, Failure
    from deident.evaluate import by_id

    failures: list[Failure] = []
    unread: set[str] = set()  # of gold: what a system says of them cannot be judged, and is no fault of the system

    def kept(found: Iterable[Document | Failure], where: Path) -> dict[str, Document]:
        documents: list[Document] = []
        for item in found:
            if item.id in unread:
                continue
            if isinstance(item, Failure):
                failures.append(Failure(item.id, f"{where}: {item.reason}"))
            else:
                documents.append(item)
        return by_id(documents)

    documents = kept(batch.documents([gold], read_as, limit=limit), gold)
    if not documents:
        _fail(failures)
        raise UsageError(f"there is no note in {gold}")
    unread.update(failure.id for failure in failures)
    form = system_as or read_as
    outputs = [kept(batch.predictions(path, documents, form, limit=limit), path) for path in systems]
    return documents, outputs, failures


def _official(
    gold: Path, system: Path, read_as: str | None, system_as: str | None, limit: int
) -> "tuple[dict[str, Any], list[Failure]]":
    """The official numbers: from the XML as it stands where both are folders of it, else from the documents read."""
    from deident.evaluate import i2b2

    folders = gold.is_dir() and system.is_dir() and {read_as, system_as} <= {None, "i2b2-2014"}
    failures: list[Failure] = []
    if folders and any(gold.glob("*.xml")):
        numbers, failed = i2b2.evaluate(gold, system)
        failures += failed
        there = [{path.stem for path in folder.glob("*.xml")} for folder in (gold, system)]
    else:
        documents, outputs, failures = _gold_and_systems(gold, [system], read_as, system_as, limit)
        numbers = i2b2.evaluate_documents(documents, outputs[0])
        there = [set(documents), set(outputs[0])]
    alone = len((there[0] ^ there[1]) - {failure.id for failure in failures})
    if alone:
        typer.echo(f"{alone} notes are on one side only: the official script passes over them", err=True)
    return cast("dict[str, Any]", numbers), failures


def _hash(documents: "dict[str, Document]") -> str:
    from deident.document import corpus_hash

    return corpus_hash(documents.values())


def _html(
    file: Path,
    gold: "dict[str, Document]",
    system: "dict[str, Document]",
    failures: "list[Failure]",
    *,
    title: str,
    with_text: bool,
) -> None:
    from datetime import date

    from deident.batch import replacing
    from deident.evaluate import report

    run = report.Run(date.today().isoformat(), " ".join(["deident", *sys.argv[1:]]), _hash(gold))
    page = report.render(gold, system, title=title, failures=failures, run=run, with_text=with_text)
    with replacing(file) as stream:
        stream.write(page.encode("utf-8"))


def _official_table(numbers: "dict[str, Any]") -> str:
    rows = [
        (name, *(_figure(row["micro"][key]) for key in "prf"), *(_figure(row["macro"][key]) for key in "prf"))
        for name, row in numbers.items()
    ]
    return _table(("official i2b2-2014", "micro P", "R", "F", "macro P", "R", "F"), rows)


def _scores_table(scores: "Scores") -> str:
    from deident.evaluate import View

    views = (View.TOKEN_BINARY, View.TOKEN, View.STRICT, View.RELAXED)
    rows: list[tuple[str, ...]] = []
    for name, group in (("all types", scores.overall), ("HIPAA types", scores.hipaa)):
        for view in views:
            micro = group[view].micro
            counts = (micro.tp, micro.fp, micro.fn)
            rows.append(
                (
                    f"{name}, {view.value.replace('_', ' ')}",
                    *map(_figure, (micro.p, micro.r, micro.f)),
                    *map(str, counts),
                )
            )
    for label, group in scores.labels.items():
        micro = group[View.TOKEN].micro
        counts = (micro.tp, micro.fp, micro.fn)
        rows.append((f"{label.value}, token", *map(_figure, (micro.p, micro.r, micro.f)), *map(str, counts)))
    leaks = scores.leaks
    return "\n".join(
        (
            _table(("", "P", "R", "F", "tp", "fp", "fn"), rows),
            "",
            f"notes scored {scores.documents}, of these without output {len(scores.missing)}",
            f"notes without any leak {leaks.documents_clean} of {leaks.documents} ({leaks.clean_share:.1%})",
            f"characters leaked {leaks.leaked} of {leaks.characters} ({leaks.rate:.2%})",
            f"patient names leaked {leaks.patient_names_leaked} of {leaks.patient_names}",
        )
    )


def _comparison_table(result: "dict[str, Any]") -> str:
    rows: list[tuple[str, ...]] = []
    for name, row in result["figures"].items():
        low, high = (_figure(row["bootstrap"][end]) for end in ("low", "high"))
        rows.append(
            (
                name,
                _figure(row["a"]),
                _figure(row["b"]),
                _figure(row["difference"]),
                f"{low}..{high}",
                *(_figure(row[test]["p"]) if row.get(test) else "–" for test in ("randomization", "wilcoxon", "z")),
            )
        )
    heads = ("token level, any label", "A", "B", "A-B", "95% BCa", "p random.", "p Wilcoxon", "p z")
    cells = result["aligned"]["classes"]["PHI"]
    aligned = [
        (name, *(_figure(row[key]) for key in ("sensitivity", "specificity", "accuracy")))
        for name, row in cells.items()
    ]
    return "\n\n".join((_table(heads, rows), _table(("aligned tokens", "sens.", "spec.", "acc."), aligned)))


def _figure(value: float | str | None) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else "–" if value is None else value


def _table(heads: tuple[str, ...], rows: "Iterable[tuple[str, ...]]") -> str:
    """Columns set with blanks: the first to the left, figures to the right."""
    lines = [heads, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _fail(failures: "Sequence[Failure]") -> None:
    _report(failures)
    if failures:
        raise typer.Exit(1)


def _line(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def _progress(items: Iterable[T], what: str) -> Iterator[T]:
    """The items, with a counter on standard error where that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        for item in items:
            yield item
            progress.advance(task)


def _rate(run: "Iterable[Progress]", what: str) -> None:
    """Runs it, and says how fast it is and what is left: always on a terminal, else every half minute."""
    import time

    from deident.batch import Progress

    begun = said = time.monotonic()
    first: Progress | None = None
    shown = sys.stderr.isatty()
    for progress in run:
        first = first or progress
        now = time.monotonic()
        if now - said >= (0.2 if shown else 30):
            said = now
            line = f"{what}: {progress.line(first, now - begun)}"
            sys.stderr.write(f"\r\x1b[K{line}" if shown else f"{line}\n")
            sys.stderr.flush()
    if shown:
        sys.stderr.write("\r\x1b[K")


def _quarantine(file: Path | None, outcome: "Outcome") -> None:
    """What failed, for machines; a file for nobody else, since ids may be identifiers."""
    from deident.batch import replacing

    if file is None:
        return
    with replacing(file, private=True) as stream:
        stream.writelines(_line(_failed(failure)) for failure in outcome.failures)


def _failed(failure: "Failure") -> dict[str, str]:
    return {"id": failure.id, "reason": failure.reason}


def _close(outcome: "Outcome", verb: str) -> None:
    """One line for each failure and one for the whole; exit code 1 where anything failed."""
    _report(outcome.failures)
    blocked = outcome.by_path().get("blocked", {})
    if blocked:
        listed = ", ".join(f"{path} ×{count}" for path, count in blocked.items())
        typer.echo(f"left out, for nobody can judge it: {listed}", err=True)
    failed = f", {len(outcome.failures)} failed" if outcome.failures else ""
    typer.echo(f"{verb} {outcome.done} note{'' if outcome.done == 1 else 's'}{failed}", err=True)
    if outcome.failures:
        raise typer.Exit(1)


def _report(failures: "Iterable[Failure]") -> None:
    for failure in failures:
        typer.echo(f"deident: {failure.id}: {failure.reason}", err=True)


def main() -> None:
    """The entry point: a user's mistake is one sentence and exit code 2."""
    try:
        with _quiet_pipe():
            app()
    except DeidentError as error:
        typer.echo(f"deident: {error}", err=True)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except OSError as error:
        typer.echo(f"deident: {error.filename or 'input'}: {error.strerror}", err=True)
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 (a traceback may quote a note)
        *_, last = traceback.extract_tb(error.__traceback__)
        where = f"{Path(last.filename).name}, line {last.lineno}"
        typer.echo(f"deident: stopped by a {type(error).__name__} in {where}; please report it", err=True)
        sys.exit(1)


@contextmanager
def _quiet_pipe() -> Generator[None]:
    """`deident detect … | head` ends without a traceback when the reader has gone."""
    try:
        yield
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)


if __name__ == "__main__":
    main()
