"""The paths under /_fake, which no vendor has; they need no key."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tools.fakes.http.exchanges import Answer, Handled, Request
from tools.fakes.http.faults import IdleLimit, Rule, Script
from tools.fakes.http.service import Service

_RULES: TypeAdapter[list[Rule]] = TypeAdapter(list[Rule])
_IDLE_LIMIT = TypeAdapter(IdleLimit)


@dataclass(frozen=True, slots=True)
class ControlPath[S]:
    """What is under one name; `answer` also gets the segments that follow it."""

    usage: str
    answer: Callable[[S, Request, Sequence[str]], Answer]
    is_set_up: bool = False  # a restart must find what was changed there


def is_control(request: Request) -> bool:
    return request.target.startswith("/_fake/")


def handle[S: Service[Any]](
    service: S, paths: Mapping[str, ControlPath[S]], request: Request
) -> Handled[Any]:
    _, name, *rest = request.segments
    path = paths.get(name)
    if path is None:
        usages = "; ".join(path.usage for path in paths.values())
        return Handled(answer_json({"message": f"Unknown path. There are: {usages}."}, 404))
    is_set_up = path.is_set_up and request.method != "GET"
    try:
        return Handled(path.answer(service, request, rest), is_set_up=is_set_up)
    except ValidationError as error:
        issues = error.errors(include_url=False, include_context=False, include_input=False)
        return Handled(answer_json({"message": "The JSON does not fit.", "issues": issues}, 400))
    except ValueError as error:
        return Handled(answer_json({"message": str(error)}, 400))


def answer_json(document: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(document, indent=2).encode() + b"\n")


def _faults(service: Service[Any], request: Request, _: Sequence[str]) -> Answer:
    """PUT replaces all rules, POST adds some, DELETE removes all; each shows what is set then."""
    match request.method:
        case "PUT":
            service.set_rules(_RULES.validate_json(request.body))
        case "POST":
            service.script.add(*service.check_rules(_RULES.validate_json(request.body)))
        case "DELETE":
            service.script = Script()
        case _:
            pass
    script = service.script
    rules = zip(script.rules, script.strikes, strict=True)
    return answer_json([{**asdict(rule), "strikes": strikes} for rule, strikes in rules])


def _idle_limit(service: Service[Any], request: Request, _: Sequence[str]) -> Answer:
    is_set = request.method == "PUT"
    service.idle_limit = _IDLE_LIMIT.validate_json(request.body) if is_set else None
    return answer_json(asdict(service.idle_limit) if service.idle_limit else {})


def _messages(service: Service[Any], _: Request, ids: Sequence[str]) -> Answer:
    if not ids:
        return answer_json([accepted.to_entry() for accepted in service.kept])
    for accepted in service.kept:
        if accepted.message_id == ids[0]:
            return Answer(200, accepted.raw, "message/rfc822")
    return answer_json({"message": "This message was never accepted, or is no longer kept."}, 404)


SHARED: Mapping[str, ControlPath[Service[Any]]] = {
    "faults": ControlPath("GET, PUT, POST or DELETE /_fake/faults", _faults),
    "idle-limit": ControlPath("PUT or DELETE /_fake/idle-limit", _idle_limit),
    "messages": ControlPath("GET /_fake/messages and /_fake/messages/ID", _messages),
}
