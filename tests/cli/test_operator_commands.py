"""The operator's commands on doubts and failures: what they do, say, refuse and note."""

from collections.abc import Callable

import pytest

from postledger.deliveries import audit, entries, ledger, queries, undecided
from postledger.deliveries.attention import deciding
from postledger.deliveries.entries import Decision, Entry, Evidence, SeenDelivery, Window
from postledger.deliveries.queries import EventFacts
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from tests import cast
from tests.cli.command_line import ME, refusal, run, trail

pytestmark = pytest.mark.django_db

BUTTONS = ["--sent", "--not-sent", "--send-again"]


def name(stream_id: int, position: int = 0) -> str:
    return str(DeliveryId(stream_id, position).uuid())


def sent(position: int) -> Entry:
    return entries.accepted(position, message_id=f"ses-{position}")


def refused(position: int) -> Entry:
    return entries.refused(position, code="550 5.1.1", detail="No such mailbox.")


def failed(mails: int = 1, *, workspace: str = "acme") -> int:
    stream_id = cast.stream(mails=mails, workspace=workspace)
    cast.book(stream_id, refused)
    return stream_id


def state(stream_id: int, position: int = 0) -> State:
    return cast.states(stream_id)[position]


def events(stream_id: int) -> list[tuple[str, str]]:
    facts = queries.find_delivery(stream_id, 0)
    assert facts
    return [(fact.kind, fact.actor) for fact in facts.history if isinstance(fact, EventFacts)]


def test_doubts_are_listed_with_their_stream_age_reason_and_grace() -> None:
    assert run("resolve") == ["No mail is in doubt."]
    first, second = cast.doubtful(), cast.doubtful(2, workspace="globex")
    cast.pass_grace(second)

    lost = "    Its worker was lost while the mail was with the provider; "
    events = "  No events are expected: its account has no topic and no webhook."
    assert run("resolve") == [
        f"acme, stream {first}, campaign “News”: 1 in doubt",
        events,
        f"  {name(first)}  r0@example.com  since NOW",
        f"{lost}sending it again is refused until NOW.",
        f"globex, stream {second}, campaign “News”: 2 in doubt",
        events,
        f"  {name(second)}  r0@example.com  since NOW",
        f"{lost}it may be sent again.",
        f"  {name(second, 1)}  r1@example.com  since NOW",
        f"{lost}it may be sent again.",
        "Mails in doubt: 3, shown: 3.",
        "End a doubt: postledger resolve ID --sent, --not-sent or --send-again.",
    ]
    assert len(run("resolve", "--workspace", "acme")) == 6
    assert len(run("resolve", "--stream", str(second))) == 8
    assert "Mails in doubt: 3, shown: 2." in run("resolve", "--limit", "2")


def test_a_doubt_that_was_folded_away_and_resolved_is_not_listed() -> None:
    stream_id = cast.doubtful(2)
    ledger.fold()
    run("resolve", name(stream_id), "--sent")

    assert undecided.streams_in_doubt() == {stream_id: 1}
    assert [mail.position for mail in undecided.find_undecided(stream_id, State.IN_DOUBT)] == [1]


@pytest.mark.django_db(transaction=True)
def test_each_button_ends_a_doubt_and_is_noted_and_a_repeated_click_changes_nothing() -> None:
    for number, (button, after, message, kind) in enumerate(
        (
            ("--sent", State.ACCEPTED, "it is counted as sent: accepted", "count_as_sent"),
            ("--not-sent", State.FAILED, "it is counted as not sent: failed", "count_as_not_sent"),
            ("--send-again", State.WAITING, "it waits to be sent again.", "send_again"),
        )
    ):
        stream_id = cast.doubtful()
        cast.pass_grace(stream_id)

        story, done = run("resolve", name(stream_id), button)
        again = refusal("resolve", name(stream_id), button)

        assert story == "To r0@example.com, delivery 0 of campaign “News”."
        assert done.startswith("Done: ")
        assert message in done
        assert again.startswith("Nothing changed: meanwhile it ")
        assert state(stream_id) is after
        assert events(stream_id) == [(kind, ME)]
        noted = ("acme", ME, f"doubt.{kind}", f"delivery {name(stream_id)}", {"count": 1})
        assert trail()[number:] == [noted]
        assert audit.audit(stream_id).discrepancies == []


def test_a_name_that_is_given_is_noted_beside_who_typed_and_a_try_names_its_mail() -> None:
    stream_id = cast.doubtful()

    run("resolve", str(DeliveryId(stream_id, 0, 1).uuid()), "--sent", "--actor", "alice")

    assert state(stream_id) is State.ACCEPTED
    assert events(stream_id) == [("count_as_sent", f"alice by {ME}")]
    assert trail()[0][1] == f"alice by {ME}"


def test_nothing_is_sent_again_while_bytes_may_still_leave() -> None:
    stream_id, counted = cast.doubtful(), cast.doubtful()

    assert refusal("resolve", name(stream_id), "--send-again") == (
        "Nothing changed: its doubtful try may still arrive until NOW; send it again after that."
        f" See postledger why {name(stream_id)}."
    )
    assert state(stream_id) is State.IN_DOUBT
    assert trail() == []
    run("resolve", name(counted), "--not-sent")
    assert "may still arrive until NOW" in refusal("requeue", name(counted))

    cast.pass_grace(stream_id)
    cast.pass_grace(counted)
    run("resolve", name(stream_id), "--send-again")
    run("requeue", name(counted))

    assert state(stream_id) is state(counted) is State.WAITING
    assert cast.batches(stream_id) == [(0, 1, 2, "sent_again")]


def test_a_doubt_that_evidence_ended_is_left_as_evidence_says() -> None:
    stream_id = cast.doubtful()
    ledger.record(stream_id, [Evidence(1, sent(0), "ses")])

    assert refusal("resolve", name(stream_id), "--not-sent").startswith(
        "Nothing changed: meanwhile it was accepted at NOW. See postledger why"
    )
    assert state(stream_id) is State.ACCEPTED


def test_of_a_cancelled_stream_nothing_is_sent_again_but_doubts_end() -> None:
    stream_id = cast.doubtful()
    cast.pass_grace(stream_id)
    ledger.cancel(stream_id, actor="bob")

    assert "its stream was cancelled, so it is not sent again." in run("resolve")[3]
    assert (
        "its stream was cancelled NOW by bob, so nothing of it is sent any more. See postledger why"
        in refusal("resolve", name(stream_id), "--send-again")
    )
    run("resolve", name(stream_id), "--sent")
    assert state(stream_id) is State.ACCEPTED


def test_all_doubts_of_a_stream_are_ended_page_by_page() -> None:
    mails = deciding.CHUNK + 1
    stream_id, other = cast.stream(mails=mails), cast.doubtful()
    while queries.read_books([stream_id])[stream_id].waiting:
        cast.lose(stream_id, size=deciding.CHUNK)

    output = run("resolve", "--stream", str(stream_id), "--sent")

    assert output == [
        f"Campaign “News”: {mails} in doubt.",
        f"Decided {mails} mails: each is counted as sent: accepted, and never sent again.",
    ]
    assert set(cast.states(stream_id).values()) == {State.ACCEPTED}
    assert state(other) is State.IN_DOUBT
    assert [(action, subject, data) for _, _, action, subject, data in trail()] == [
        ("doubt.count_as_sent", f"stream {stream_id}", {"count": count}) for count in (500, 1)
    ]
    assert run("resolve", "--stream", str(stream_id), "--sent") == [
        "Campaign “News”: 0 in doubt.",
        "Nothing changed.",
    ]


def test_what_a_click_on_a_stream_leaves_alone_is_counted_with_its_reason() -> None:
    stream_id = cast.stream(mails=3)
    cast.lose(stream_id, size=2)
    cast.pass_grace(stream_id)
    cast.lose(stream_id)

    left = refusal("resolve", "--stream", str(stream_id), "--send-again")

    assert left.splitlines() == [
        "Left 1 mails unchanged.",
        "1: its doubtful try may still arrive until NOW; send it again after that.",
    ]
    states = [state(stream_id, position).value for position in range(3)]
    assert states == ["waiting", "waiting", "in_doubt"]


def test_a_failure_is_requeued_once_and_noted() -> None:
    stream_id = failed()

    assert run("requeue", name(stream_id), "--actor", "alice") == [
        "To r0@example.com, delivery 0 of campaign “News”.",
        "Done: it waits for its next try; attempts are counted anew.",
    ]
    assert cast.batches(stream_id) == [(0, 1, 2, "requeued")]
    subject = f"delivery {name(stream_id)}"
    assert trail() == [("acme", f"alice by {ME}", "failure.requeued", subject, {"count": 1})]
    assert refusal("requeue", name(stream_id)).startswith(
        "Nothing changed: meanwhile it waits to be sent. See postledger why"
    )
    assert len(cast.batches(stream_id)) == 1


def test_failures_of_a_stream_are_requeued_by_their_code() -> None:
    stream_id = cast.stream(mails=4)
    cast.book(stream_id, refused, size=2)
    cast.book(stream_id, lambda n: entries.exhausted(n, code="BUSY"), size=2)

    output = run("requeue", "--stream", str(stream_id), "--code", "BUSY")

    assert output[1].startswith("Decided 2 mails: each waits for its next try;")
    states = [state(stream_id, position).value for position in range(4)]
    assert states == ["failed", "failed", "waiting", "waiting"]


def _counted_as_not_sent(stream_id: int) -> None:
    cast.lose(stream_id)
    ledger.resolve(
        stream_id, [SeenDelivery(0, 1)], decision=Decision.COUNT_AS_NOT_SENT, actor="bob"
    )


def _disproved(stream_id: int) -> None:
    cast.lose(stream_id)
    ledger.record(stream_id, [Evidence(1, refused(0), "ses")])


def test_a_failure_is_found_however_it_failed() -> None:
    fates: list[Callable[[int], object]] = [
        lambda stream_id: cast.book(stream_id, refused),
        lambda stream_id: cast.book(stream_id, lambda n: entries.exhausted(n, code="BUSY")),
        lambda stream_id: cast.judge(
            stream_id, lambda n: entries.invalid(n, code="INVALID_TEMPLATE")
        ),
        *(cast.poison, _counted_as_not_sent, _disproved),
    ]
    for case, fail in enumerate(fates):
        stream_id = cast.stream(mails=1)
        fail(stream_id)
        found = undecided.find_undecided(stream_id, State.FAILED)
        assert state(stream_id) is State.FAILED, case
        assert [mail.position for mail in found] == [0], case


def test_a_failure_beside_mails_that_are_with_the_provider_is_left_alone() -> None:
    stream_id = cast.stream(mails=2)
    taken = cast.claim(stream_id)
    window = Window(taken.batches[0], 2)
    invalid = entries.invalid(0, code="INVALID_TEMPLATE")
    ledger.arm(taken, [window], lease_time=cast.LEASE, verdicts=[invalid])

    output = refusal("requeue", name(stream_id))

    assert "mails beside it are with the provider just now; try again in some minutes" in output
    assert state(stream_id) is State.FAILED


def test_what_cannot_be_meant_is_refused_with_what_to_give() -> None:
    stream_id = cast.doubtful()
    for line, message in {
        "resolve ID": "Choose a decision: --sent, --not-sent or --send-again.",
        "resolve --sent": "Give the id of a mail, or --stream NUMBER",
        "requeue": "Give the id of a mail, or --stream NUMBER",
        "resolve ID --stream 17 --sent": "either the id of a mail or --stream",
        "requeue ID --code BUSY": "--code requires --stream NUMBER.",
        "resolve ID --sent --not-sent": "not allowed with argument",
        "resolve nonsense --sent": "There is no delivery nonsense.",
        "requeue nonsense": "There is no delivery nonsense.",
        "resolve --stream 17": "There is no stream 17; see postledger stream list.",
        "stream hold 17": "There is no stream 17; see postledger stream list.",
        "stream release 99999999999999999999": "There is no stream 99999999999999999999",
        "stream list --workspace acmee": "There is no workspace “acmee”",
        "stream hold 17 --until soon": "'soon' is not a time: use the form",
    }.items():
        assert message in refusal(*line.replace("ID", name(stream_id)).split()), line
    assert state(stream_id) is State.IN_DOUBT


def test_another_workspaces_streams_and_mails_are_not_found() -> None:
    stream_id = cast.doubtful(workspace="globex")
    cast.sender("acme")
    other = ("--workspace", "acme")
    for line in (
        "resolve --stream NUMBER",
        *(f"resolve --stream NUMBER {button}" for button in BUTTONS),
        "requeue --stream NUMBER",
        "stream hold NUMBER",
        "stream release NUMBER",
        "stream cancel NUMBER --yes",
    ):
        assert refusal(*line.replace("NUMBER", str(stream_id)).split(), *other) == (
            f"acme has no stream {stream_id}; see postledger stream list --workspace acme."
        ), line
    for command in (["resolve", "--sent"], ["requeue"]):
        assert refusal(*command, name(stream_id), *other) == (
            f"There is no delivery {name(stream_id)} in workspace “acme”."
        )
    assert state(stream_id) is State.IN_DOUBT
    assert trail() == []


def test_dead_letters_are_listed_by_cause_and_discarded() -> None:
    stream_id = failed(2)
    failed(workspace="globex")

    listed = run("discard", "--workspace", "acme")
    run("discard", name(stream_id))
    run("discard", "--stream", str(stream_id), "--code", "550 5.1.1", "--actor", "alice")

    assert listed[0] == "acme: 2 with 550 5.1.1 (refused) since NOW"
    assert listed[-1] == "Dead letters: 2."
    assert run("discard", "--workspace", "acme") == ["There is no dead letter."]
    assert len(run("discard")) == 3
    assert state(stream_id) is State.FAILED
    assert [(entry[2], entry[4]) for entry in trail()] == [
        ("failure.discarded", {"count": 1}),
        ("failure.discarded", {"count": 1}),
    ]
    assert "discarded it: it stays failed" in "\n".join(run("why", name(stream_id)))
