"""The paths under /_fake, which SES does not have: faults and accepted mail, without a signature."""

import json

from pydantic import ValidationError

from postledger.fakes.ses.faults import RULES, Script
from postledger.fakes.ses.http import Answer, Request
from postledger.fakes.ses.service import Service


def is_control(request: Request) -> bool:
    return request.target.startswith("/_fake/")


def answer(service: Service, request: Request) -> Answer:
    match request.method, request.segments[1:]:
        case "GET", ("messages",):
            return _answer_json([accepted.to_entry() for accepted in service.kept])
        case "PUT" | "POST", ("faults",):
            return _set_faults(service, request)
        case _:
            return _answer_json({"message": "There is no such path."}, 404)


def _set_faults(service: Service, request: Request) -> Answer:
    try:
        rules = tuple(RULES.validate_json(request.body))
    except ValidationError as error:
        return _answer_json({"message": str(error)}, 400)
    kept = service.script.rules if request.method == "POST" else ()
    service.script = Script((*kept, *rules))
    return _answer_json({"rules": len(service.script.rules)})


def _answer_json(document: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(document, default=str).encode())
