"""Each scripted fault as a client meets it on the wire, and whether its mail was accepted."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes import ses
from tests.fakes.ses import Wire
from tests.fakes.wire import PATIENCE
from tools.fakes.http.faults import (
    AnswerBadBody,
    AnswerError,
    AnswerGarbage,
    AnswerGateway,
    AnswerLast,
    BadBody,
    CutRequest,
    DelayAnswer,
    DropAnswer,
    End,
    Fault,
    HalveAnswer,
    IdleLimit,
    Moment,
    Operation,
    ResetAtConnect,
    Rule,
    Script,
    Stage,
    TrickleAnswer,
)
from tools.fakes.ses.errors import SesError
from tools.fakes.ses.server import FakeSes

LARGE = ses.RAW.ljust(4 * 1024 * 1024, b".")


def send(fake: FakeSes, fault: Fault) -> Wire:
    """A connection on which one mail was sent that meets the fault."""
    fake.set_faults(Rule(fault))
    wire = Wire(fake.port)
    wire.send()
    return wire


@pytest.mark.parametrize("name", sorted(SesError.known))
def test_every_error_is_answered_in_the_vendors_form(fake: FakeSes, name: str) -> None:
    with send(fake, AnswerError(name)) as wire:
        answer = wire.read_answer()

    usual = SesError(name)
    assert (answer.status, answer.error_type) == (usual.status, name)
    assert json.loads(answer.body) == {"message": usual.message}
    assert answer.headers["x-amzn-requestid"]
    assert ses.recipients(fake) == []


@pytest.mark.parametrize("is_accepted", [False, True])
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_gateway_answers_in_html_and_the_mail_may_be_accepted(
    fake: FakeSes, *, status: int, is_accepted: bool
) -> None:
    with send(fake, AnswerGateway(status, is_accepted)) as wire:
        answer = wire.read_answer()

    assert (answer.status, answer.headers["content-type"]) == (status, "text/html")
    assert "x-amzn-errortype" not in answer.headers
    assert len(fake.service.kept) == is_accepted


@pytest.mark.parametrize("is_accepted", [False, True])
def test_garbage_is_no_http(fake: FakeSes, *, is_accepted: bool) -> None:
    with send(fake, AnswerGarbage(is_accepted)) as wire:
        answer = wire.read_to_end()

    assert answer
    assert b"HTTP/1." not in answer
    assert len(fake.service.kept) == is_accepted


@pytest.mark.parametrize("body", BadBody)
def test_a_complete_200_may_not_name_its_mail(fake: FakeSes, body: BadBody) -> None:
    with send(fake, AnswerBadBody(body)) as wire:
        answer = wire.read_answer()

    assert answer.status == 200
    try:
        assert "MessageId" not in json.loads(answer.body)
    except ValueError:
        assert body is not BadBody.NO_MESSAGE_ID
    assert ses.recipients(fake) == [ses.RECIPIENT]


@pytest.mark.parametrize("end", End)
def test_a_dropped_answer_leaves_an_accepted_mail(fake: FakeSes, end: End) -> None:
    with send(fake, DropAnswer(end)) as wire:
        assert read_end(wire) == (b"", end)

    assert ses.recipients(fake) == [ses.RECIPIENT]


@pytest.mark.parametrize("end", End)
def test_a_request_that_is_cut_after_its_last_byte_is_not_accepted(fake: FakeSes, end: End) -> None:
    with send(fake, CutRequest(Moment.REQUEST, end)) as wire:
        assert read_end(wire) == (b"", end)

    assert ses.recipients(fake) == []


@pytest.mark.parametrize("end", End)
@pytest.mark.parametrize("moment", [Moment.HEAD, Moment.BODY])
def test_a_large_request_that_is_cut_before_its_end_is_never_written_whole(
    fake: FakeSes, moment: Moment, end: End
) -> None:
    fake.set_faults(Rule(CutRequest(moment, end)))

    with Wire(fake.port) as wire, pytest.raises(ConnectionError):
        wire.send(raw=LARGE)

    assert ses.recipients(fake) == []


@pytest.mark.parametrize("end", End)
def test_a_request_can_be_cut_when_only_its_head_has_come(fake: FakeSes, end: End) -> None:
    fake.set_faults(Rule(CutRequest(Moment.HEAD, end)))
    head, _, _ = ses.sign(fake.port, ses.document()).partition(b"\r\n\r\n")

    with Wire(fake.port) as wire:
        wire.socket.sendall(head + b"\r\n\r\n")
        assert read_end(wire) == (b"", end)


def test_a_connection_can_be_reset_as_soon_as_it_is_made(fake: FakeSes) -> None:
    fake.set_faults(Rule(ResetAtConnect(), times=1))

    with pytest.raises(ConnectionResetError):
        connect_and_read(fake.port)
    with Wire(fake.port) as wire:
        wire.send()
        assert wire.read_answer().status == 200


def test_a_delayed_answer_comes_after_the_mail_was_accepted(fake: FakeSes) -> None:
    with send(fake, DelayAnswer(3600)) as wire:
        wait_until(lambda: ses.recipients(fake) == [ses.RECIPIENT])
        wire.socket.settimeout(0.1)
        with pytest.raises(TimeoutError):
            wire.socket.recv(1)

    began_at = time.monotonic()
    with send(fake, DelayAnswer(0.2)) as wire:
        assert wire.read_answer().status == 200
    assert time.monotonic() - began_at >= 0.2


def test_a_trickled_answer_is_whole_in_the_end(fake: FakeSes) -> None:
    with send(fake, TrickleAnswer(0.001)) as wire:
        first = wire.socket.recv(65536)
        answer = wire.read_answer(first)

    assert len(first) < 20
    assert json.loads(answer.body)["MessageId"] == fake.service.kept[0].message_id


@pytest.mark.parametrize("end", [None, *End])
def test_half_an_answer_is_followed_by_silence_or_the_end(fake: FakeSes, end: End | None) -> None:
    with send(fake, HalveAnswer(end)) as wire:
        if end is None:
            assert wire.socket.recv(65536).startswith(b"HTTP/1.1 200")
            wire.socket.settimeout(0.1)
            with pytest.raises(TimeoutError):
                wire.socket.recv(1)
        else:
            received, seen_end = read_end(wire)
            assert seen_end is end
            assert b"}" not in received

    assert ses.recipients(fake) == [ses.RECIPIENT]


@pytest.mark.parametrize("is_announced", [False, True])
def test_an_answer_can_be_the_last_of_its_connection(fake: FakeSes, *, is_announced: bool) -> None:
    with send(fake, AnswerLast(is_announced)) as wire:
        answer = wire.read_answer()
        assert wire.read_to_end() == b""

    assert answer.status == 200
    assert ("connection" in answer.headers) is is_announced


def test_a_connection_is_kept_for_the_next_request(fake: FakeSes) -> None:
    with Wire(fake.port) as wire:
        for name in ("ann@example.com", "bob@example.com"):
            wire.send(name)
            assert wire.read_answer().status == 200
        # Two at once: the second waits in the buffer.
        both = b"".join(
            ses.sign(fake.port, ses.document(name)) for name in ("c@example.com", "d@example.com")
        )
        wire.socket.sendall(both)
        first = wire.socket.recv(65536)
        while first.count(b"MessageId") < 2:
            first += wire.socket.recv(65536)

    assert len(fake.service.kept) == 4


def test_an_idle_connection_is_closed_and_a_busy_one_is_not(fake: FakeSes) -> None:
    fake.set_idle_limit(IdleLimit(0.05, 0.1))
    with Wire(fake.port) as wire:
        assert wire.read_to_end() == b""

    fake.set_faults(Rule(DelayAnswer(0.3)))
    with Wire(fake.port) as wire:
        wire.send()
        assert wire.read_answer().status == 200
        assert wire.read_to_end() == b""


def test_an_idle_limit_is_drawn_between_its_ends_and_by_its_seed() -> None:
    limit = IdleLimit(2, 5, seed=1)
    drawn = [limit.draw(number) for number in range(100)]

    assert all(2 <= seconds <= 5 for seconds in drawn)
    assert max(drawn) - min(drawn) > 2
    assert drawn == [IdleLimit(2, 5, seed=1).draw(number) for number in range(100)]
    assert drawn != [IdleLimit(2, 5, seed=2).draw(number) for number in range(100)]


def test_connections_are_refused_until_the_fake_listens_again(fake: FakeSes) -> None:
    with Wire(fake.port) as wire:
        wire.send()
        assert wire.read_answer().status == 200
        fake.run(fake.refuse_connections())
        assert wire.read_to_end() == b""
    with pytest.raises(ConnectionRefusedError):
        Wire(fake.port)

    fake.run(fake.listen())

    with Wire(fake.port) as wire:
        wire.send()
        assert wire.read_answer().status == 200


def test_what_is_no_http_is_refused_and_closed(fake: FakeSes) -> None:
    with Wire(fake.port) as wire:
        wire.socket.sendall(b"\x16\x03\x01 no http\r\n\r\n")
        assert wire.read_to_end().startswith(b"HTTP/1.1 400")


def test_a_client_that_leaves_in_the_middle_leaves_nothing_behind(fake: FakeSes) -> None:
    with Wire(fake.port) as wire:
        request = ses.sign(fake.port, ses.document())
        wire.socket.sendall(request[:-1])
        wait_until(lambda: len(fake.connections) == 1)
    wait_until(lambda: not fake.connections)

    assert ses.recipients(fake) == []


def test_a_fault_meets_other_operations_where_its_rule_names_them(
    fake: FakeSes, client: Any
) -> None:
    fake.set_faults(Rule(AnswerError("TooManyRequestsException"), operation="Get*"))

    client.send_email(**ses.mail())
    with pytest.raises(client.exceptions.TooManyRequestsException):
        client.get_account()


SENDING = Operation("SendEmail", is_send=True)


def choose(script: Script, *recipients: str) -> list[str]:
    """The kinds of fault that mails to these recipients meet, in their order."""
    faults = (script.choose(Stage.REQUEST, SENDING, [name]) for name in recipients)
    return [fault.kind if fault else "-" for fault in faults]


def test_a_rule_is_chosen_by_recipient_count_and_order() -> None:
    script = Script(
        (
            Rule(AnswerError("MessageRejected"), recipient="refuse+*@*"),
            Rule(DropAnswer(), skip=1, times=2),
            Rule(DelayAnswer(), recipient="SLOW@example.com"),
        )
    )

    chosen = choose(script, "a@b", "refuse+1@b", "c@b", "d@b", "e@b", "slow@Example.com")

    assert chosen == ["-", "error", "drop_answer", "drop_answer", "-", "delay_answer"]
    assert script.strikes == [1, 2, 1]


def test_a_rule_can_count_for_each_recipient() -> None:
    script = Script((Rule(DropAnswer(), times=1, is_counted_by_recipient=True),))

    assert choose(script, "a@b", "c@b", "A@b", "c@b") == ["drop_answer", "drop_answer", "-", "-"]


def test_chance_depends_on_the_seed_and_the_number_alone() -> None:
    def strike(seed: int) -> list[str]:
        return choose(Script((Rule(DropAnswer(), probability=0.3, seed=seed),)), *["a@b"] * 1000)

    assert strike(1) == strike(1) != strike(2)
    assert 200 < strike(1).count("drop_answer") < 400


def test_a_fault_before_the_recipient_is_known_cannot_name_one() -> None:
    with pytest.raises(ValueError, match="before the recipients are known"):
        Rule(CutRequest(Moment.BODY), recipient="ann@*")


def test_an_error_that_the_vendor_does_not_have_needs_a_status(fake: FakeSes) -> None:
    with pytest.raises(ValueError, match="Unknown error"):
        fake.set_faults(Rule(AnswerError("Nonsense")))
    fake.set_faults(Rule(AnswerError("Nonsense", status=418)))


def connect_and_read(port: int) -> bytes:
    with Wire(port) as wire:
        return wire.read_to_end()


def read_end(wire: Wire) -> tuple[bytes, End]:
    """What came before the connection ended, and how it ended."""
    received = b""
    try:
        while part := wire.socket.recv(65536):
            received += part
    except ConnectionResetError:
        return received, End.RESET
    return received, End.CLOSE


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
