from collections.abc import Iterator

import pytest

from tests.cli import installations
from tests.pacing.paced import Paced, paced


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis of this module's own, to be emptied at will."""
    with installations.redis(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture
def one(redis_url: str) -> Iterator[Paced]:
    with paced(redis_url) as made:
        yield made


@pytest.fixture
def two(redis_url: str) -> Iterator[Paced]:
    with paced(redis_url, workers=2) as made:
        yield made
