"""Reads documents of SES by its API."""

import asyncio
from typing import Protocol

from pydantic import BaseModel, ValidationError

from postledger.providers.base import Failure, Throttled
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer
from postledger.providers.ses import outcomes
from postledger.providers.ses.documents import Obstacle, Unread

ACCOUNT_PATH = "/v2/email/account"
_OK = 200
_NOT_FOUND = 404
_THROTTLED_TRIES = 3
_THROTTLED_SECONDS = 1.1


class Service(Protocol):
    async def ask(self, path: str) -> Answer | Break: ...


async def read[State: BaseModel](service: Service, path: str, state: type[State]) -> State | Unread:
    answer = await _ask(service, path)
    if isinstance(answer, Break):
        return Unread(Obstacle.UNREACHABLE, outcomes.judge_break(answer).detail)
    if answer.status == _OK:
        return _parse(answer, state)
    failure = outcomes.judge_refusal(answer)
    return Unread(_name_obstacle(answer.status, failure), failure.detail)


async def _ask(service: Service, path: str) -> Answer | Break:
    """Asks again after a second if there were too many questions."""
    for _ in range(_THROTTLED_TRIES - 1):
        answer = await service.ask(path)
        if isinstance(answer, Break) or answer.status == _OK:
            return answer
        if not isinstance(outcomes.judge_refusal(answer), Throttled):
            return answer
        await asyncio.sleep(_THROTTLED_SECONDS)
    return await service.ask(path)


def _parse[State: BaseModel](answer: Answer, state: type[State]) -> State | Unread:
    try:
        return state.model_validate_json(answer.body)
    except ValidationError:
        return Unread(Obstacle.UNREACHABLE, "the answer is not one of SES")


def _name_obstacle(status: int, failure: Failure) -> Obstacle:
    if status == _NOT_FOUND and failure.original_code == "NotFoundException":
        return Obstacle.ABSENT
    if failure.original_code in {"AccessDeniedException", "AccessDenied"}:
        return Obstacle.DENIED
    return Obstacle.CREDENTIALS if failure.code == outcomes.CREDENTIALS else Obstacle.UNREACHABLE
