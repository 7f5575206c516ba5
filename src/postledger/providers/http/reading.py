"""Reads documents of a service by its API."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel, ValidationError

from postledger.lib.sentences import say
from postledger.providers.http.exchange import Break
from postledger.providers.http.messages import Answer

_OK = 200
_TRIES = 3
_THROTTLED_SECONDS = 1.1


class Obstacle(StrEnum):
    """Why a service did not say what it was asked."""

    ABSENT = "absent"
    DENIED = "denied"  # the keys are good, and may not ask this
    CREDENTIALS = "credentials"
    THROTTLED = "throttled"
    UNCONNECTED = "unconnected"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Unread:
    obstacle: Obstacle
    detail: str


class Service(Protocol):
    async def ask(self, path: str) -> Answer | Break: ...

    def judge_unread(self, result: Answer | Break) -> Unread:
        """Why a question has no answer that says what was asked."""
        ...


async def read[State: BaseModel](service: Service, path: str, state: type[State]) -> State | Unread:
    """Asks again after a second if there were too many questions."""
    for _ in range(_TRIES - 1):
        result = await _read_once(service, path, state)
        if not (isinstance(result, Unread) and result.obstacle is Obstacle.THROTTLED):
            return result
        await asyncio.sleep(_THROTTLED_SECONDS)
    return await _read_once(service, path, state)


async def _read_once[State: BaseModel](
    service: Service, path: str, state: type[State]
) -> State | Unread:
    answer = await service.ask(path)
    if isinstance(answer, Break) or answer.status != _OK:
        return service.judge_unread(answer)
    try:
        return state.model_validate_json(answer.body)
    except ValidationError:
        return Unread(Obstacle.UNREACHABLE, say("the answer is not the expected document"))
