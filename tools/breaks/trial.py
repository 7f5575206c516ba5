"""Runs tests against a broken copy of the product."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.breaks.breaks import Break
from tools.breaks.databases import Databases

_LONGEST = 3_600.0  # seconds
# A failure of a test, or of its fixtures.
_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$", re.MULTILINE)
_REASON = re.compile(r"^E +(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a break; `caught` is None where the tests could not judge it."""

    caught: bool | None
    test: str = ""  # the first that failed
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Trials:
    """The tests of one checkout, and its source as what is broken."""

    root: Path
    python: str
    databases: Databases
    markers: str  # an expression of pytest; empty: all tests
    processes: int

    def try_out(self, one: Break, *, has_all: bool = False) -> Verdict:
        """Runs the tests of a break until one fails, with `has_all` all tests in the end."""
        verdict = Verdict(caught=None, reason="it names no tests")
        with tempfile.TemporaryDirectory(prefix="breaks-") as place:
            # With what is compiled: a file that did not change is not compiled again.
            shutil.copytree(self.root / "src", Path(place) / "src")
            one.apply(Path(place) / "src/postledger")
            for stage in [*one.stages, *([["tests"]] if has_all else [])]:
                paths = sorted({self._find(path) for path in stage})
                code, output = self._run(
                    Path(place), ["-x", *paths], has_migration=one.has_migration
                )
                verdict = _judge(code, output)
                if verdict.caught is not False:
                    break
        return verdict

    def list_false_alarms(self, tests: Sequence[str]) -> list[str]:
        """Those of the tests that fail although nothing is broken."""
        functions = sorted({test.partition("[")[0] for test in tests})
        with tempfile.TemporaryDirectory(prefix="breaks-") as place:
            shutil.copytree(self.root / "src", Path(place) / "src")
            code, output = self._run(Path(place), functions)
        failed = {match[1].partition("[")[0] for match in _FAILURE.finditer(output)}
        return sorted(failed) if code in {0, 1} else functions

    def _find(self, path: str) -> str:
        """The path, or the folder where it was when this checkout has no such file."""
        while not (self.root / path).exists():
            path = str(Path(path).parent)
        return path

    def _run(
        self, place: Path, arguments: Sequence[str], *, has_migration: bool = False
    ) -> tuple[int | None, str]:
        """Pytest's exit code, None if it came to no end, and its output."""
        self.databases.renew()
        command = [self.python, "-m", "pytest", "-q", "-n", str(self.processes), "--tb=short"]
        command += ["-p", "no:cacheprovider", "--create-db" if has_migration else "--reuse-db"]
        command += ["-m", self.markers] if self.markers else []
        # Commands that tests start meet the copy, too: it goes before what is installed.
        paths = {"PYTHONPATH": str(place / "src"), "DATABASE_URL": self.databases.url}
        environment = {**os.environ, **paths, "EXAMPLES": "60"}  # of the property test
        return _await([*command, *arguments], self.root, environment, place / "output")


def _await(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path
) -> tuple[int | None, str]:
    """Into a file, and no pipe, which a child that outlives the tests would keep open."""
    with output.open("w+") as lines:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=lines,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(_LONGEST)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return code, output.read_text(errors="replace")


_ALL_PASSED, _NONE_CHOSEN = 0, 5


def _judge(code: int | None, output: str) -> Verdict:
    """Tells a test that failed from tests that did not run."""
    if code is None:
        return Verdict(caught=None, reason="the tests came to no end")
    if code in {_ALL_PASSED, _NONE_CHOSEN}:
        return Verdict(caught=False)
    failure, reason = _FAILURE.search(output), _REASON.search(output)
    # Without its migrations the copy says nothing about the tests.
    if failure is None or "in setup_databases" in output:
        lines = output.strip().splitlines()
        return Verdict(caught=None, reason="the tests did not run: " + " | ".join(lines[-5:]))
    return Verdict(caught=True, test=failure[1], reason=reason[1] if reason else "")
