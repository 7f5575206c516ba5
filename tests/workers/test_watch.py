"""A worker that does not work although it could ends by itself; one that works does not."""

import os
import subprocess
import sys
import time

import pytest

from postledger.workers import watch
from tests import cast
from tests.workers import patients

A_MINUTE, TWO = watch.MOST_SILENCE, watch.MOST_IDLENESS


@pytest.mark.parametrize(
    ("silence", "idleness", "oldest_due", "is_carrying", "reason"),
    [
        (0, 0, 0, False, None),
        (A_MINUTE, 0, 0, False, None),
        (A_MINUTE + 1, 0, 0, False, "its loop hangs"),
        (A_MINUTE + 1, 0, 0, True, "its loop hangs"),
        (0, TWO + 1, TWO + 1, False, "work is due and it takes none"),
        # Nothing is due, or not for long.
        (0, 10 * TWO, 0, False, None),
        (0, 10 * TWO, TWO, False, None),
        # It took work not long ago, and others may have taken the rest.
        (0, TWO, 10 * TWO, False, None),
        # Its hands are full: a slow provider, and more work behind it.
        (0, 10 * TWO, 10 * TWO, True, None),
    ],
)
def test_a_worker_ends_only_for_a_reason(
    silence: float,
    idleness: float,
    oldest_due: float,
    is_carrying: bool,  # noqa: FBT001  a column
    reason: str | None,
) -> None:
    found = watch.verdict(
        silence=silence, idleness=idleness, oldest_due=oldest_due, is_carrying=is_carrying
    )

    assert found == reason


# The watch with its times made short, over a loop that never comes round or never takes work.
_WATCHED = """
import django, time
django.setup()
from postledger.dispatch.loop import Dispatcher
from postledger.dispatch.rules import Rules
from postledger.workers import watch

watch.EVERY, watch.MOST_SILENCE, watch.MOST_IDLENESS = {every}, {silence}, {idleness}
dispatcher = Dispatcher("watched", Rules())
watch.start(dispatcher)
end = time.monotonic() + {life}
while time.monotonic() < end:
    dispatcher.passed_at = {passed_at}
    time.sleep(0.05)
"""
NEVER, ALWAYS = "0.0", "time.monotonic()"


def watched(
    database_url: str, *, passed_at: str, silence: float, idleness: float, life: float
) -> tuple[int, str]:
    script = _WATCHED.format(
        every=0.1, silence=silence, idleness=idleness, life=life, passed_at=passed_at
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={
            **os.environ,
            "DATABASE_URL": database_url,
            "DEBUG": "true",
            "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.django_db(transaction=True)
def test_a_process_whose_loop_hangs_ends_with_a_failure() -> None:
    url = patients.database_url()

    code, output = watched(url, passed_at=NEVER, silence=0.5, idleness=60, life=30)

    assert code == 1
    assert "its loop hangs" in output


@pytest.mark.django_db(transaction=True)
def test_a_process_that_takes_no_due_work_ends_with_a_failure() -> None:
    cast.stream(mails=1)
    time.sleep(0.6)

    code, output = watched(
        patients.database_url(), passed_at=ALWAYS, silence=60, idleness=0.5, life=30
    )

    assert code == 1
    assert "work is due and it takes none" in output


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_away", [False, True])
def test_a_process_lives_on_while_nothing_is_due_or_nobody_can_know(is_away: bool) -> None:  # noqa: FBT001  a case
    url = f"postgresql://postgres@{patients.DEAD}/nothing" if is_away else patients.database_url()

    code, output = watched(url, passed_at=ALWAYS, silence=60, idleness=0.2, life=0.8)

    assert (code, "ends" in output) == (0, False)
