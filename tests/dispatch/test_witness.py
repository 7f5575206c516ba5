"""The highest token, kept outside the database: in Redis, and in a file of each worker."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from redis import Redis

from postledger.deliveries.ledger import Identity
from postledger.dispatch.witness import TokenWitness

pytestmark = pytest.mark.server

DATABASE = Identity(7_000_000_001, 1, 12345)
DEAD = "redis://127.0.0.1:1/0"


@pytest.fixture
def redis() -> Iterator[Redis]:
    client = Redis.from_url(settings.REDIS_URL)
    key = "postledger:witness:7000000001-12345"
    epochs = "postledger:epochs:7000000001-12345"
    client.delete(key, epochs)
    yield client
    client.delete(key, epochs)
    client.close()


def open_witness(
    *, folder: Path | None = None, redis_url: str = "", name: str = "w1"
) -> TokenWitness:
    witness = TokenWitness(redis_url=redis_url, folder=folder, name=name)
    witness.name_database(DATABASE, DATABASE)
    return witness


def test_a_token_is_remembered_by_the_next_worker(tmp_path: Path) -> None:
    first = open_witness(folder=tmp_path)
    first.raise_to(41, 1)
    first.raise_to(42, 1)
    first.close()

    second = open_witness(folder=tmp_path, name="w2")

    assert second.read().token == 42
    assert second.read().at is not None
    assert [path.name for path in (tmp_path / "7000000001-12345").iterdir()] == ["w2"]
    second.close()


def test_the_file_of_a_living_worker_stays(tmp_path: Path) -> None:
    first, second = open_witness(folder=tmp_path), open_witness(folder=tmp_path, name="w2")
    first.raise_to(9, 1)

    assert second.read().token == 9
    first.close()
    second.close()


def test_redis_keeps_the_highest_of_all_workers(redis: Redis) -> None:
    url = settings.REDIS_URL
    first, second = open_witness(redis_url=url), open_witness(redis_url=url, name="w2")

    tokens = [first.raise_to(5, 1), second.raise_to(9, 1), first.raise_to(6, 1)]

    assert tokens == [5, 9, 9]
    assert first.read().token == 9
    first.close()
    second.close()


def test_a_redis_that_is_away_or_empty_says_nothing(redis: Redis, tmp_path: Path) -> None:
    away = open_witness(redis_url=DEAD, folder=tmp_path)
    empty = open_witness(redis_url=settings.REDIS_URL)

    assert away.raise_to(8, 1) == 0
    assert away.read().token == 8  # its file still knows
    assert empty.read().token == 0
    away.close()
    empty.close()


def test_databases_that_share_a_redis_and_a_folder_are_kept_apart(
    redis: Redis, tmp_path: Path
) -> None:
    first = open_witness(redis_url=settings.REDIS_URL, folder=tmp_path)
    first.raise_to(100, 1)
    first.name_database(Identity(7_000_000_001, 1, 999_999_999), DATABASE)

    assert first.read().token == 0
    first.close()


def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    witness = open_witness(folder=tmp_path / "file")

    assert witness.raise_to(3, 1) == 0
    assert witness.read().token == 0
    witness.close()


@pytest.mark.parametrize("url", ["", DEAD, "redis"])
def test_copies_of_a_ledger_share_the_numbers_of_their_epochs(
    url: str, redis: Redis, tmp_path: Path
) -> None:
    """H3: a dump that was restored twice began the same epoch twice, with the same ids."""
    url = settings.REDIS_URL if url == "redis" else url
    first = open_witness(redis_url=url, folder=tmp_path)
    first.raise_epoch(5)

    copy = TokenWitness(redis_url=url, folder=tmp_path)
    copy.name_database(Identity(7_000_000_001, 1, 999), DATABASE)

    assert copy.read().epoch == 5
    assert copy.read().token == 0
    first.close()
    copy.close()
