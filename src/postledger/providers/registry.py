"""Which kinds of provider exist, and where; a vendor's module is imported on first use."""

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from postledger.lib.errors import RefusedError
from postledger.providers.base import Provider

KINDS: Mapping[str, str] = {
    "sandbox": "postledger.providers.sandbox.provider",
    "smtp": "postledger.providers.smtp.provider",
}


class UnknownKindError(RefusedError):
    code = "provider_unknown"


class Vendor(Protocol):
    """What every vendor's provider module has at its top level."""

    def build(self, settings: Mapping[str, object]) -> Provider:
        """Checks the settings as a person stored them and makes a provider, not yet opened.

        Raises pydantic's ValidationError, which names every wrong setting.
        """
        ...


def vendor(kind: str) -> Vendor:
    path = KINDS.get(kind)
    if path is None:
        raise UnknownKindError(f"There is no provider “{kind}”; choose one of {', '.join(KINDS)}.")
    return cast("Vendor", import_module(path))


def build(kind: str, settings: Mapping[str, object]) -> Provider:
    return vendor(kind).build(settings)
