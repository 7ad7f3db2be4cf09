"""Many spans → one disjoint set that covers every character any of them covered.

Spans that overlap, directly or through others, become one span over all of them: nothing that a detector found is
uncovered again. Its label, source and score are those of the strongest member, by a named policy.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from deident.document import Span
from deident.errors import UnknownNameError

Strength = Callable[[Span], tuple[float, ...]]


def _longest(span: Span) -> tuple[float, ...]:
    return (span.end - span.start, span.score, -span.start)


def _surest(span: Span) -> tuple[float, ...]:
    return (span.score, span.end - span.start, -span.start)


POLICIES: Mapping[str, Strength] = MappingProxyType({"longest": _longest, "surest": _surest})


def resolve(spans: Iterable[Span], *, policy: str = "longest") -> tuple[Span, ...]:
    """The disjoint, sorted, covering set; `resolve(resolve(s)) == resolve(s)`."""
    if policy not in POLICIES:
        raise UnknownNameError("resolution policy", policy, POLICIES)
    strength = POLICIES[policy]
    resolved: list[Span] = []
    cluster: list[Span] = []
    reach = 0
    for span in sorted(spans, key=lambda span: (span.start, span.end, span.label, span.source)):
        if cluster and span.start >= reach:
            resolved.append(_merged(cluster, strength))
            cluster = []
        cluster.append(span)
        reach = max(reach, span.end) if len(cluster) > 1 else span.end
    if cluster:
        resolved.append(_merged(cluster, strength))
    return tuple(resolved)


def _merged(cluster: list[Span], strength: Strength) -> Span:
    strongest = max(cluster, key=strength)
    return replace(strongest, start=cluster[0].start, end=max(span.end for span in cluster))
