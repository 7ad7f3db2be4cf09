"""The service against its own description: requests that schemathesis makes up from the OpenAPI, and their answers.

What it makes up is bounded, so that the test is quick; `--hypothesis-seed` tries others.
"""

import socket
import time
import warnings
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
import uvicorn
from hypothesis import HealthCheck, Phase, settings

from deident.config import Config, Detect, Service
from deident.service.app import create
from deident.service.engine import Engine

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of its own imports
    schemathesis: Any = pytest.importorskip("schemathesis")
    checks: Any = pytest.importorskip("schemathesis.specs.openapi.checks")

ENGINE = Engine(Config(Detect(detectors=("patterns",), steps=())))
# without tokens the service stands open on this machine; what it takes beyond its description it answers by a reason
NOT_ASKED = [
    checks.ignored_auth,
    checks.missing_required_header,
    checks.negative_data_rejection,
    checks.positive_data_acceptance,
]
DESCRIBED = schemathesis.openapi.from_asgi("/openapi.json", create(ENGINE, Service())).raw_schema
SCHEMA = schemathesis.openapi.from_dict(DESCRIBED)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the service listens: all requests must be answered in one event loop."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        server = uvicorn.Server(uvicorn.Config(create(ENGINE, Service()), log_level="critical"))
        thread = Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        server.should_exit = True
        thread.join()


# bodies of HL7 and of JSON lines it cannot make up; they are asked for in the tests of the service
@pytest.mark.filterwarnings("ignore:Skipped test cases with unsupported payload media types")
@SCHEMA.parametrize()
@settings(
    max_examples=8,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    derandomize=True,
)
def test_answers_are_as_described(case: Any, address: str) -> None:
    answer = case.call(base_url=address)
    assert answer.status_code < 500, "whatever is asked, the service does not fall over"
    case.validate_response(answer, excluded_checks=NOT_ASKED)
