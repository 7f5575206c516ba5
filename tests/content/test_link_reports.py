"""Answers of links are remembered for some minutes, for one workspace and all processes."""

from hashlib import sha256
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.conf import settings as installation
from redis import Redis

from postledger.content import link_reports
from postledger.content.link_checks import LinkState

pytestmark = pytest.mark.server


@pytest.fixture
def link() -> str:
    """One that no other test has asked; Redis remembers for all."""
    return f"http://127.0.0.1/{uuid4()}"


def test_answers_are_remembered_for_one_workspace(link: str) -> None:
    [report] = link_reports.read_reports(1, [link])

    assert report.state is LinkState.PRIVATE
    assert link_reports.recall_reports(1, [link]) == [report]
    assert link_reports.recall_reports(1, [link, f"{link}/2"]) is None
    assert link_reports.recall_reports(2, [link]) is None
    asked, remembered = link_reports.read_reports(1, [f"{link}/2", link])
    assert (asked.url, remembered) == (f"{link}/2", report), "with the seconds of the first time"


def test_answers_are_forgotten_after_minutes_and_their_keys_do_not_name_the_link(
    link: str,
) -> None:
    link_reports.read_reports(1, [link])

    redis = Redis.from_url(installation.REDIS_URL)
    digest = sha256(link.encode()).hexdigest()
    [key] = redis.scan_iter(f"postledger:cache:*{digest}")
    assert 0 < redis.ttl(key) <= link_reports.REMEMBERED_FOR.total_seconds()


def test_without_redis_links_are_asked_and_not_remembered(
    link: str, settings: LazySettings
) -> None:
    dead = {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": dead}

    [report] = link_reports.read_reports(1, [link])

    assert report.state is LinkState.PRIVATE
    assert link_reports.recall_reports(1, [link]) is None
