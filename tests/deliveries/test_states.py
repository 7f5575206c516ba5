"""The table of transitions is complete, and says what the ledger promises."""

from postledger.deliveries import states
from postledger.deliveries.states import TRANSITIONS, State, Verb


def reached_by(verb: Verb) -> set[tuple[State, State]]:
    return {pair for pair, verbs in TRANSITIONS.items() if verb in verbs}


def test_every_state_but_the_first_is_reached_from_waiting() -> None:
    assert {after for before, after in TRANSITIONS if before is State.WAITING} == set(State)


def test_nothing_leaves_accepted_and_evidence_of_it_is_heard_in_every_other_state() -> None:
    assert not [pair for pair in TRANSITIONS if pair[0] is State.ACCEPTED]
    for state in set(State) - {State.ACCEPTED}:
        assert states.allows(Verb.RECORD, state, State.ACCEPTED), state


def test_every_verb_moves_something_and_every_entry_names_a_verb() -> None:
    assert all(reached_by(verb) for verb in Verb)
    assert all(TRANSITIONS.values())


def test_a_doubt_ends_only_by_evidence_or_by_a_person_and_never_by_a_rule() -> None:
    verbs = [verbs for (before, _), verbs in TRANSITIONS.items() if before is State.IN_DOUBT]

    assert set().union(*verbs) == {Verb.RECORD, Verb.RESOLVE}
    for after in (State.CANCELLED, State.SUPPRESSED, State.EXPIRED, State.SKIPPED):
        assert (State.IN_DOUBT, after) not in TRANSITIONS, after


def test_only_a_person_gives_a_failure_another_chance() -> None:
    assert TRANSITIONS[State.FAILED, State.WAITING] == {Verb.REQUEUE}
    assert reached_by(Verb.REQUEUE) == {(State.FAILED, State.WAITING)}


def test_what_must_not_go_does_not_come_back() -> None:
    for state in (State.SKIPPED, State.SUPPRESSED, State.EXPIRED, State.CANCELLED):
        assert {after for before, after in TRANSITIONS if before is state} == {State.ACCEPTED}


def test_a_lost_worker_never_puts_its_window_back() -> None:
    assert not states.allows(Verb.SWEEP, State.WAITING, State.WAITING)
    assert states.allows(Verb.SWEEP, State.WAITING, State.IN_DOUBT)


def test_the_gates_give_exactly_the_verdicts_that_arming_may_write() -> None:
    for state in State:
        allowed = states.allows(Verb.ARM, State.WAITING, state)
        # In doubt is no verdict of the gates: it is where a verdict on a doubtful mail ends.
        assert states.is_verdict(state) == (allowed and state is not State.IN_DOUBT), state
