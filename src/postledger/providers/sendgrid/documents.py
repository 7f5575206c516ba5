"""What SendGrid answers about a key, its senders and its event webhooks."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel, model_validator

from postledger.providers.event_fields import clean_text

SCOPES_PATH = "/v3/scopes"
DOMAINS_PATH = "/v3/whitelabel/domains"
SENDERS_PATH = "/v3/verified_senders"
WEBHOOKS_PATH = "/v3/user/webhooks/event/settings"

# The events that we use, as the settings of a webhook name them. Opens and clicks are not among
# them: every mail is sent without their tracking.
EVENT_TYPES = (
    "processed",
    "delivered",
    "deferred",
    "bounce",
    "dropped",
    "spam_report",
    "unsubscribe",
    "group_unsubscribe",
    "group_resubscribe",
)
_LONGEST_TEXT = 2_000  # of a DNS record with a key

# Reaches terminals.
type _Text = Annotated[str, AfterValidator(lambda text: clean_text(text, _LONGEST_TEXT))]


class _State(BaseModel):
    """A document of SendGrid; members that we do not need are ignored."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, document: object) -> object:
        """SendGrid writes a member that it leaves out elsewhere as null."""
        if not isinstance(document, dict):
            return document
        return {name: value for name, value in document.items() if value is not None}


class ScopesState(_State):
    """The permissions of the key itself."""

    scopes: frozenset[str]


class DnsRecord(_State):
    valid: bool = False
    type: _Text = ""
    host: _Text = ""
    data: _Text = ""


class DomainState(_State):
    """A domain that is authenticated, or is to be."""

    domain: _Text
    valid: bool = False
    dns: Mapping[str, DnsRecord] = {}


class DomainsState(RootModel[list[DomainState]]):
    pass


class SenderState(_State):
    """A single sender: an address that was confirmed by a mail, or is to be."""

    id: int
    from_email: _Text = ""
    verified: bool = False


class SendersState(_State):
    results: list[SenderState] = []


class WebhookState(_State):
    """An event webhook; it signs if it has a key."""

    id: str = Field(default="", pattern="^[A-Za-z0-9_-]{0,100}$")  # becomes part of a path
    url: _Text = ""
    friendly_name: _Text = ""
    public_key: _Text = ""
    enabled: bool = False
    processed: bool = False
    delivered: bool = False
    deferred: bool = False
    bounce: bool = False
    dropped: bool = False
    spam_report: bool = False
    unsubscribe: bool = False
    group_unsubscribe: bool = False
    group_resubscribe: bool = False
    open: bool = False
    click: bool = False

    @property
    def missing_types(self) -> list[str]:
        return [name for name in EVENT_TYPES if not getattr(self, name)]


class WebhooksState(_State):
    """All event webhooks; where there are none, SendGrid may list an empty one."""

    webhooks: list[WebhookState] = []

    @property
    def actual(self) -> list[WebhookState]:
        return [webhook for webhook in self.webhooks if webhook.id]


class SignatureState(_State):
    """The answer about a webhook's signature; the key is empty if it does not sign."""

    public_key: _Text = ""


def name_types(types: Iterable[str]) -> str:
    """As SendGrid's settings show them."""
    return ", ".join(name.replace("_", " ").capitalize() for name in types)
