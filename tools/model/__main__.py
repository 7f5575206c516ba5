"""Explore the ledger's protocol: `python -m tools.model [--without RULE ...] [--large]`."""

import argparse
import sys
import time
from itertools import chain

from tools.model import checker, configurations, rules


def main() -> int:
    options = _options()
    on = rules.ALL - set(options.without)
    large = configurations.LARGE if options.large else ()
    if options.without:
        families = dict.fromkeys(configurations.about(rule) for rule in options.without)
        return _show_shortest((*chain.from_iterable(families), *large), on)
    return _show_table(configurations.EVERY + large)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.model", description=__doc__)
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        type=rules.Rule,
        metavar="RULE",
        help="leave a rule out and show the shortest way to harm: " + ", ".join(rules.Rule),
    )
    parser.add_argument("--large", action="store_true", help="explore the large worlds too")
    return parser.parse_args()


def _show_table(chosen: tuple[configurations.Configuration, ...]) -> int:
    states, begun, is_sound = 0, time.monotonic(), True
    _say(f"{'configuration':<44}{'states':>12}{'seconds':>10}")
    for configuration in chosen:
        start = time.monotonic()
        result = checker.explore([configuration.start()], rules.ALL)
        states += result.states
        _say(f"{configuration.name:<44}{result.states:>12,}{time.monotonic() - start:>10.1f}")
        _show(result)
        is_sound = is_sound and not result.violation
    _say(f"{'all':<44}{states:>12,}{time.monotonic() - begun:>10.1f}")
    return 0 if is_sound else 1


def _show_shortest(
    chosen: tuple[configurations.Configuration, ...], on: frozenset[rules.Rule]
) -> int:
    result = checker.explore([configuration.start() for configuration in chosen], on)
    _say(f"without {', '.join(sorted(rules.ALL - on))}: {result.states:,} worlds seen")
    _show(result)
    if not result.violation:
        _say("no claim is broken")
    return 0


def _show(result: checker.Result) -> None:
    for number, label in enumerate(result.trace, start=1):
        _say(f"{number:>4}. {label}")
    if result.violation:
        _say(f"   => {result.violation}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
