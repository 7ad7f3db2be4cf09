"""Counters in one table that all workers share, written as Prometheus text (version 0.0.4).

A row a worker, a column a series; every worker adds to its own row, and whoever is asked sums them. The series are
fixed beforehand, so that nothing of a request (a path, a label somebody made up) can become one.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deident import __version__
from deident.labels import Label

ROUTES = ("/detect", "/scrub", "/fhir/$de-identify", "/policies", "/models", "/healthz", "/metrics", "other")
STATUSES = (200, 400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 429, 500, 501, 503, 0)  # 0: any other
BOUNDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
OUTCOMES = ("done", "failed")

Key = tuple[str, ...]


def _series() -> Iterator[Key]:
    for route in ROUTES:
        yield from (("requests", route, str(status)) for status in STATUSES)
        yield from (("seconds", route, str(bound)) for bound in (*BOUNDS, "+Inf"))
        yield ("sum", route)
    yield from (("documents", outcome) for outcome in OUTCOMES)
    yield from (("spans", label.value) for label in Label)
    yield from (("characters",), ("in_flight",), ("started",))


_COLUMN = {key: place for place, key in enumerate(_series())}


class Counters:
    """The rows of all workers, of which this one writes row `own`. A worker is one thread, the loop, so no lock."""

    def __init__(self, rows: NDArray[np.float64], own: int = 0) -> None:
        self._rows = rows
        self._own = rows[own]

    @classmethod
    def alone(cls) -> "Counters":
        return cls(np.zeros((1, len(_COLUMN))))

    @classmethod
    def shared(cls, file: Path, workers: int, own: int) -> "Counters":
        """Of several workers, in a file that each maps into its memory."""
        mode = "r+" if file.exists() else "w+"
        counters = cls(np.memmap(file, dtype=np.float64, mode=mode, shape=(workers, len(_COLUMN))), own)
        counters._own[_COLUMN[("in_flight",)]] = 0  # of a worker that died in the middle
        return counters

    def request(self, route: str, status: int, seconds: float) -> None:
        route = route if route in ROUTES else "other"
        self._add(("requests", route, str(status if status in STATUSES else 0)))
        bound = next((bound for bound in BOUNDS if seconds <= bound), "+Inf")
        self._add(("seconds", route, str(bound)))
        self._add(("sum", route), seconds)

    def documents(self, outcome: str, count: int, *, characters: int = 0, labels: Iterable[Label] = ()) -> None:
        self._add(("documents", outcome), count)
        self._add(("characters",), characters)
        for label in labels:
            self._add(("spans", label.value))

    def in_flight(self, change: int) -> None:
        self._add(("in_flight",), change)

    def _add(self, key: Key, amount: float = 1) -> None:
        self._own[_COLUMN[key]] += amount

    def text(self) -> str:
        """Everything, for Prometheus to read."""
        total = self._rows.sum(axis=0)

        def value(*key: str) -> str:
            number = float(total[_COLUMN[key]])
            return str(int(number)) if number.is_integer() else f"{number:.6f}"

        lines = ["# HELP deident_info The version.", "# TYPE deident_info gauge"]
        lines.append(f'deident_info{{version="{__version__}"}} 1')
        lines += ["# HELP deident_requests_total Requests answered.", "# TYPE deident_requests_total counter"]
        for route in ROUTES:
            for status in STATUSES:
                count = value("requests", route, str(status))
                if count != "0":
                    name = str(status) if status else "other"
                    lines.append(f'deident_requests_total{{route="{route}",status="{name}"}} {count}')
        name = "deident_request_seconds"
        lines += [f"# HELP {name} From the first byte to the last.", f"# TYPE {name} histogram"]
        for route in ROUTES:
            reached = 0.0
            if not any(total[_COLUMN["seconds", route, str(bound)]] for bound in (*BOUNDS, "+Inf")):
                continue
            for bound in (*BOUNDS, "+Inf"):
                reached += float(total[_COLUMN["seconds", route, str(bound)]])
                lines.append(f'{name}_bucket{{route="{route}",le="{bound}"}} {int(reached)}')
            lines.append(f'{name}_sum{{route="{route}"}} {value("sum", route)}')
            lines.append(f'{name}_count{{route="{route}"}} {int(reached)}')
        lines += ["# HELP deident_documents_total Documents worked on.", "# TYPE deident_documents_total counter"]
        lines += [f'deident_documents_total{{outcome="{name}"}} {value("documents", name)}' for name in OUTCOMES]
        lines += ["# HELP deident_spans_total Identifiers found.", "# TYPE deident_spans_total counter"]
        for label in Label:
            lines.append(f'deident_spans_total{{label="{label.value}"}} {value("spans", label.value)}')
        lines += ["# HELP deident_characters_total Of the documents done.", "# TYPE deident_characters_total counter"]
        lines.append(f"deident_characters_total {value('characters')}")
        lines += ["# HELP deident_requests_in_flight Begun and not ended.", "# TYPE deident_requests_in_flight gauge"]
        lines.append(f"deident_requests_in_flight {value('in_flight')}")
        return "\n".join(lines) + "\n"
