"""What may go wrong with a request, one value type for each; and the rules that choose a fault.

The rules are pure: the same requests in the same order meet the same faults.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field

from tools.fakes.http.draws import draw


class End(StrEnum):
    """How a connection ends."""

    CLOSE = "close"  # in order, with FIN
    RESET = "reset"  # with RST


class Moment(StrEnum):
    """How far a request has come when its connection is cut."""

    HEAD = "head"  # nothing of the body is read
    BODY = "body"  # some of the body is read
    REQUEST = "request"  # all of it is read


class BadBody(StrEnum):
    """A complete answer of success that does not name the mail."""

    UNPARSABLE = "unparsable"
    TRUNCATED = "truncated"
    NO_MESSAGE_ID = "no_message_id"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class ResetAtConnect:
    """The connection is reset as soon as it is accepted."""

    kind: Literal["reset_at_connect"] = "reset_at_connect"


@dataclass(frozen=True, slots=True)
class CutRequest:
    """The connection ends before the mail is accepted."""

    at: Moment = Moment.REQUEST
    end: End = End.CLOSE
    kind: Literal["cut_request"] = "cut_request"


@dataclass(frozen=True, slots=True)
class AnswerError:
    """The vendor's own error document; nothing is accepted."""

    name: str  # as the vendor's fake knows it; any other needs a status
    message: str = ""  # the usual one
    status: int = 0  # the usual one
    kind: Literal["error"] = "error"


@dataclass(frozen=True, slots=True)
class AnswerGateway:
    """An HTML page of something between the client and the service, which may have accepted."""

    status: int = 502
    is_accepted: bool = False
    kind: Literal["gateway"] = "gateway"


@dataclass(frozen=True, slots=True)
class AnswerGarbage:
    """Bytes that are not HTTP."""

    is_accepted: bool = True
    kind: Literal["garbage"] = "garbage"


@dataclass(frozen=True, slots=True)
class AnswerBadBody:
    """An answer of success for an accepted mail, which does not name it."""

    body: BadBody = BadBody.UNPARSABLE
    kind: Literal["bad_body"] = "bad_body"


@dataclass(frozen=True, slots=True)
class DropAnswer:
    """The mail is accepted, and the connection ends without an answer."""

    end: End = End.CLOSE
    kind: Literal["drop_answer"] = "drop_answer"


@dataclass(frozen=True, slots=True)
class DelayAnswer:
    """The mail is accepted, and answered later."""

    seconds: float = 1.0
    kind: Literal["delay_answer"] = "delay_answer"


@dataclass(frozen=True, slots=True)
class TrickleAnswer:
    """The mail is accepted, and answered byte by byte."""

    seconds: float = 0.005  # between two bytes
    kind: Literal["trickle_answer"] = "trickle_answer"


@dataclass(frozen=True, slots=True)
class HalveAnswer:
    """The mail is accepted, and half of the answer is sent; silence follows, or the end."""

    end: End | None = None
    kind: Literal["halve_answer"] = "halve_answer"


@dataclass(frozen=True, slots=True)
class AnswerLast:
    """The mail is accepted and answered, and the connection ends, announced or not."""

    is_announced: bool = True
    kind: Literal["answer_last"] = "answer_last"


type Fault = Annotated[
    ResetAtConnect
    | CutRequest
    | AnswerError
    | AnswerGateway
    | AnswerGarbage
    | AnswerBadBody
    | DropAnswer
    | DelayAnswer
    | TrickleAnswer
    | HalveAnswer
    | AnswerLast,
    Field(discriminator="kind"),
]


def is_refusal(fault: Fault) -> bool:
    """Whether a request that meets the fault has no effect."""
    match fault:
        case CutRequest() | AnswerError():
            return True
        case AnswerGateway(is_accepted=is_accepted) | AnswerGarbage(is_accepted=is_accepted):
            return not is_accepted
        case _:
            return False


class Stage(StrEnum):
    """When a fault is chosen; what a rule can ask for is known by then."""

    CONNECT = "connect"
    HEAD = "head"  # the operation is known
    REQUEST = "request"  # the recipients are known, too


@dataclass(frozen=True, slots=True)
class Operation:
    """What a request asks for, as the vendor names it."""

    name: str = ""
    is_send: bool = False  # it hands over mail


_NONE = Operation()


@dataclass(frozen=True, slots=True)
class Rule:
    """A fault, and the requests that it strikes.

    Requests that match are counted; the first `skip` are spared, and the next `times` meet the
    fault, each with the given probability.
    """

    fault: Fault
    operation: str = ""  # a pattern, as are recipients: * is any text; empty: what sends mail
    recipient: str = "*"
    skip: int = 0
    times: int | None = None
    is_counted_by_recipient: bool = False
    probability: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        is_early = self.stage is not Stage.REQUEST
        if is_early and (self.recipient != "*" or self.is_counted_by_recipient):
            raise ValueError(
                f"“{self.fault.kind}” is chosen before the recipients are known:"
                " leave recipient and is_counted_by_recipient out"
            )

    @property
    def stage(self) -> Stage:
        match self.fault:
            case ResetAtConnect():
                return Stage.CONNECT
            case CutRequest(at=Moment.HEAD | Moment.BODY):
                return Stage.HEAD
            case _:
                return Stage.REQUEST

    def matches(self, operation: Operation, recipients: Sequence[str]) -> bool:
        if self.stage is Stage.CONNECT:
            return True
        if not self.operation and not operation.is_send:
            return False
        if self.operation and not fnmatchcase(operation.name, self.operation):
            return False
        pattern = self.recipient.lower()
        return pattern == "*" or any(fnmatchcase(name.lower(), pattern) for name in recipients)

    def strikes(self, number: int) -> bool:
        """Whether the request that matches as this number, from 1, meets the fault."""
        if number <= self.skip or (self.times is not None and number > self.skip + self.times):
            return False
        return self.probability >= 1 or draw(self.seed, number) < self.probability


@dataclass(slots=True)
class Script:
    """Rules with their counts; of the rules that match, the first that strikes wins."""

    rules: tuple[Rule, ...] = ()
    strikes: list[int] = field(init=False)  # of each rule
    _matches: dict[tuple[int, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.strikes = [0] * len(self.rules)

    def add(self, *rules: Rule) -> None:
        """Adds rules after the others, which keep their counts."""
        self.strikes += [0] * len(rules)
        self.rules += rules

    def choose(
        self, stage: Stage, operation: Operation = _NONE, recipients: Sequence[str] = ()
    ) -> Fault | None:
        for index, rule in enumerate(self.rules):
            if rule.stage is stage and rule.matches(operation, recipients):
                counted_for = recipients[0].lower() if rule.is_counted_by_recipient else ""
                number = self._matches.get((index, counted_for), 0) + 1
                self._matches[index, counted_for] = number
                if rule.strikes(number):
                    self.strikes[index] += 1
                    return rule.fault
        return None


@dataclass(frozen=True, slots=True)
class IdleLimit:
    """How long a connection may be idle, in seconds: drawn anew between both for each wait."""

    shortest: float
    longest: float
    seed: int = 0

    def draw(self, number: int) -> float:
        return self.shortest + (self.longest - self.shortest) * draw(self.seed, number)
