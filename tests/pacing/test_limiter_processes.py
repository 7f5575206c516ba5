"""Two real processes on Redis's real clock, judged by the moments that they were granted."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from redis import Redis

from postledger.pacing.limits import MICROSECONDS
from tests.pacing.paced import fullest_second, least_interval, settle

pytestmark = [pytest.mark.server, pytest.mark.slow]

RATE = 500
_ASKING = Path(__file__).with_name("asking.py")


def _start(url: str, end: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(_ASKING), url, str(RATE), "50", str(end)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _read_moments(workers: list[subprocess.Popen[str]]) -> list[int]:
    moments: list[int] = []
    for worker in workers:
        output, _ = worker.communicate(timeout=300)
        assert worker.returncode == 0
        moments += json.loads(output)
    return moments


def test_two_processes_keep_the_rate_while_redis_is_emptied_ten_times(
    redis_url: str, tmp_path: Path
) -> None:
    end = tmp_path / "end"
    with Redis.from_url(redis_url) as redis:
        redis.flushall()
        settle(redis)
        workers = [_start(redis_url, end) for _ in range(2)]
        for _ in range(10):
            _wait_for_grants(redis)
            redis.flushall()
        end.touch()
        moments = _read_moments(workers)
    assert len(moments) >= 100
    assert least_interval(moments) >= MICROSECONDS / RATE
    assert fullest_second(moments) <= RATE * 1.02


def _wait_for_grants(redis: Redis) -> None:
    """Until Redis was filled again and granted a block."""
    for _ in range(3_000):
        if redis.hexists("postledger:pacing:sender:1", "taken"):
            return
        time.sleep(0.01)
    raise AssertionError("Nothing was granted.")
