"""A fake SES for each test, in a thread."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from postledger.fakes.ses.server import FakeSes, serving_in_thread
from postledger.fakes.ses.service import Service
from tests.fakes import ses


@pytest.fixture
def fake() -> Iterator[FakeSes]:
    service = Service(kept=deque())
    service.account.add_identities(ses.DOMAIN)
    with serving_in_thread(service) as fake:
        yield fake


@pytest.fixture
def client(fake: FakeSes) -> Any:
    return ses.connect(fake.endpoint)
