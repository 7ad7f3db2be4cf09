"""What all tests share: the count of golden numbers, said at the end of a run."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

# times are noisy on shared machines; the laws are what is tested
settings.register_profile("deident", deadline=None)
settings.load_profile("deident")

_GOLDEN = "golden"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, int], None]:
    """`golden("statistics", 678)`: so many numbers made by other people's programs were compared in this test."""
    return lambda name, count: request.node.user_properties.append((_GOLDEN, (name, count)))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    counted = Counter[str]()
    for report in terminalreporter.stats.get("passed", []):
        for key, value in report.user_properties:
            if key == _GOLDEN:
                counted[value[0]] += value[1]
    if counted:
        parts = ", ".join(f"{name} {count}" for name, count in sorted(counted.items()))
        terminalreporter.write_line(f"golden numbers compared: {counted.total()} ({parts})")
