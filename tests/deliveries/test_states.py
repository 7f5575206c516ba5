"""The table of transitions is complete, and says what the ledger promises."""

import pytest

from postledger.deliveries import states
from postledger.deliveries.states import TRANSITIONS, State, Verb


def reached_by(verb: Verb) -> set[tuple[State, State]]:
    return {pair for pair, verbs in TRANSITIONS.items() if verb in verbs}


def test_every_state_but_the_first_is_reached_from_waiting() -> None:
    assert {after for before, after in TRANSITIONS if before is State.WAITING} == set(State)


def test_nothing_leaves_accepted() -> None:
    assert not [pair for pair in TRANSITIONS if pair[0] is State.ACCEPTED]


@pytest.mark.parametrize("state", [state for state in State if state is not State.ACCEPTED])
def test_evidence_of_acceptance_is_heard_in_every_state(state: State) -> None:
    assert states.allows(Verb.RECORD, state, State.ACCEPTED)


@pytest.mark.parametrize("verb", Verb)
def test_every_verb_moves_something(verb: Verb) -> None:
    assert reached_by(verb)


def test_every_entry_names_a_verb() -> None:
    assert all(TRANSITIONS.values())


@pytest.mark.parametrize("after", [State.CANCELLED, State.SUPPRESSED, State.EXPIRED, State.SKIPPED])
def test_a_doubt_is_never_closed_by_a_rule(after: State) -> None:
    assert (State.IN_DOUBT, after) not in TRANSITIONS


def test_a_doubt_ends_only_by_evidence_or_by_a_person() -> None:
    verbs = [verbs for (before, _), verbs in TRANSITIONS.items() if before is State.IN_DOUBT]

    assert set().union(*verbs) == {Verb.RECORD, Verb.RESOLVE}


def test_only_a_person_gives_a_failure_another_chance() -> None:
    assert TRANSITIONS[State.FAILED, State.WAITING] == {Verb.REQUEUE}
    assert reached_by(Verb.REQUEUE) == {(State.FAILED, State.WAITING)}


@pytest.mark.parametrize("state", [State.SKIPPED, State.SUPPRESSED, State.EXPIRED, State.CANCELLED])
def test_what_must_not_go_does_not_come_back(state: State) -> None:
    assert {after for before, after in TRANSITIONS if before is state} == {State.ACCEPTED}


def test_a_lost_worker_never_puts_its_window_back() -> None:
    assert not states.allows(Verb.SWEEP, State.WAITING, State.WAITING)
    assert states.allows(Verb.SWEEP, State.WAITING, State.IN_DOUBT)


@pytest.mark.parametrize("state", State)
def test_the_gates_give_exactly_the_verdicts_that_arming_may_write(state: State) -> None:
    allowed = states.allows(Verb.ARM, State.WAITING, state)

    # In doubt is no verdict of the gates: it is where a verdict on a doubtful mail ends.
    assert states.is_verdict(state) == (allowed and state is not State.IN_DOUBT)
