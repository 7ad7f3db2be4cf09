"""The word lists: how large they are, how long opening them takes in a fresh process, how fast they answer."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import notes, report
from deident import lexicons
from deident.tokens import tokenize

ROOM = Path(lexicons.__file__).parent
ASKED_BYTES = 12_000_000
ASKED_MS = 100
ROUNDS = 5

# What opens a list and takes something from it.
OPENINGS = {
    "words": "lexicons.words().get('Smith')",
    "phrases": "lexicons.phrases().match(['New', 'York'])",
    "mesh": "lexicons.mesh().get('Lung Neoplasms')",
    "zips": "lexicons.zips().place('02139')",
    "nicknames": "lexicons.nicknames()['bill']",
    "pools": "lexicons.pool('last'), lexicons.places()",
}


def _opened(code: str) -> float:
    """Milliseconds of processor time until the list has answered, the best of some fresh processes."""
    program = (
        f"import time; from deident import lexicons\nb = time.process_time(); {code}; print(time.process_time() - b)"
    )
    runs = (subprocess.run([sys.executable, "-c", program], capture_output=True, check=True) for _ in range(ROUNDS))
    return min(float(done.stdout) for done in runs) * 1000


def main() -> None:
    measured = notes()
    texts = [tokenize(doc.text).words() for doc in measured]
    count = sum(map(len, texts))
    files = sorted(path for path in ROOM.iterdir() if path.is_file() and path.suffix not in {".py", ".md"})
    size = sum(path.stat().st_size for path in files)
    together = "; ".join(OPENINGS[name] for name in ("words", "phrases"))
    lines = [
        f"{len(files)} files, {size / 1e6:.2f} MB installed ({size / ASKED_BYTES:.2f} of {ASKED_BYTES / 1e6:.0f} MB)",
        f"{len(lexicons.words()):,} words, {len(lexicons.phrases()):,} phrases",
        f"opening words and phrases: {_opened(together):.1f} ms of {ASKED_MS}",
        *(f"opening {name:<10} {_opened(code):7.1f} ms" for name, code in OPENINGS.items()),
        f"opening all        {_opened('; '.join(OPENINGS.values())):7.1f} ms of {ASKED_MS}",
    ]
    words, phrases = lexicons.words(), lexicons.phrases()

    def rate(work: Callable[[list[str]], object]) -> float:
        best = float("inf")
        for _ in range(ROUNDS):
            begin = time.process_time()
            for text in texts:
                work(text)
            best = min(best, time.process_time() - begin)
        return count / best

    lines += [
        f"words().get: {rate(lambda text: [words.get(word) for word in text]) / 1e6:.2f} million tokens/s",
        f"phrases().match: {rate(phrases.match) / 1e6:.2f} million tokens/s",
        "",
        *(f"{path.name:<28}{path.stat().st_size:>10,}" for path in files),
    ]
    report("lexicons", lines, measured)


if __name__ == "__main__":
    main()
