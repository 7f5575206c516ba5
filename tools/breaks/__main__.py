"""Break the product, a little and on purpose, and see which test notices: `python -m tools.breaks`.

Each break is made in a copy of the source, against which its tests run until the first one fails.
Run it when tests are cut, or when a verb of the ledger changes. `python -m tools.breaks table
BEFORE AFTER` compares two files that `--record` wrote.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.breaks import databases, records, tables
from tools.breaks.breaks import Break
from tools.breaks.records import Record
from tools.breaks.trial import Trials

_ROOT = Path(__file__).parents[2]
_WORDS = {True: "caught by", False: "NOT CAUGHT", None: "NOT JUDGED"}


def main() -> int:
    options = _read_options()
    if options.names[:1] == ["table"]:
        before, after = map(Path, options.names[1:])
        _say("\n".join(records.compare(before, after)))
        return 0
    chosen = [
        (group, one)
        for group, breaks in tables.GROUPS.items()
        for one in breaks
        if not options.names or any(name == group or name in one.name for name in options.names)
    ]
    package = options.root / "src/postledger"
    if outdated := [misfit for _, one in chosen for misfit in one.list_misfits(package)]:
        _say("\n".join(outdated))
        return len(outdated)
    own = options.root / ".venv/bin/python"
    python = str(own) if own.exists() else sys.executable
    with databases.migrated(options.root, python, options.processes) as prepared:
        trials = Trials(options.root, python, prepared, options.markers, options.processes)
        return _try_out(trials, chosen, options)


def _try_out(
    trials: Trials, chosen: Sequence[tuple[str, Break]], options: argparse.Namespace
) -> int:
    """The number of breaks that nothing noticed, and of tests that fail without any."""
    unnoticed = 0
    noticing = []
    for group, one in chosen:
        began = time.monotonic()
        verdict = trials.try_out(one, has_all=options.all)
        unnoticed += not (verdict.caught or one.is_backstop)
        noticing += [verdict.test] if verdict.caught else []
        seconds = round(time.monotonic() - began, 1)
        if options.record:
            record = Record(group, one.name, verdict.caught, verdict.test, verdict.reason, seconds)
            record.append_to(options.record)
        _say(f"{one.name:72}{seconds:6.1f} s  {_WORDS[verdict.caught]} {verdict.test}")
        _say(f"    {verdict.reason}")
    false_alarms = trials.list_false_alarms(noticing) if noticing else []
    for test in false_alarms:
        _say(f"fails although nothing is broken: {test}")
    return unnoticed + len(false_alarms)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.breaks", description=__doc__)
    parser.add_argument("names", nargs="*", help="groups, or parts of names; default: all")
    parser.add_argument("--root", type=Path, default=_ROOT, help="the checkout that is judged")
    parser.add_argument("-m", dest="markers", default="", help="run only tests with these markers")
    parser.add_argument("-n", dest="processes", type=int, default=2, help="processes of pytest")
    parser.add_argument("--all", action="store_true", help="at last run all tests")
    parser.add_argument("--record", type=Path, help="add a line of JSON for each break")
    options = parser.parse_args()
    options.root = options.root.resolve()
    return options


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
