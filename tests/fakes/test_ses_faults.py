"""Each scripted fault as a client meets it on the wire, and whether its mail was accepted."""

import pytest

from tests.fakes import ses
from tests.fakes.ses import Wire
from tools.fakes.http.faults import (
    AnswerBadBody,
    AnswerGarbage,
    AnswerGateway,
    BadBody,
    CutRequest,
    DropAnswer,
    End,
    Fault,
    HalveAnswer,
    Moment,
    ResetAtConnect,
    Rule,
    TrickleAnswer,
)
from tools.fakes.ses.server import FakeSes

LARGE = ses.RAW.ljust(4 * 1024 * 1024, b".")


def send(fake: FakeSes, fault: Fault) -> Wire:
    """A connection on which one mail was sent that meets the fault."""
    fake.set_faults(Rule(fault))
    wire = Wire(fake.port)
    wire.send()
    return wire


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


def test_a_connection_can_be_reset_or_refused(fake: FakeSes) -> None:
    fake.set_faults(Rule(ResetAtConnect(), times=1))
    with pytest.raises(ConnectionResetError), Wire(fake.port) as wire:
        wire.read_to_end()
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


def test_a_large_request_that_is_cut_before_its_end_is_never_written_whole(fake: FakeSes) -> None:
    for moment in (Moment.HEAD, Moment.BODY):
        for end in End:
            fake.set_faults(Rule(CutRequest(moment, end)))

            with Wire(fake.port) as wire, pytest.raises(ConnectionError):
                wire.send(raw=LARGE)

            assert ses.recipients(fake) == [], (moment, end)


def read_end(wire: Wire) -> tuple[bytes, End]:
    """What came before the connection ended, and how it ended."""
    received = b""
    try:
        while part := wire.socket.recv(65536):
            received += part
    except ConnectionResetError:
        return received, End.RESET
    return received, End.CLOSE
