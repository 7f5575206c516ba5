"""Finds the operation of a request by its method and path, as the vendor's API has them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tools.fakes.http.exchanges import Request
from tools.fakes.http.faults import Operation

type Document = dict[str, Any]


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


@dataclass(frozen=True, slots=True)
class Route[A, T]:
    """One operation on an account; {…} in its path stands for one segment."""

    name: str
    method: str
    path: str  # after the prefix of all paths
    run: Callable[[A, Call], T] | None = None  # None: the service does it itself, as it takes mail

    @property
    def operation(self) -> Operation:
        return Operation(self.name, is_send=self.run is None)


type Found[A, T] = tuple[Route[A, T], Mapping[str, str]]  # with the parameters in its path


@dataclass(slots=True)
class RouteTable[A, T]:
    prefix: str
    routes: Sequence[Route[A, T]]
    # Found without a search: mail comes thousands of times in a second.
    _by_target: dict[tuple[str, str], Route[A, T]] = field(init=False)

    def __post_init__(self) -> None:
        self._by_target = {
            (route.method, f"{self.prefix}{route.path}"): route
            for route in self.routes
            if "{" not in route.path
        }

    def find(self, request: Request) -> Found[A, T] | None:
        exact = self._by_target.get((request.method, request.target))
        if exact is not None:
            return exact, {}
        for route in self.routes:
            parameters = self._match(route, request)
            if parameters is not None and request.method == route.method:
                return route, parameters
        return None

    def has_path(self, request: Request) -> bool:
        """Whether another method would find an operation."""
        return any(self._match(route, request) is not None for route in self.routes)

    def _match(self, route: Route[A, T], request: Request) -> Mapping[str, str] | None:
        segments, wanted = request.segments, f"{self.prefix}{route.path}".split("/")[1:]
        if len(segments) != len(wanted):
            return None
        parameters = {}
        for segment, name in zip(segments, wanted, strict=True):
            if name.startswith("{") and segment:
                parameters[name[1:-1]] = segment
            elif name != segment:
                return None
        return parameters
