"""Breaks each rule of the ledger in a copy of the code and sees the tests notice.

`python -m tests.deliveries.broken_rules [name]` prints, for every broken rule, whether the
property test failed, how many of the tight tests did, and the first of them. It takes minutes;
run it when a verb changes.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = [f"tests/deliveries/test_{name}.py" for name in ("work", "after_work", "machine")]


@dataclass(frozen=True)
class Break:
    """One rule switched off: in `file`, `old` becomes `new`."""

    rule: str
    file: str
    old: str
    new: str


BREAKS = [
    Break("1 arm needs my lease (backstop)", "arming.py", "AND b.lease = %(lease)s", ""),
    Break(
        "1 arm needs a running lease (backstop)",
        "arming.py",
        "AND b.lease_until > clock_timestamp()",
        "",
    ),
    Break("1 arm starts at lo", "arming.py", "AND b.lo = w.lo\n      AND b.armed_to IS NULL", ""),
    Break("1 arm respects holds", "0001_ledger.sql", "AND (s.held_reason IS NULL", "AND (true"),
    Break("1 arm respects sender holds", "0001_ledger.sql", "AND NOT EXISTS (", "OR EXISTS ("),
    Break(
        "2 evidence outdates", "evidence.py", "SET version = version + 1", "SET version = version"
    ),
    Break("2 arm needs the version", "arming.py", "AND b.version = w.version", ""),
    Break(
        "3 settle needs the lease",
        "settling.py",
        "WHERE b.lease = %(lease)s AND b.lo",
        "WHERE b.lo",
    ),
    Break("3 only waiting lines settle", "books.py", "state = 'waiting' AND last_try", "last_try"),
    Break("3 only newer tries settle", "books.py", "AND last_try < taken.try_number", ""),
    Break(
        "4 cursor and results move together",
        "settling.py",
        "w.moved_to, w.moved_to AS",
        "b.hi AS moved_to, w.moved_to AS",
    ),
    Break("5 a retry is a new try", "settling.py", "g.try_number + 1", "g.try_number"),
    Break("5 send again is a new try", "decisions.py", "line.last_try + 1", "line.last_try"),
    Break("5 attempts count once", "evidence.py", "(d.last_try < old.try_number)::int", "1"),
    Break(
        "6 late acceptance counts",
        "evidence.py",
        "WHERE d.state <> 'accepted'",
        "WHERE d.state = 'x'",
    ),
    Break("6 late refusal needs the doubt", "evidence.py", "AND d.state = 'in_doubt'\n", "\n"),
    Break("6 late refusal is of its try", "evidence.py", "AND said.try_number = ANY(d.doubts)", ""),
    Break(
        "7 doubt is sticky in settle",
        "books.py",
        "d.doubts IS NOT NULL AND e.state",
        "false AND e.state",
    ),
    Break(
        "7 doubt is sticky in drain", "upkeep.py", "WHEN d.doubts IS NULL THEN", "WHEN true THEN"
    ),
    Break("7 armed becomes doubt", "upkeep.py", "d.position < win.armed_to", "d.position < win.lo"),
    Break("9 orphans", "decisions.py", "d.resend_after <= clock_timestamp()", "true"),
    Break(
        "10 drain leaves leases",
        "upkeep.py",
        "AND b.lease IS NULL\nORDER BY b.due_at",
        "\nORDER BY b.due_at",
    ),
    Break(
        "10 close leaves leases",
        "upkeep.py",
        "AND lease IS NULL\n    ORDER BY id\n    FOR NO KEY UPDATE SKIP LOCKED",
        "ORDER BY id FOR NO KEY UPDATE",
    ),
    Break("10 cancel stops arming", "0001_ledger.sql", "AND s.cancelled_at IS NULL", ""),
    Break("11 a click needs the state", "decisions.py", "AND d.state = %(before)s", ""),
    Break("11 a click needs the try", "decisions.py", "AND d.last_try = seen.last_try", ""),
    Break(
        "11 a click needs it uncovered",
        "decisions.py",
        'sql.covered("seen.position")',
        '"false"',
    ),
    Break("12 the parent shrinks", "upkeep.py", "SET hi = b.lo + (b.hi - b.lo) / 2,", "SET"),
    Break(
        "claim takes unleased work",
        "claiming.py",
        'AND b.due_at <= statement_timestamp() AND b.lease IS NULL\n      AND """',
        'AND b.due_at <= statement_timestamp()\n      AND """',
    ),
    Break(
        "counters come from RETURNING",
        "books.py",
        "count(*) FILTER (WHERE state = '",
        "1 + count(*) FILTER (WHERE state = '",
    ),
    Break(
        "a retry batch spans no doubt",
        "settling.py",
        "FROM spaced WHERE state <> 'accepted'",
        "FROM spaced WHERE state = 'waiting'",
    ),
    Break(
        "a mail without an answer",
        "settling.py",
        "FROM span WHERE NOT EXISTS",
        "FROM span WHERE false AND NOT EXISTS",
    ),
]


def broken_copy(one: Break, into: Path) -> None:
    shutil.copytree(ROOT / "src", into / "src", ignore=shutil.ignore_patterns("__pycache__"))
    [path] = (into / "src/postledger/deliveries").rglob(one.file)
    text = path.read_text()
    if one.old not in text:
        msg = f"{one.rule}: {one.file} does not contain {one.old!r}"
        raise LookupError(msg)
    path.write_text(text.replace(one.old, one.new))


def try_out(one: Break) -> list[tuple[str, str]]:
    """The tests that failed, as (file, name)."""
    with tempfile.TemporaryDirectory() as place:
        broken_copy(one, Path(place))
        environment = {**os.environ, "PYTHONPATH": f"{place}/src", "EXAMPLES": "30"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n0", "--create-db", *TESTS],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    return re.findall(
        r"^(?:FAILED|ERROR) \S+?/(test_\w+)\.py::(?:test_)?(\w+)", done.stdout, re.MULTILINE
    )


def main(names: Sequence[str]) -> int:
    survivors = 0
    for one in BREAKS:
        if names and not any(name in one.rule for name in names):
            continue
        failed = sorted(set(try_out(one)))
        survivors += not failed
        by_machine = "property test" if any(file == "test_machine" for file, _ in failed) else ""
        tight = [name for file, name in failed if file != "test_machine"]
        print(
            f"{one.rule:42}{by_machine:15}{len(tight):3}  {tight[0] if tight else ''}", flush=True
        )
    return survivors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
