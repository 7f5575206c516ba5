"""The paths under /_fake that are about events, of every vendor that has some."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from pydantic import TypeAdapter

from tools.fakes.events.disturbances import Disturbances
from tools.fakes.events.publisher import Publisher
from tools.fakes.events.shares import Shares
from tools.fakes.http.control import ControlPath, answer_json
from tools.fakes.http.exchanges import Answer, Request

_DISTURBANCES = TypeAdapter(Disturbances)


class Reporting(Protocol):
    """A service that reports what becomes of mail."""

    @property
    def publisher(self) -> Publisher[Any, Any]: ...


def list_paths(shares: type[Shares]) -> Mapping[str, ControlPath[Reporting]]:
    """`shares` has the vendor's outcomes."""
    adapter = TypeAdapter(shares)

    def report(service: Reporting, request: Request, _: Sequence[str]) -> Answer:
        if request.method == "PUT":
            service.publisher.shares = adapter.validate_json(request.body)
        return answer_json(asdict(service.publisher.shares))

    return {
        "events": ControlPath("GET or PUT /_fake/events", _disturb, is_set_up=True),
        "reports": ControlPath("GET or PUT /_fake/reports", report, is_set_up=True),
    }


def _disturb(service: Reporting, request: Request, _: Sequence[str]) -> Answer:
    publisher = service.publisher
    if request.method == "PUT":
        publisher.disturb(_DISTURBANCES.validate_json(request.body))
    counts = {**publisher.counts, "waiting": publisher.waiting}
    return answer_json({**asdict(publisher.disturbances), "counts": counts})
