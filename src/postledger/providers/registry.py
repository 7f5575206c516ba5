"""The kinds of provider, and the protocol of their modules, which are imported on first use."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.providers.base import Finding, Provider, ProviderEvent
from postledger.providers.dns.records import SenderRecords

SANDBOX = "sandbox"  # of accounts whose mail never leaves the process
KINDS: Mapping[str, str] = {
    SANDBOX: "postledger.providers.sandbox.provider",
    "sendgrid": "postledger.providers.sendgrid.provider",
    "ses": "postledger.providers.ses.provider",
    "smtp": "postledger.providers.smtp.provider",
}

# Whose providers are `base.ReadsQuota`; known without importing them.
QUOTA_KINDS = frozenset({"sendgrid", "ses"})


class UnknownKindError(RefusedError):
    code = "provider_unknown"


class ProviderModule(Protocol):
    """What the module of every kind of provider has at its top level."""

    def build(self, settings: Mapping[str, object]) -> Provider:
        """Checks the settings as a person stored them and makes a provider, not yet opened.

        Raises pydantic's ValidationError, which names every wrong setting.
        """
        ...

    async def check(
        self, settings: Mapping[str, object], senders: Sequence[str]
    ) -> Sequence[Finding]:
        """Asks the service, within seconds, whether it takes mail of the account; sends nothing.

        `senders` are the From addresses. The account works if no finding is a problem.
        """
        ...

    async def read_records(
        self, settings: Mapping[str, object], address: str
    ) -> SenderRecords | None:
        """What DNS has to say for the mail of an address, as far as the service says it.

        None if nobody will look anything up.
        """
        ...

    def parse_events(self, headers: Mapping[str, str], body: bytes) -> Sequence[ProviderEvent]:
        """The events of one message of the service; raises ValueError for a text that is none."""
        ...


@cache
def load_module(kind: str) -> ProviderModule:
    path = KINDS.get(kind)
    if path is None:
        raise UnknownKindError(
            say(
                "There is no provider “%(kind)s”; choose one of %(kinds)s.",
                kind=kind,
                kinds=", ".join(KINDS),
            )
        )
    return cast("ProviderModule", import_module(path))


def build(kind: str, settings: Mapping[str, object]) -> Provider:
    return load_module(kind).build(settings)
