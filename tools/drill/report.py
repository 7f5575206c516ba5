"""What a drill says at its end; its last line has the figures."""

from collections.abc import Mapping
from typing import Any

from tools.drill.drill import Drill
from tools.drill.saying import say


def conclude(drill: Drill, seconds: float) -> dict[str, Any]:
    """Says the figures, and returns them to be recorded."""
    figures = drill.figures
    assert figures
    say("")
    say(f"kills: {_listed(dict(sorted(drill.fleet.kills.items())))}")
    say(f"faults: {_listed(drill.faults)}")
    say(f"states: {_listed(figures.by_state)}")
    say(f"doubts: {_listed(drill.causes)}; at most {drill.most_armed} may have been armed")
    say(f"answers: {_listed(drill.customer.answers)}")
    if drill.fleet.unasked:
        say(f"ended by themselves: {_listed(drill.fleet.unasked)}")
    for sentence in drill.skipped:
        say(f"not done: {sentence}")
    say(
        f"{figures.mails} mails, {drill.kills} kills, {drill.faults.total()} faults:"
        f" {figures.lost} lost, {figures.lost_in_gap} lost in a gap,"
        f" {figures.duplicates} duplicates, {figures.resent} sent again by a person,"
        f" {figures.without_cause} failures without a cause, {figures.swapped} swapped,"
        f" {figures.in_doubt} in doubt (what was seen explains {drill.explained}),"
        f" {len(drill.violated)} violations, longest rest {drill.longest_wait:.0f} s,"
        f" {seconds:.0f} s"
    )
    return {
        "mails": figures.mails,
        "taken": figures.taken,
        "kills": drill.kills,
        "lost": figures.lost,
        "lost_in_gap": figures.lost_in_gap,
        "duplicates": figures.duplicates,
        "resent": figures.resent,
        "without_cause": figures.without_cause,
        "swapped": figures.swapped,
        "in_doubt": figures.in_doubt,
        "explained": drill.explained,
        "doubts": dict(drill.causes),
        "violations": len(drill.violated),
        "ended_by_themselves": drill.fleet.unasked.total(),
        "faults": dict(drill.faults),
        "states": dict(figures.by_state),
        "not_done": len(drill.skipped),
        "seconds": round(seconds),
    }


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items()) or "none"
