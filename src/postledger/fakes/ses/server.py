"""The fake SES as a server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from postledger.fakes.events.control import list_paths
from postledger.fakes.http.control import SHARED, ControlPath
from postledger.fakes.http.server import FakeServer
from postledger.fakes.ses import control
from postledger.fakes.ses.events.outcomes import Shares
from postledger.fakes.ses.service import Service


@dataclass(slots=True)
class FakeSes(FakeServer[Service]):
    controls: ClassVar[Mapping[str, ControlPath[Any]]] = {
        **SHARED,
        **list_paths(Shares),
        **control.PATHS,
    }
    service: Service = field(default_factory=Service)
