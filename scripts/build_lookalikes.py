"""Makes `src/deident/lexicons/lookalikes.txt`: letters of other scripts that look like those of ASCII.

python scripts/build_lookalikes.py CONFUSABLES

CONFUSABLES is the `confusables.json` of the package confusable-homoglyphs (MIT), which holds the Unicode consortium's
table of confusable characters (https://www.unicode.org/Public/security/, Unicode licence). That table knows what looks
the same to a machine's font; small capitals and a few letters that only a reader takes for others are added here.
"""

import json
import sys
import unicodedata
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "deident" / "lexicons" / "lookalikes.txt"
# what a reader takes for the letter, though no font draws it the same
READ = {"κ": "k", "τ": "t", "η": "n", "ε": "e", "γ": "y", "χ": "x", "к": "k", "т": "t", "м": "m", "в": "b", "н": "h"}
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def looks_like(sign: str, targets: list[str]) -> str:
    """The ASCII letter that a sign of another script is taken for; "" if there is none."""
    name = unicodedata.name(sign, "")
    if sign in READ:
        return READ[sign]
    if name.startswith("LATIN LETTER SMALL CAPITAL ") and len(last := name.rsplit(" ", 1)[1]) == 1:
        return last.lower()
    if name.startswith("LATIN ") and not "\u0250" <= sign <= "\u02af":  # letters of languages, as the Turkish ı
        return ""
    if not unicodedata.category(sign).startswith("L") or unicodedata.normalize("NFKC", sign) != sign:
        return ""  # what is one letter by its decomposition needs no table
    for target in targets:
        if target in LETTERS:
            return "I" if target == "l" and sign.isupper() else target
    return ""


def main() -> None:
    known = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for code in range(128, sys.maxunicode + 1):
        sign = chr(code)
        letter = looks_like(sign, [row["c"] for row in known.get(sign, ())])
        if letter:
            found.setdefault(letter, "")
            found[letter] += sign
    lines = ["# Letters that are taken for the ASCII letter before them. Made by scripts/build_lookalikes.py from"]
    lines += ["# Unicode's confusables.txt, copyright Unicode, Inc. (https://www.unicode.org/license.txt)."]
    lines += [f"{letter} {found[letter]}" for letter in sorted(found)]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
