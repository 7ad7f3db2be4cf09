"""Gold against system: our plain figures, the official i2b2-2014 script's, what went wrong, and how sure it all is.

    scores      counts by token, strict and relaxed; leaks; precision and recall over thresholds
    i2b2        the official script, quirks named
    aligned     differently tokenised systems on the tokens of gold (NLM Scrubber)
    errors      type, extent, missing, spurious; confusion matrix
    statistics  tests and intervals
    comparison  two systems side by side, by all of these

What every figure means stands in `docs/evaluation.md`.
"""

from deident.evaluate.comparison import compare
from deident.evaluate.errors import analyse, confusion
from deident.evaluate.scores import (
    Counts,
    Scores,
    View,
    by_id,
    by_patient,
    headline,
    per_document,
    precision_recall,
    score,
)

__all__ = [
    "Counts",
    "Scores",
    "View",
    "analyse",
    "by_id",
    "by_patient",
    "compare",
    "confusion",
    "headline",
    "per_document",
    "precision_recall",
    "score",
]
