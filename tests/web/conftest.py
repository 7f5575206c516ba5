"""The callers: alice's program of acme and charlie's of globex."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from postledger.content import isolation
from postledger.web.shared import throttle
from tests.web.callers import Caller, caller


@pytest.fixture(scope="session", autouse=True)
def renderers() -> Iterator[None]:
    """Content is rendered in child processes, as in a real web process."""
    pool = isolation.make_pool(thread_count=16)
    # Longer than usual: the machine may have too much to do.
    pool.wait = pool.patience = 120.0
    isolation.install(pool)
    yield
    isolation.install(None)
    pool.stop()


@pytest.fixture(autouse=True)
def unreachable_notion() -> Iterator[None]:
    """Until a test has a Notion of its own."""
    with override_settings(NOTION_URL="http://127.0.0.1:9"):
        yield


@pytest.fixture
def alice(db: None) -> Caller:
    return caller("acme")


@pytest.fixture
def charlie(db: None) -> Caller:
    return caller("globex")


@pytest.fixture
def patient_throttle(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Redis counts, however busy the machine is: a process by itself would let more through."""
    monkeypatch.setattr(throttle, "_TIMEOUT", 5.0)
    throttle._throttle.cache_clear()
    yield
    throttle._throttle.cache_clear()
