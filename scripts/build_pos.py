"""Packs the weights of the part-of-speech tagger: `src/deident/learn/pos.npz`.

    python scripts/build_pos.py textblob_aptagger-0.2.0-py2.py3-none-any.whl

The wheel (`pip download --no-deps textblob-aptagger==0.2.0`) is checked by its SHA-256; its pickle is read by an
unpickler that makes only sets, dicts, tuples, strings and numbers. The same input gives the same arrays.
"""

import argparse
import hashlib
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from deident.learn.bits import bits_at, bits_of_values, of_pair
from deident.learn.pos import EDGES

SHA256 = "1ed281f37b3646475503ce77347d0ed92a5f4de176a63c6ab4d1064636067dcc"
OUT = Path(__file__).parents[1] / "src" / "deident" / "learn" / "pos.npz"
# the names of its features → ours, with the offset
NAMES = {
    "i word": ("word", 0),
    "i-1 word": ("word", -1),
    "i-2 word": ("word", -2),
    "i+1 word": ("word", 1),
    "i+2 word": ("word", 2),
    "i-1 suffix": ("ending", -1),
    "i+1 suffix": ("ending", 1),
    "i suffix": ("written ending", 0),
    "i pref1": ("first", 0),
}


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) != ("__builtin__", "set"):
            raise pickle.UnpicklingError(f"{module}.{name} is not plain data")
        return set


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    wheel: Path = parser.parse_args().wheel
    content = wheel.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise SystemExit(f"{wheel} is not the wheel of textblob-aptagger 0.2.0")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        data = archive.read("textblob_aptagger/trontagger-0.1.0.pickle")
    weights, known, classes = _Plain(io.BytesIO(data)).load()
    tags = sorted(classes)
    number = {tag: place for place, tag in enumerate(tags)} | {EDGES[0]: len(tags), EDGES[1]: len(tags) + 1}
    before = np.zeros((len(number), len(tags)), dtype=np.int16)
    second = np.zeros_like(before)
    both = np.zeros((len(number), *before.shape), dtype=np.int16)
    rows: dict[int, list[tuple[int, int]]] = {}
    for name, row in weights.items():
        # thousandths: the weights were rounded to three digits
        values = sorted((number[tag], round(1000 * value)) for tag, value in row.items() if value)
        key = None
        parts = name.split(" ")
        if name == "bias":
            key = bits_at("bias=", 0)
        elif name.startswith("i tag+i-2 tag "):
            for tag, value in values:
                both[number[parts[3]], number[parts[4]], tag] = value
        elif name.startswith("i-1 tag+i word "):
            left, right = bits_of_values([f"tag={parts[3]}"]), bits_of_values([f"word={parts[4]}"])
            key = int(of_pair(left, right)[0])
        elif name.startswith(("i-1 tag ", "i-2 tag ")):
            for tag, value in values:
                (before if parts[0] == "i-1" else second)[number[parts[2]], tag] = value
        else:
            kind, offset = NAMES[" ".join(parts[:2])]
            key = bits_at(f"{kind}={' '.join(parts[2:])}", offset)
        if key is not None and values:
            if key in rows:
                raise SystemExit("two features have the same bits")
            rows[key] = values
    ordered = sorted(rows.items())
    words = sorted(known)
    np.savez_compressed(
        OUT,
        tags=np.array(tags),
        keys=np.array([key for key, _ in ordered], dtype=np.uint64),
        sizes=np.array([len(row) for _, row in ordered], dtype=np.uint8),
        labels_of=np.array([tag for _, row in ordered for tag, _ in row], dtype=np.uint8),
        values=np.array([value for _, row in ordered for _, value in row], dtype=np.int32),
        known=bits_of_values([f"only={word}" for word in words]),
        known_tags=np.array([number[known[word]] for word in words], dtype=np.uint8),
        before=before,
        second=second,
        both=both,
    )
    print(f"{OUT}: {len(ordered)} features, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
