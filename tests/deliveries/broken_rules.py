"""Breaks each rule of the ledger in a copy of the code and sees the tests notice.

`python -m tests.deliveries.broken_rules [name]` prints, for every broken rule, whether the
property test failed, how many of the tight tests did, and the first of them. It takes an hour;
run it when a verb changes.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.deliveries.breaks import Break, Change
from tests.deliveries.rules_to_break import BREAKS

ROOT = Path(__file__).parents[2]
LEDGER = Path("src/postledger/deliveries")
TESTS = [
    f"tests/deliveries/test_{name}.py"
    for name in (
        "work",
        "after_work",
        "blocked_senders",
        "probes",
        "cancelling",
        "amending",
        "fence",
        "machine",
    )
]


def misfits() -> Iterator[str]:
    """The texts that do not occur exactly once where they are to be replaced."""
    for broken in BREAKS:
        for change in broken.changes:
            count = (ROOT / LEDGER / change.file).read_text().count(change.old)
            if count != 1:
                yield f"{broken.rule}: {change.file} contains {change.old!r} {count} times"


def broken_copy(one: Break, into: Path) -> None:
    shutil.copytree(ROOT / "src", into / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for change in one.changes:
        _apply(change, into / LEDGER / change.file)


def _apply(change: Change, path: Path) -> None:
    path.write_text(path.read_text().replace(change.old, change.new))


def try_out(one: Break) -> list[tuple[str, str]]:
    """The tests that failed, as (file, name)."""
    with tempfile.TemporaryDirectory() as place:
        broken_copy(one, Path(place))
        environment = {**os.environ, "PYTHONPATH": f"{place}/src", "EXAMPLES": "60"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n0", "--create-db", *TESTS],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    failed = re.findall(
        r"^(?:FAILED|ERROR) \S+?/(test_\w+)\.py(?:::(?:test_)?(\w+))?", done.stdout, re.MULTILINE
    )
    if done.returncode and not failed:
        msg = f"{one.rule}: the tests did not run\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        raise RuntimeError(msg)
    return failed


def main(names: Sequence[str]) -> int:
    if outdated := list(misfits()):
        print("\n".join(outdated))
        return len(outdated)
    survivors = 0
    for one in BREAKS:
        if names and not any(name in one.rule for name in names):
            continue
        failed = sorted(set(try_out(one)))
        survivors += not (failed or one.is_backstop)
        by_machine = "property test" if any(file == "test_machine" for file, _ in failed) else ""
        tight = [name for file, name in failed if file != "test_machine"]
        print(
            f"{one.rule:54}{by_machine:15}{len(tight):3}  {tight[0] if tight else ''}", flush=True
        )
    return survivors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
