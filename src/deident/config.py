"""One TOML file read into one frozen value; a key that does not exist, or a value of the wrong kind, is an error.

[detect]
detectors = ["known", "patterns", "nlm"]
patterns = ["our-patterns.toml"]

[scrub]
policy = "safe-harbor"
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast, get_type_hints

from deident.errors import ConfigError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Detect:
    """Who looks, with what; then how their finds are joined."""

    detectors: tuple[str, ...] = ("known", "learned")  # who looks; `docs/detectors.md` says what each finds
    engine: str = "balanced"  # which of the shipped models "learned" reads with: fast, balanced, max
    patterns: tuple[str, ...] = ()  # pattern files of the user's own
    roster: str = ""  # CSV of known patients
    providers: str = ""  # CSV of a site's providers, whose names hold for all notes
    whole_roster: bool = False  # whether every row of the roster holds for all notes, not only its patient's
    llm_url: str = ""  # address of a language model on a machine of one's own, for the detector "llm"
    llm_model: str = ""  # what that model is called there
    model: str = ""  # folder of a trained model, for the detector "learned", in place of a shipped one
    recall: float = 0.0  # the share of identifiers wanted found, by the model's curve; 0: where it is set
    names: str = "all"  # whose known names are used: none, patient, all
    least: float = 0.0  # finds of a lower score are dropped
    overlaps: str = "longest"  # whose label stands where finds overlap
    steps: tuple[str, ...] = ("correct", "trust", "reconcile")  # what mends the joined finds, in this order


@dataclass(frozen=True, slots=True)
class Patients:
    """Whose note it is, where the format does not say; one of the three (`patients.py`)."""

    patient_path: str = ""  # a pattern of the note's path: "{patient}/*"
    patient_column: str = ""  # a field of the note's meta, or a column of its table
    patient_map: str = ""  # a CSV file: note_id,patient_id


@dataclass(frozen=True, slots=True)
class Scrub:
    """What stands in place of an identifier."""

    policy: str = ""  # a built-in policy or the file of one; without it everything that is found is replaced
    replace: str = ""  # how what is removed is shown: tag (the default), number, mask, null, surrogate, syllables …
    key_file: str = ""  # of the surrogates; without it (and without a policy) a key is drawn for the run and forgotten
    as_of: int = 0  # the year in which ages are told from years of birth; the present one by default
    fixed_width: bool = False  # whether what is put is as long as what was there
    vault: str = ""  # an encrypted file that keeps what was replaced, for the way back
    vault_key_file: str = ""  # key file that opens the vault; or else
    vault_passphrase_file: str = ""  # the file of a passphrase
    spans: str = "tags"  # which spans the output carries: all, none, or tags: those that no stand-in hides


@dataclass(frozen=True, slots=True)
class Limits:
    """What a single file may hold before it is refused, in bytes."""

    file_bytes: int = 64 * 1024 * 1024  # of a file, or of a record of one that is read record by record; unpacked


@dataclass(frozen=True, slots=True)
class Service:
    """The HTTP service: where it listens, who may come in, and how much each may ask (`docs/service.md`)."""

    host: str = "127.0.0.1"  # address it listens on; any but loopback needs tokens
    port: int = 8642  # the port it listens on
    workers: int = 1  # processes that answer, which share what is loaded
    tokens: str = ""  # file of the tokens that let in; without one, whoever reaches the port may come in
    hosts: tuple[str, ...] = ()  # names by which browsers may call it, besides localhost and `host`
    formats: tuple[str, ...] = ()  # those with an option of the site, such as "hl7:site.toml"
    tls_cert: str = ""  # certificate (PEM) to speak TLS with
    tls_key: str = ""  # its key
    request_bytes: int = 16 * 1024 * 1024  # of a body, or of one line of a stream
    stream_bytes: int = 1024 * 1024 * 1024  # of all lines of a stream
    held_bytes: int = 64 * 1024 * 1024  # of results whose reader is still busy sending
    per_minute: int = 6000  # requests of one token, or address
    waiting: int = 64  # requests of a worker that wait for their turn
    body_seconds: int = 30  # until the next piece of a body must have come
    stop_seconds: int = 30  # that requests in flight have to end


def _none() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Review:
    """The review page (`docs/review.md`)."""

    learner: str = "crf"  # what *Retrain* trains
    adapt: tuple[str, ...] = ("deident-open",)  # what a model learns from beside the notes that were read
    keys: Mapping[str, str] = field(
        default_factory=_none, hash=False
    )  # of the keyboard, in place of those that are set
    label_keys: Mapping[str, str] = field(default_factory=_none, hash=False)  # the same, for giving a type

    def __reduce__(self) -> tuple[type["Review"], tuple[Any, ...]]:
        # settings go to other processes, and a proxy cannot be pickled
        return Review, (self.learner, self.adapt, dict(self.keys), dict(self.label_keys))


@dataclass(frozen=True, slots=True)
class Config:
    detect: Detect = field(default_factory=Detect)
    scrub: Scrub = field(default_factory=Scrub)
    patients: Patients = field(default_factory=Patients)
    limits: Limits = field(default_factory=Limits)
    service: Service = field(default_factory=Service)
    review: Review = field(default_factory=Review)


def load(path: Path) -> Config:
    """The settings of a file; what it does not say keeps its default."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no configuration file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    return build(Config, data, where=str(path))


def build(kind: type[T], data: Mapping[str, Any], *, where: str) -> T:
    """A frozen value from a mapping, recursively, refusing what `kind` does not have."""
    hints = get_type_hints(kind)
    known = [item.name for item in fields(cast(Any, kind))]
    for key in data:
        if key not in known:
            raise ConfigError(f"{where}: unknown key '{key}'; there are: {', '.join(known)}")
    return kind(**{key: _value(hints[key], value, where=f"{where}: {key}") for key, value in data.items()})


def _value(hint: Any, value: Any, *, where: str) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where} must be a table")
        return build(hint, cast(Mapping[str, Any], value), where=where)
    if hint == tuple[str, ...]:
        items = cast(list[object], value) if isinstance(value, list) else None
        if items is None or not all(isinstance(item, str) for item in items):
            raise ConfigError(f"{where} must be a list of strings")
        return tuple(cast(list[str], items))
    if hint == Mapping[str, str]:
        pairs = cast(dict[str, object], value) if isinstance(value, dict) else None
        if pairs is None or not all(isinstance(item, str) for item in pairs.values()):
            raise ConfigError(f"{where} must be a table of strings")
        return MappingProxyType(cast(dict[str, str], pairs))
    # bool is an int to Python, but `true` is no number of bytes
    kind = cast(type, hint)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"{where} must be of type {kind.__name__}")
    return value
