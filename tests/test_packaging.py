"""What is shipped: the wheel's check sees what should not be, the Dockerfile keeps its promises."""

import re
from pathlib import Path

import pytest
from scripts import wheel

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("deident/cli.py", True),
        ("deident/review/page/index.html", True),
        ("deident/models/balanced/weights.npz", True),
        ("deident-0.1.0.dist-info/METADATA", True),
        ("deident-0.1.0.dist-info/licenses/LICENSE", True),
        ("tests/test_cli.py", False),
        ("deident/__pycache__/cli.cpython-311.pyc", False),
        ("docs/results/rules.md", False),
        ("deident/notes.txt", False),
    ],
)
def test_what_a_wheel_may_hold(name: str, right: bool) -> None:
    assert (list(wheel.strange([name])) == []) is right


def _instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def test_the_image_runs_without_rights_and_fetches_nothing() -> None:
    found = _instructions()
    last = found[max(place for place, (word, _) in enumerate(found) if word == "FROM") :]
    users = [rest for word, rest in last if word == "USER"]
    assert users, "without USER it runs as root"
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", users[-1])  # numbers, so that runAsNonRoot can see them
    assert [rest for word, rest in last if word == "ENTRYPOINT"] == ['["deident"]']
    assert not [word for word, _ in found if word == "ADD"]
    assert not [rest for word, rest in found if word == "RUN" and re.search(r"curl|wget|https?://", rest)]
    for base in (rest.split()[0] for word, rest in found if word == "FROM"):
        assert re.fullmatch(r"[\w./-]+:\d[\w.-]*", base), f"{base} is not pinned by its tag"


def test_nothing_that_lies_about_gets_into_an_image() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert rules[0] == "*"
    copied = " ".join(rest for word, rest in _instructions() if word == "COPY" and "--from" not in rest).split()
    assert {rule[1:] for rule in rules if rule.startswith("!")} == set(copied) - {"./"}
