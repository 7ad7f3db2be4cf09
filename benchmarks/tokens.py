"""The tokenizer against `re.findall` of the nearest single pattern, on the same text in the same run."""

import re
import time
from collections.abc import Callable, Sequence

from benchmarks import notes, report
from deident.tokens import tokenize

# What one regular expression can say of the tokenizer's rules: numbers, capitals before a word, words, runs of a sign.
PATTERN = re.compile(r"\d+(?:\.\d+|,\d{3})*|(?:Ma?c(?=[A-Z]))?[A-Z]+(?![a-z]{2})|[A-Z]?[a-z]+|[^\W\d_]+|([^\w\s]|_)\1*")
TOKENS = 1_000_000
ROUNDS = 5


def _best(works: Sequence[Callable[[str], object]], texts: list[str]) -> list[float]:
    """The least processor time of each, round by round, so that a busy machine slows all of them alike."""
    best = [float("inf")] * len(works)
    for _ in range(ROUNDS):
        for place, work in enumerate(works):
            begin = time.process_time()
            for text in texts:
                work(text)
            best[place] = min(best[place], time.process_time() - begin)
    return best


def main() -> None:
    measured = notes()
    own = [doc.text for doc in measured]
    texts = own * (TOKENS // sum(len(tokenize(text)) for text in own) + 1)
    count = sum(len(tokenize(text)) for text in texts)
    columns, ours, theirs = _best((tokenize, lambda text: tokenize(text).spans(), PATTERN.findall), texts)
    found = sum(len(PATTERN.findall(text)) for text in texts)
    lines = [
        f"{count:,} tokens in {len(texts):,} notes ({found:,} by the pattern), best of {ROUNDS} rounds, one core",
        f"tokenize, offsets as columns      {count / columns / 1e6:6.2f} million tokens/s",
        f"tokenize, offsets as list         {count / ours / 1e6:6.2f} million tokens/s",
        f"re.findall, strings, no offsets   {found / theirs / 1e6:6.2f} million tokens/s",
        f"time of tokenize with offsets / time of re.findall: {ours / theirs:.2f}",
    ]
    report("tokens", lines, measured)


if __name__ == "__main__":
    main()
