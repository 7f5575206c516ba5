"""The fake SES as a server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tools.fakes.events.control import list_paths
from tools.fakes.http.control import SHARED, ControlPath
from tools.fakes.http.server import FakeServer
from tools.fakes.ses import control
from tools.fakes.ses.events.outcomes import Shares
from tools.fakes.ses.service import Service


@dataclass(slots=True)
class FakeSes(FakeServer[Service]):
    controls: ClassVar[Mapping[str, ControlPath[Any]]] = {
        **SHARED,
        **list_paths(Shares),
        **control.PATHS,
    }
    service: Service = field(default_factory=Service)
