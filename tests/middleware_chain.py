"""One chain of middleware for all test clients, as a server has one for all requests.

Each client would load its own with its first request, and WhiteNoise every static file again:
that takes longer than most requests.
"""

from typing import Any

from django.core.handlers.base import BaseHandler
from django.core.signals import setting_changed
from django.test.client import ClientHandler

_CHAIN = (
    "_view_middleware",
    "_template_response_middleware",
    "_exception_middleware",
    "_middleware_chain",
)
_load = ClientHandler.load_middleware
_loaded: dict[str, Any] = {}


def use() -> None:
    """Makes every client of this process do it."""
    ClientHandler.load_middleware = _share  # type: ignore[assignment, method-assign]
    setting_changed.connect(_forget)


def _share(handler: BaseHandler, is_async: bool = False) -> None:  # noqa: FBT001, FBT002  as Django has it
    assert not is_async
    if not _loaded:
        _load(handler)
        _loaded.update({name: getattr(handler, name) for name in _CHAIN})
    vars(handler).update(_loaded)


def _forget(**_change: object) -> None:
    """Middleware may have read the setting when it was loaded."""
    _loaded.clear()
