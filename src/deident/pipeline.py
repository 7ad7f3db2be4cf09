"""The natural path, on one screen: detect → resolve → replace.

The command line, the batch runner and every other door call this and nothing else.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from deident import detect, replace
from deident.config import Config
from deident.document import Document, Failure
from deident.errors import DeidentError, ProcessingError, UsageError
from deident.resolve import resolve


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What finds, and what is done with what is found."""

    detectors: tuple[detect.Detector, ...]
    treatment: replace.Treatment

    @classmethod
    def from_config(cls, config: Config) -> "Pipeline":
        if not config.detect.detectors:
            raise UsageError("no detector is named: nothing would be found, and everything would stay")
        return cls(
            tuple(detect.load(name) for name in config.detect.detectors), replace.treatment(config.scrub.replace)
        )

    def detect(self, doc: Document) -> Document:
        """The document with the spans that were found, disjoint, in place of those it had."""
        found = [span for detector in self.detectors for span in detector.detect(doc)]
        return doc.with_spans(resolve(found))

    def scrub(self, doc: Document) -> Document:
        """A new document without the identifiers that were found."""
        return replace.apply(self.detect(doc), self.treatment)


def attempt(work: Callable[[Document], Document], doc: Document) -> Document | Failure:
    """`work(doc)`, or a Failure that says what kind of thing went wrong, and never with which text."""
    try:
        return work(doc)
    except DeidentError as error:
        return Failure(doc.id, str(error))
    except Exception as error:  # noqa: BLE001 (whatever raises inside, its message may quote the text)
        return Failure(doc.id, str(ProcessingError(f"could not be processed ({type(error).__name__})")))


def attempt_all(
    work: Callable[[Document], Document], documents: Iterable[Document]
) -> tuple[tuple[Document, ...], tuple[Failure, ...]]:
    results = [attempt(work, doc) for doc in documents]
    return (
        tuple(result for result in results if isinstance(result, Document)),
        tuple(result for result in results if isinstance(result, Failure)),
    )
