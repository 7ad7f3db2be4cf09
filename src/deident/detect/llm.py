"""What a language model finds that runs on a machine of one's own and speaks the OpenAI protocol (llama.cpp, vLLM,
Ollama …).

The model is asked for the identifiers as they are written and the number of their line, since it cannot count
characters; the offsets are found here. What it gives and the note does not hold is refused: it is told so once, and if
it does not mend it the document fails, since something that it took for an identifier would stay.

No address is built in, a machine outside the own network is refused, proxies and redirections are not followed.
"""

import ipaddress
import json
import os
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast
from urllib.parse import urlsplit

from deident import labels
from deident.document import Document, Span
from deident.errors import ProcessingError, UnknownNameError, UsageError
from deident.labels import Label

KEY = "DEIDENT_LLM_KEY"  # the variable that holds the endpoint's key, where it wants one
SCORE = 0.9
_SECONDS = 300.0
_MOST = 4 << 20  # bytes of an answer
_SEGMENT = 600  # characters of a line that has one number
_PART = 6000  # characters of a note that are asked about at once
_REACH = 200  # characters behind its line into which an identifier may run on

_ASK = f"""You find identifiers of people in clinical notes. Each line of the note begins with its number and a bar.
Answer with one JSON object and nothing else:
{{"spans": [{{"line": 3, "text": "Ada Okoro", "label": "PATIENT"}}]}}
"text" is copied from the line exactly as it is written, without the number; a text that stands in several lines is
given for each. "label" is one of: {", ".join(label.value for label in labels.TYPES)}.
Names of patients, of their families and of staff; every part of an address, hospitals, wards, rooms, employers,
schools; all dates and ages; telephone, fax, e-mail, web and network addresses; numbers of any kind that belong to a
person, a device or an account; professions. Not: medicines, diseases, measurements, titles, times of day.
If there is none, answer {{"spans": []}}."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A line of the note, or a part of a very long one: what has one number."""

    start: int
    end: int


@dataclass(frozen=True)
class Endpoint:
    """Where the model is, and what it is called there."""

    url: str
    model: str
    seconds: float = _SECONDS

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError("the address of the language model must be like http://localhost:8080/v1")

    @cached_property
    def checked(self) -> str:
        """The address to ask at; one outside the own network is refused."""
        host = urlsplit(self.url).hostname or ""
        try:
            found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
        except OSError:
            raise UsageError(f"the machine of the language model, {host}, cannot be found") from None
        if not all(_own(address) for address in found):
            raise UsageError(f"{host} is no machine of the own network: notes are not sent there")
        return self.url.rstrip("/") + "/chat/completions"

    def ask(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The model's answer."""
        body = json.dumps({"model": self.model, "messages": list(messages), "temperature": 0, "stream": False})
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(KEY):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(  # noqa: S310 (http and https only, checked above)
            self.checked, body.encode("utf-8", "replace"), headers
        )
        try:
            with _opener().open(request, timeout=self.seconds) as stream:
                answer = json.loads(stream.read(_MOST))
            return str(answer["choices"][0]["message"]["content"])
        except urllib.error.HTTPError as error:
            raise ProcessingError(f"the language model's machine answered {error.code}") from None
        except (urllib.error.URLError, OSError):
            raise ProcessingError("the language model's machine cannot be reached, or took too long") from None
        except (ValueError, KeyError, IndexError, TypeError):
            raise ProcessingError(
                "the language model's machine answered something else than the protocol has"
            ) from None


def _own(address: str) -> bool:
    found = ipaddress.ip_address(address.split("%")[0])
    return found.is_loopback or (found.is_private and not found.is_unspecified)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        del req, fp, code, msg, headers, newurl


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)


@dataclass(frozen=True, slots=True)
class Said:
    """One identifier as the model gave it."""

    line: int
    text: str = field(repr=False)
    label: Label


@dataclass
class LanguageModel:
    """The detector of one model on one machine."""

    endpoint: Endpoint
    name: str = "llm"

    def detect(self, doc: Document) -> Iterator[Span]:
        numbered = segments(doc.text)
        for part in _parts(numbered):
            shown = "\n".join(f"{at}| {doc.text[numbered[at].start : numbered[at].end]}" for at in part)
            if shown and any(numbered[at].start < numbered[at].end for at in part):
                yield from self._found(doc.text, numbered, part, shown)

    def _found(self, text: str, numbered: list[Segment], part: range, shown: str) -> list[Span]:
        messages = [{"role": "system", "content": _ASK}, {"role": "user", "content": shown}]
        refused = ""
        for _ in range(2):
            answer = self.endpoint.ask(messages)
            said = parse(answer)
            if said is None:
                refused = "answered something else than the JSON it was asked for"
                complaint = "That is not the JSON object that was asked for. Give it, and nothing else."
            else:
                aligned = [align(text, numbered, part, one) for one in said]
                wrong = [one for one, places in zip(said, aligned, strict=True) if not places]
                if not wrong:
                    return [span for places in aligned for span in places]
                refused = f"gave {len(wrong)} of {len(said)} spans that do not stand in the note"
                listed = json.dumps([{"line": one.line, "text": one.text} for one in wrong], ensure_ascii=False)
                complaint = (
                    f"These texts do not stand in their lines as written: {listed}. Give the whole JSON object again, "
                    "each text copied exactly, and leave out what is not there."
                )
            messages = [
                *messages[:2],
                {"role": "assistant", "content": answer},
                {"role": "user", "content": complaint},
            ]
        raise ProcessingError(f"the language model {refused}")

    def why(self, span: Span) -> str:
        return f"the language model {self.endpoint.model} says that this is {span.label}"


def segments(text: str) -> list[Segment]:
    """The lines of a text; long ones are cut at blanks."""
    found: list[Segment] = []
    for line in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n|$)", text):
        start, end = line.start(), line.start() + len(line[0].rstrip("\r\n"))
        while end - start > _SEGMENT:
            blank = text.rfind(" ", start + _SEGMENT // 2, start + _SEGMENT)
            cut = blank if blank > 0 else start + _SEGMENT
            found.append(Segment(start, cut))
            start = cut
        if line[0]:
            found.append(Segment(start, end))
    return found


def _parts(numbered: Sequence[Segment]) -> Iterator[range]:
    """Segments that are asked about at once, by number."""
    first, size = 0, 0
    for at, segment in enumerate(numbered):
        size += segment.end - segment.start + 8
        if size > _PART and at > first:
            yield range(first, at)
            first, size = at, segment.end - segment.start + 8
    if first < len(numbered):
        yield range(first, len(numbered))


_FENCED = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


def parse(answer: str) -> list[Said] | None:
    """What an answer says, thinking aloud and fences apart; none where it is not as it was asked for.

    A label that we do not have becomes OTHER: it is taken for an identifier all the same.
    """
    fenced = _FENCED.search(answer)
    text = fenced[1] if fenced else answer.rpartition("</think>")[2]
    try:
        whole = json.loads(text)
        entries = cast("list[dict[str, Any]]", whole["spans"])
        return [Said(int(entry["line"]), str(entry["text"]), _label(str(entry["label"]))) for entry in entries]
    except (ValueError, KeyError, TypeError):
        return None


def _label(name: str) -> Label:
    try:
        return labels.parse(name)
    except UnknownNameError:
        return Label.OTHER


def align(text: str, numbered: Sequence[Segment], part: range, said: Said) -> list[Span]:
    """Where it stands: at every place that begins in its line, or else at every place in this part of the note.

    White space may differ, nothing else may; and it is no piece of a longer word or number.
    """
    words = said.text.split()
    if not words:
        return []
    before = r"(?<!\w)" if words[0][0].isalnum() else ""
    behind = r"(?!\w)" if words[-1][-1].isalnum() else ""
    pattern = re.compile(before + r"\s+".join(map(re.escape, words)) + behind)
    if said.line in part:
        line = numbered[said.line]
        found = list(pattern.finditer(text, line.start, min(len(text), line.end + _REACH)))
        inside = [match for match in found if match.start() < line.end]
        if inside:
            return [Span(match.start(), match.end(), said.label, "llm", SCORE) for match in inside]
    start, end = numbered[part[0]].start, min(len(text), numbered[part[-1]].end + _REACH)
    return [Span(match.start(), match.end(), said.label, "llm", SCORE) for match in pattern.finditer(text, start, end)]


def detector(*, llm_url: str = "", llm_model: str = "") -> LanguageModel:
    """llm_url: the address of an endpoint on a machine of one's own; llm_model: what the model is called there."""
    if not llm_url or not llm_model:
        raise UsageError(
            "the detector 'llm' asks a language model on a machine of yours: say its address and its name "
            "([detect] llm_url, llm_model)"
        )
    endpoint = Endpoint(llm_url, llm_model)
    _ = endpoint.checked  # a wrong address is the user's mistake, not the first document's
    return LanguageModel(endpoint)
