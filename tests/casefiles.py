"""Cases are data: `tests/cases/<name>.json`."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "cases"


def cases(name: str) -> list[Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
