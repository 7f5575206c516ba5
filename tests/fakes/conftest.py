"""A fake SES or SendGrid for each test, in a thread."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes import sendgrid, ses, sns
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid import service as sendgrid_service
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import Service


@pytest.fixture
def fake() -> Iterator[FakeSes]:
    service = Service(kept=deque())
    service.account.add_identities(ses.DOMAIN)
    with serving_in_thread(FakeSes(service)) as fake:
        yield fake


@pytest.fixture(scope="session")
def queue_endpoint() -> Iterator[str]:
    """A stand-in for SQS, for all tests of this process."""
    from moto.server import ThreadedMotoServer  # it takes a second

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def sink() -> Iterator[sns.Sink]:
    with sns.sink() as sink:
        yield sink


@pytest.fixture
def sns_client(fake: FakeSes) -> Any:
    return sns.connect(fake.endpoint)


@pytest.fixture
def client(fake: FakeSes) -> Any:
    return ses.connect(fake.endpoint)


@pytest.fixture
def sendgrid_fake() -> Iterator[FakeSendGrid]:
    service = sendgrid_service.Service(kept=deque())
    service.account.add_identities(sendgrid.DOMAIN)
    service.publisher.batch_seconds = 0.01
    with serving_in_thread(FakeSendGrid(service)) as fake:
        yield fake
