"""What a drill says at its end; its last line has the figures."""

from collections.abc import Mapping

from tests.drill.drill import Drill
from tests.drill.saying import say


def conclude(drill: Drill, seconds: float) -> None:
    figures = drill.figures
    assert figures
    say("")
    say(f"kills: {_listed(dict(sorted(drill.fleet.kills.items())))}")
    say(f"faults: {_listed(drill.faults)}")
    say(f"states: {_listed(figures.by_state)}")
    say(f"answers: {_listed(drill.customer.answers)}")
    for sentence in drill.skipped:
        say(f"not done: {sentence}")
    say(
        f"{figures.mails} mails, {drill.kills} kills, {drill.faults.total()} faults:"
        f" {figures.lost} lost, {figures.duplicates} duplicates, {figures.in_doubt} in doubt"
        f" (at most {drill.explained()} armed at faults), {len(drill.violated)} violations,"
        f" longest rest {drill.longest_wait:.0f} s, {seconds:.0f} s"
    )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items()) or "none"
