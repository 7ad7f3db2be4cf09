"""Every error that deident raises on purpose.

    DeidentError
    ├── UsageError         the user asked for something that cannot be: one sentence, exit code 2
    │   ├── ConfigError    a configuration file with an unknown key or a wrong value
    │   ├── UnknownNameError    a detector, format, policy … that does not exist; the message lists those that do
    │   └── MissingPackageError    an optional package that this installation lacks; the message names its extra
    ├── FormatError        bytes that are not what their format says (with the line, where there is one)
    ├── SpanError          a span that does not fit its text, or that overlaps where it must not
    ├── VaultError         a vault that cannot be opened, or that cannot be trusted
    └── ProcessingError    something failed inside while a document was worked on

No message ever carries text of a document: ids, offsets, labels, line numbers and counts only.
"""

from collections.abc import Iterable


class DeidentError(Exception):
    """Root of the tree."""


class UsageError(DeidentError):
    """The user's mistake."""


class ConfigError(UsageError):
    """A setting that does not exist or has the wrong kind of value."""


class UnknownNameError(UsageError):
    """`UnknownNameError("format", "bratt", ["brat", "text"])` → "no format 'bratt'; there are: brat, text"."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        there_are = f"there are: {', '.join(sorted(known))}"
        super().__init__(f"no {kind} '{name}'; {there_are}")
        self.unnamed = f"no such {kind}; {there_are}"  # where what was asked for must not be repeated


class MissingPackageError(UsageError):
    """`MissingPackageError("dkpro-cassis", "uima")` → "this needs dkpro-cassis: pip install 'deident[uima]'".

    how: what to do, where the package is none of pip's.
    """

    def __init__(self, package: str, extra: str = "", *, how: str = "") -> None:
        todo = how or f"pip install 'deident[{extra}]'"
        super().__init__(f"this needs {package}: {todo}")


class FormatError(DeidentError):
    """Input that is not in the format it was read as."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(f"line {line}: {message}" if line is not None else message)
        self.reason = message
        self.line = line


class SpanError(DeidentError):
    """A span outside its text, empty, or overlapping another where spans must be disjoint."""


class VaultError(DeidentError):
    """A vault that cannot be opened or trusted; the message says nothing of what it holds."""


class ProcessingError(DeidentError):
    """A document that could not be processed; the cause is kept by type only, never by message."""
