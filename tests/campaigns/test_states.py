"""When a run is over, and what keeps it open."""

from dataclasses import replace

from postledger.campaigns import states
from postledger.campaigns.states import Ending, RunFacts, RunState

DONE = RunFacts(
    is_planned=True,
    is_held=False,
    is_cancelled=False,
    ended_as=None,
    waiting=0,
    failed=0,
    in_doubt=0,
)


def test_a_run_stands_as_its_books_say() -> None:
    cases: list[tuple[RunFacts, RunState, Ending | None]] = [
        (DONE, RunState.SENT, Ending.SENT),
        (replace(DONE, failed=1), RunState.OPEN, None),
        (replace(DONE, in_doubt=1), RunState.OPEN, None),
        (replace(DONE, waiting=1), RunState.SENDING, None),
        (replace(DONE, waiting=1, is_held=True), RunState.PAUSED, None),
        (replace(DONE, is_planned=False), RunState.PLANNING, None),
        (replace(DONE, is_planned=False, is_held=True), RunState.PAUSED, None),
        (replace(DONE, is_cancelled=True), RunState.CANCELLED, Ending.CANCELLED),
        (replace(DONE, is_cancelled=True, failed=3), RunState.CANCELLED, Ending.CANCELLED),
        (replace(DONE, is_cancelled=True, waiting=3), RunState.CANCELLED, None),
        (replace(DONE, is_cancelled=True, in_doubt=3), RunState.CANCELLED, None),
        (replace(DONE, ended_as=Ending.CLOSED, failed=3), RunState.CLOSED, None),
    ]
    for run, state, ending in cases:
        assert (states.state_of(run), states.ending_of(run)) == (state, ending), run
