from collections.abc import Iterator

import pytest

from postledger.deliveries.ledger import sql
from tests.races import collide


@pytest.fixture(autouse=True)
def books_add_up(transactional_db: None) -> Iterator[None]:
    """Whatever collided: an audit of every stream finds nothing after the test."""
    yield
    streams = [stream for (stream,) in sql.rows("SELECT id FROM deliveries_stream", {})]
    assert collide.findings(*streams) == []
