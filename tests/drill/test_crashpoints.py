"""Crash points: every name is a place in the code, and a wish is fulfilled on the right pass."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from postledger.lib.crashpoints import Point

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parents[2] / "src/postledger"
REACHED = re.compile(r"crashpoints\.reached\(Point\.(\w+)(?:, [\w.]+)?\)")


def test_every_point_is_one_place_in_the_code_and_those_of_a_call_one_of_each_protocol() -> None:
    names, of_http = list[str](), list[str]()
    for path in PACKAGE.rglob("*.py"):
        found = of_http if path.parent == PACKAGE / "providers/http" else names
        found += REACHED.findall(path.read_text())

    assert sorted(names) == sorted(point.name for point in Point)
    assert sorted(of_http) == [
        *("AFTER_CONNECT", "AFTER_DOT", "AFTER_REPLY", "BEFORE_CONNECT", "BEFORE_DOT")
    ]


PROGRAM = """
from postledger.lib import crashpoints
for n in range(5):
    print(n, flush=True)
    crashpoints.reached(crashpoints.Point.COMPOSE, f"r{n}@acme.example")
    crashpoints.reached(crashpoints.Point.AFTER_ARM)
"""


def run(wish: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "CRASH_AT": wish},
        capture_output=True,
        check=False,
    )


def test_a_process_dies_on_the_pass_or_the_mail_it_was_told_and_on_no_other() -> None:
    for wish, code, lines in (
        ("after_arm:3", -9, 3),
        ("after_arm", -9, 1),
        ("before_arm:1", 0, 5),
        ("compose:2", -9, 2),
        ("compose:r3@acme.example", -9, 4),
        ("compose:r9@acme.example", 0, 5),
        ("", 0, 5),
    ):
        ended = run(wish)
        assert (ended.returncode, len(ended.stdout.split())) == (code, lines), wish


def test_a_point_that_does_not_exist_is_refused_at_the_start() -> None:
    ended = run("nowhere:1")

    assert ended.returncode == 1
    assert b"'nowhere' is not a valid Point" in ended.stderr
