"""A leak corpus: sentinels that nobody else is called, planted in a record and looked for in what became of it."""

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from deident.config import Config, Detect
from deident.document import Record
from deident.learn.features import RULES
from deident.pipeline import Pipeline, attempt_all
from deident.replace import SURROGATES, treatment
from deident.surrogates import Surrogates

KEY = bytes(range(32))
Corpus = Callable[[], tuple[str, tuple[str, ...]]]  # a record's text, and what was planted in it
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")


def seen(text: str) -> str:
    """A text as somebody reads it who looks for identifiers: files inside it decoded, letters and digits only."""
    found = [text]
    for blob in _BASE64.findall(text):
        try:
            found.append(base64.b64decode(blob, validate=True).decode("utf-8"))
        except (binascii.Error, ValueError):
            continue
    return " ".join("".join(filter(str.isalnum, part)).casefold() for part in found)


def leaked(text: str, sentinels: Iterable[str]) -> list[str]:
    """The sentinels that can be read in a text."""
    searched = seen(text)
    return [sentinel for sentinel in sentinels if "".join(filter(str.isalnum, sentinel)).casefold() in searched]


def scrubbed(pipeline: Pipeline, record: Record) -> Record:
    """The record as the batch runner makes it: whole, or not at all."""
    done, failures = attempt_all(pipeline.scrub, record.documents)
    assert not failures, failures
    return Record(done, record.frame)


def pipeline(replacement: str = "tag") -> Pipeline:
    """The rule detectors and a treatment; its draws are the same in every run."""
    made = Pipeline.from_config(Config(detect=Detect(detectors=("known", *RULES))))
    method = SURROGATES.get(replacement)
    treat = Surrogates(KEY, method).treatment() if method is not None else treatment(replacement)
    return replace(made, treatment=treat, secret=KEY)
