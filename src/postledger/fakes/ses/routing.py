"""Finds the operation of a request by its method and path, as the API's model has them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from postledger.fakes.ses.account import Account
from postledger.fakes.ses.documents import Document
from postledger.fakes.ses.http import Request

_PREFIX = ("v2", "email")


@dataclass(frozen=True, slots=True)
class Call:
    """What an operation is called with."""

    parameters: Mapping[str, str]  # from the path
    query: Mapping[str, list[str]]
    document: Document
    now: datetime

    def first(self, name: str) -> str:
        """A value of the query, empty where it is missing."""
        return self.query.get(name, [""])[0]


type Operation = Callable[[Account, Call], object]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation; `path` begins after /v2/email, and {…} stands for one segment."""

    name: str
    method: str
    path: str
    run: Operation | None = None  # None: the service does it itself

    def match(self, request: Request) -> Mapping[str, str] | None:
        """The parameters in the path of a request, or None if it is of another operation."""
        segments = request.segments
        wanted = (*_PREFIX, *self.path.split("/"))
        if request.method != self.method or len(segments) != len(wanted):
            return None
        parameters = {}
        for segment, name in zip(segments, wanted, strict=True):
            if name.startswith("{") and segment:
                parameters[name[1:-1]] = segment
            elif name != segment:
                return None
        return parameters
