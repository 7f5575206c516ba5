"""Each scripted fault as a client meets it on the wire, and whether its mail was accepted."""

import json
import time
from collections.abc import Callable

import pytest

from tests.fakes import ses
from tests.fakes.ses import Wire
from tests.fakes.wire import PATIENCE
from tools.fakes.http.faults import (
    AnswerBadBody,
    AnswerError,
    AnswerGarbage,
    AnswerGateway,
    BadBody,
    CutRequest,
    DelayAnswer,
    DropAnswer,
    End,
    Fault,
    HalveAnswer,
    Moment,
    ResetAtConnect,
    Rule,
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


def test_every_error_is_answered_in_the_vendors_form(fake: FakeSes) -> None:
    for name in sorted(SesError.known):
        with send(fake, AnswerError(name)) as wire:
            answer = wire.read_answer()

        usual = SesError(name)
        assert (answer.status, answer.error_type) == (usual.status, name)
        assert json.loads(answer.body) == {"message": usual.message}, name
        assert answer.headers["x-amzn-requestid"], name
    assert ses.recipients(fake) == []


# Fault, how its answer begins, how the connection ends, whether the mail is accepted.
TABLE: list[tuple[Fault, bytes, End | None, bool]] = [
    *(
        (AnswerGateway(status, is_accepted), b"HTTP/1.1 %d" % status, None, is_accepted)
        for status in (500, 502, 503, 504)
        for is_accepted in (False, True)
    ),
    *((AnswerGarbage(is_accepted), b"", None, is_accepted) for is_accepted in (False, True)),
    *((AnswerBadBody(body), b"HTTP/1.1 200", None, True) for body in BadBody),
    *((DropAnswer(end), b"", end, True) for end in End),
    *((CutRequest(Moment.REQUEST, end), b"", end, False) for end in End),
    *((HalveAnswer(end), b"HTTP/1.1 200", end, True) for end in End),
    (HalveAnswer(None), b"HTTP/1.1 200", None, True),
    (TrickleAnswer(0.001), b"H", None, True),
]


def test_a_fault_decides_what_is_answered_and_whether_the_mail_is_accepted(fake: FakeSes) -> None:
    for fault, beginning, end, is_accepted in TABLE:
        fake.service.kept.clear()

        with send(fake, fault) as wire:
            answer, seen_end = read_end(wire) if end else (wire.socket.recv(65536), None)

        assert answer.startswith(beginning), fault
        assert bool(answer) is not isinstance(fault, DropAnswer | CutRequest), fault
        assert seen_end is end, fault
        assert len(fake.service.kept) == is_accepted, fault


def test_a_connection_can_be_reset_as_soon_as_it_is_made(fake: FakeSes) -> None:
    fake.set_faults(Rule(ResetAtConnect(), times=1))

    with pytest.raises(ConnectionResetError), Wire(fake.port) as wire:
        wire.read_to_end()
    with Wire(fake.port) as wire:
        wire.send()
        assert wire.read_answer().status == 200


def test_a_large_request_that_is_cut_before_its_end_is_never_written_whole(fake: FakeSes) -> None:
    for moment in (Moment.HEAD, Moment.BODY):
        for end in End:
            fake.set_faults(Rule(CutRequest(moment, end)))

            with Wire(fake.port) as wire, pytest.raises(ConnectionError):
                wire.send(raw=LARGE)

            assert ses.recipients(fake) == [], (moment, end)


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
