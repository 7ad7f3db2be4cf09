r"""Rich Text Format, read only: what it says as plain text. Say `--to text`, or another format.

The text is the document with its changes accepted; behind it come, each under a line of its own, `HEADER`, `FOOTER`,
`FOOTNOTES`, `COMMENTS`, and `DELETED` for deletions that somebody may still bring back, as in `docx`. Text boxes
follow the paragraph they stand in. Hidden text is text. Properties, pictures, objects and field codes do not come
along.

Rich Text Format Specification 1.9.1: groups in braces inherit the state of the group around them; `\'e9` is a byte in
the code page of the font, `\u233` a UTF-16 unit followed by `\uc` signs for older readers; `{\*\word` is a destination
that whoever does not know it passes over.
"""

import re
from dataclasses import dataclass, field, replace

from deident.document import Document, Record
from deident.errors import FormatError
from deident.formats import Files

SUFFIXES = (".rtf",)
_START = b"{\\rtf"

_TOKEN = re.compile(
    rb"""
    \\(?P<word>[A-Za-z]{1,32})(?P<number>-?[0-9]{1,10})?[ ]?   # \par, \fs24, and the blank that ends it
  | \\'(?P<byte>[0-9A-Fa-f]{2})                               # \'e9
  | \\(?P<sign>[^A-Za-z'])                                    # \~, \{, \*
  | (?P<brace>[{}])
  | (?P<line>[\r\n]+)                                         # means nothing
  | (?P<text>[^\\{}\r\n]+)
    """,
    re.VERBOSE | re.DOTALL,
)

_SAID = {"par": "\n", "line": "\n", "sect": "\n", "page": "\n", "column": "\n", "row": "\n", "tab": "\t",
    "cell": "\t", "nestcell": "\t", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’",
    "ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " ", "qmspace": " "}  # fmt: skip
_SIGNS = {"~": "\u00a0", "_": "\u2011", "\n": "\n", "\r": "\n", "\t": "\t"}
_ITSELF = (b"{", b"}", b"\\")  # which may also be the second byte of a Japanese sign

# Destinations that say something behind the text; what is in those of _SILENT does not come along.
_SECTIONS = {"header": "HEADER", "headerl": "HEADER", "headerr": "HEADER", "headerf": "HEADER", "footer": "FOOTER",
    "footerl": "FOOTER", "footerr": "FOOTER", "footerf": "FOOTER", "footnote": "FOOTNOTES",
    "annotation": "COMMENTS"}  # fmt: skip
_ORDER = ("HEADER", "FOOTER", "FOOTNOTES", "COMMENTS", "DELETED")
_THROUGH = frozenset({"shpinst"})  # starred, and yet on the way to text
_SILENT = frozenset({"fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "fldinst", "sp", "shprslt",
    "nonesttables", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "nonshppict", "xe", "tc", "rxe",
    "txe"})  # fmt: skip

# Code pages by the number of a font's set of signs (\fcharset); 2 are fonts of symbols.
_CHARSETS = {0: 1252, 77: 10000, 128: 932, 129: 949, 130: 1361, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258,
    177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850}  # fmt: skip
_CODECS = {10000: "mac-roman", 65001: "utf-8", 1361: "johab"}
_NAMED = {"ansi": 1252, "mac": 10000, "pc": 437, "pca": 850}
_SYMBOL = "symbol"
_DEEPEST = 1000


@dataclass(frozen=True, slots=True)
class _State:
    """What a group inherits from the one around it."""

    section: str = ""  # "" is the body
    silent: bool = False
    gone: bool = False  # deleted
    moved: bool = False  # to where it stands a second time
    box: bool = False
    fonts: bool = False  # in the table of fonts
    codec: str = "cp1252"
    signs: int = 1  # behind a \u, for older readers


@dataclass(slots=True)
class _Texts:
    """What is said, by section. Text boxes wait for the end of the paragraph that holds them."""

    sections: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    boxes: list[str] = field(default_factory=list[str])

    def add(self, text: str, state: _State) -> None:
        if state.silent or state.moved:
            return
        if state.box:
            self.boxes.append(text)
            return
        parts = self.sections.setdefault("DELETED" if state.gone else state.section, [])
        parts.append(text)
        if text == "\n" and self.boxes and not state.gone:
            parts += ["".join(self.boxes).strip("\n"), "\n"]
            self.boxes = []

    def whole(self) -> str:
        told = ["".join([*self.sections.get("", []), *self.boxes]).strip("\n")]
        for section in _ORDER:
            said = "".join(self.sections.get(section, [])).strip("\n")
            told += [f"{section}\n{said}"] if said else []
        return "\n\n".join(part for part in told if part) + "\n"


def sniff(_suffix: str, head: bytes) -> bool:
    return head.startswith(_START)


def read(files: Files, *, name: str) -> Record:
    data = files[".rtf"]
    if not data.startswith(_START):
        raise FormatError("not Rich Text Format")
    return Record((Document(name, _Reader(data).text()),))


def _codec(page: int) -> str:
    """The name of a code page in Python."""
    name = _CODECS.get(page, f"cp{page}")
    try:
        "".encode(name)
    except LookupError:
        raise FormatError(f"a code page that nobody knows: {page}") from None
    return name


class _Reader:
    """One pass over the tokens."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._texts = _Texts()
        self._state = _State()
        self._around: list[_State] = []
        self._page = "cp1252"  # of fonts that say none
        self._fonts: dict[int, str] = {}
        self._font = self._default_font = 0
        self._starred = False
        self._left = 0  # signs to pass over behind a \u
        self._bytes = bytearray()  # in the code page, not decoded yet
        self._half = 0  # the first half of a surrogate pair

    def text(self) -> str:
        position = 0
        while True:
            match = _TOKEN.match(self._data, position)
            if match is None:
                raise FormatError("it is cut off, or damaged")
            position = match.end() + self._token(match)
            if not self._around:
                break
        if self._data[position:].strip(b"\0 \t\r\n"):
            raise FormatError("something stands behind the end of the document")
        return self._texts.whole()

    def _token(self, match: re.Match[bytes]) -> int:
        """Takes one token in; how many bytes behind it are no text (\bin)."""
        if match["text"] is not None:
            raw = match["text"]
            passed = min(self._left, len(raw))
            self._left -= passed
            self._bytes += raw[passed:]
        elif match["byte"] is not None:
            if not self._passes():
                self._bytes.append(int(match["byte"], 16))
        elif match["sign"] in _ITSELF:
            if not self._passes():
                self._bytes += match["sign"]
        elif match["line"] is None:
            self._decode()
            if match["brace"] is not None:
                self._brace(match["brace"])
            elif match["word"] is not None:
                return self._word(match["word"].decode("ascii"), match["number"])
            elif not self._passes():
                self._sign(match["sign"].decode("latin-1"))
        return 0

    def _passes(self) -> bool:
        """Whether it is one of the signs behind a \\u."""
        if self._left:
            self._left -= 1
            return True
        return False

    def _brace(self, brace: bytes) -> None:
        self._left, self._starred = 0, False
        if brace == b"{":
            if len(self._around) >= _DEEPEST:
                raise FormatError(f"groups more than {_DEEPEST} deep")
            self._around.append(self._state)
            return
        inner, self._state = self._state, self._around.pop()
        if (inner.box, inner.section) != (self._state.box, self._state.section):
            self._texts.add("\n", inner)

    def _sign(self, sign: str) -> None:
        if sign == "*":
            self._starred = True
        elif sign in _SIGNS:
            self._texts.add(_SIGNS[sign], self._state)

    def _word(self, word: str, number: bytes | None) -> int:
        value = int(number) if number is not None else None
        starred, self._starred = self._starred, False
        if word == "bin":  # whose bytes may look like anything
            return max(0, value or 0)
        if self._left and word != "u":
            self._left -= 1
            return 0
        state = self._state
        if word == "u":
            self._unit((value or 0) % 0x10000)
        elif word == "uc":
            self._state = replace(state, signs=max(0, value or 0))
        elif word in _SAID:
            self._texts.add(_SAID[word], state)
        elif word == "nestrow":  # stands in a group that older readers pass over
            self._texts.add("\n", replace(state, silent=False))
        elif word in _SECTIONS:
            self._state = replace(state, section=_SECTIONS[word], silent=False, gone=False)
        elif word == "shptxt":
            self._state = replace(state, box=True, silent=False)
        elif word == "result":  # what an object looks like
            self._state = replace(state, silent=False)
        elif word in _SILENT or (starred and word not in _THROUGH):
            self._state = replace(state, silent=True, fonts=state.fonts or word == "fonttbl")
        elif word in ("deleted", "mvf"):
            on = value != 0
            self._state = replace(state, gone=on) if word == "deleted" else replace(state, moved=on)
        else:
            self._font_word(word, value)
        return 0

    def _font_word(self, word: str, value: int | None) -> None:
        """Words that say in which code page bytes are."""
        if word in _NAMED:
            self._page = _codec(_NAMED[word])
            self._state = replace(self._state, codec=self._page)
        elif word == "ansicpg" and value:
            self._page = _codec(value)
            self._state = replace(self._state, codec=self._page)
        elif word == "deff":
            self._default_font = value or 0
        elif word == "f" and self._state.fonts:
            self._font = value or 0
        elif word == "f":
            self._state = replace(self._state, codec=self._fonts.get(value or 0, self._page))
        elif word == "plain":
            codec = self._fonts.get(self._default_font, self._page)
            self._state = replace(self._state, codec=codec, gone=False, moved=False)
        elif word == "fcharset" and self._state.fonts:
            if value == 2:
                self._fonts[self._font] = _SYMBOL
            elif value != 1:  # the default one
                self._fonts[self._font] = _codec(_CHARSETS.get(value or 0, 1252))
        elif word == "cpg" and self._state.fonts and value:
            self._fonts[self._font] = _codec(value)

    def _unit(self, unit: int) -> None:
        """One UTF-16 unit."""
        self._left = self._state.signs
        if 0xD800 <= unit < 0xDC00:
            self._half = unit
            return
        if 0xDC00 <= unit < 0xE000:
            if not self._half:
                raise FormatError("half of a surrogate pair")
            unit = 0x10000 + ((self._half - 0xD800) << 10) + (unit - 0xDC00)
        elif self._half:
            raise FormatError("half of a surrogate pair")
        self._half = 0
        self._texts.add(chr(unit), self._state)

    def _decode(self) -> None:
        """What has come in bytes as text."""
        if not self._bytes:
            return
        raw, self._bytes = bytes(self._bytes), bytearray()
        if self._state.silent:
            return
        codec = self._state.codec
        try:
            text = "".join(_symbol(byte) for byte in raw) if codec == _SYMBOL else raw.decode(codec)
        except UnicodeDecodeError:
            if codec.startswith("cp125"):  # where Windows leaves a place empty it shows the byte itself
                text = "".join(_single(byte, codec) for byte in raw)
            else:
                raise FormatError(f"bytes that the code page {codec} has not") from None
        self._texts.add(text, self._state)


def _single(byte: int, codec: str) -> str:
    try:
        return bytes((byte,)).decode(codec)
    except UnicodeDecodeError:
        return chr(byte)


def _symbol(byte: int) -> str:
    """A sign of a font of symbols, which is no letter: a bullet, or who knows what."""
    return "•" if byte == 0xB7 else chr(byte) if byte == 0x20 else "\N{REPLACEMENT CHARACTER}"
