"""The account at SES: its identities, configuration sets, suppressions and limits."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from tools.fakes.ses.addresses import SIMULATOR
from tools.fakes.ses.errors import SesError
from tools.fakes.ses.mail import Mail
from tools.fakes.ses.quota import UNLIMITED, Quota
from tools.fakes.ses.sns.topics import Topics

_SHOWN_IDENTITIES = 5


class Status(StrEnum):
    """How far the verification of an identity, its DKIM keys or its MAIL FROM domain is."""

    PENDING = "PENDING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    TEMPORARY_FAILURE = "TEMPORARY_FAILURE"
    NOT_STARTED = "NOT_STARTED"


@dataclass(slots=True)
class Identity:
    """An address or a domain that mail may come from."""

    name: str
    verification: Status = Status.SUCCESS
    dkim: Status = Status.SUCCESS
    mail_from_domain: str = ""
    mail_from: Status = Status.SUCCESS
    rejects_on_mail_from_failure: bool = False  # otherwise mail goes out from amazonses.com
    configuration_set: str = ""  # for mail that names none

    @property
    def is_domain(self) -> bool:
        return "@" not in self.name

    @property
    def is_verified(self) -> bool:
        return self.verification is Status.SUCCESS


@dataclass(slots=True)
class ConfigurationSet:
    name: str
    options: dict[str, Any] = field(default_factory=dict)  # as CreateConfigurationSet got them
    # By name, as SES shows them.
    event_destinations: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def is_paused(self) -> bool:
        return self.options.get("SendingOptions", {}).get("SendingEnabled") is False

    def list_topics(self, matching_type: str = "") -> list[str]:
        """The ARNs of the topics that get events of this type; without one, of any type."""
        return [
            destination["SnsDestination"]["TopicArn"]
            for destination in self.event_destinations.values()
            if destination["Enabled"] and "SnsDestination" in destination
            if not matching_type or matching_type in destination["MatchingEventTypes"]
        ]


@dataclass(slots=True)
class Suppression:
    reason: str
    updated_at: datetime


@dataclass(slots=True)
class Account:
    region: str = "us-east-1"
    has_production_access: bool = True
    is_sending_enabled: bool = True
    enforcement_status: str = "HEALTHY"  # or PROBATION, SHUTDOWN
    quota: Quota = field(default_factory=lambda: Quota(UNLIMITED, UNLIMITED))
    suppressed_reasons: list[str] = field(default_factory=lambda: ["BOUNCE", "COMPLAINT"])
    new_identities: Status = Status.PENDING  # what CreateEmailIdentity begins with
    identities: dict[str, Identity] = field(default_factory=dict)
    configuration_sets: dict[str, ConfigurationSet] = field(default_factory=dict)
    suppressions: dict[str, Suppression] = field(default_factory=dict)
    topics: Topics = field(init=False)  # of SNS, which answers at the same endpoint

    def __post_init__(self) -> None:
        self.topics = Topics(self.region)

    def add_identities(self, *names: str) -> None:
        """Adds verified identities."""
        self.identities.update({name.lower(): Identity(name.lower()) for name in names})

    def add_configuration_sets(self, *names: str) -> None:
        self.configuration_sets.update({name: ConfigurationSet(name) for name in names})

    def find_identity(self, address: str) -> Identity | None:
        """The verified identity that covers an address: itself, its domain, or one above that."""
        name = address.lower()
        while name:
            identity = self.identities.get(name)
            if identity is not None and identity.is_verified:
                return identity
            name = name.partition("@")[2] if "@" in name else name.partition(".")[2]
        return None

    def is_suppressed(self, address: str) -> bool:
        suppression = self.suppressions.get(address.lower())
        return suppression is not None and suppression.reason in self.suppressed_reasons

    def accept(self, mail: Mail, now: datetime) -> str:
        """Counts a mail that may be sent, and names the configuration set that it is sent with.

        Any other mail is a SesError, and is not counted.
        """
        self._check_state()
        identity = self._check_identities(mail)
        configuration_set = mail.configuration_set or identity.configuration_set
        self._check_configuration_set(configuration_set)
        if identity.rejects_on_mail_from_failure and identity.mail_from is not Status.SUCCESS:
            raise SesError(
                "MailFromDomainNotVerifiedException",
                f"MAIL FROM domain {identity.mail_from_domain} is not verified.",
            )
        self.quota.count(len(mail.recipients), now)
        return configuration_set

    def _check_state(self) -> None:
        if self.enforcement_status == "SHUTDOWN":
            raise SesError("AccountSuspendedException")
        if not self.is_sending_enabled:
            raise SesError("SendingPausedException")

    def _check_identities(self, mail: Mail) -> Identity:
        identity = self.find_identity(mail.senders[0])
        unverified = [sender for sender in mail.senders if not self.find_identity(sender)]
        if not self.has_production_access:
            unverified += self._find_unverified(mail.recipients)
        if identity is None or unverified:
            shown = ", ".join(unverified[:_SHOWN_IDENTITIES])
            more = ", ..." if len(unverified) > _SHOWN_IDENTITIES else ""
            raise SesError(
                "MessageRejected",
                "Email address is not verified. The following identities failed the check in"
                f" region {self.region.upper()}: {shown}{more}",
            )
        return identity

    def _find_unverified(self, recipients: Iterable[str]) -> list[str]:
        """In the sandbox of SES recipients must be verified, too, except its simulator."""
        return [
            address
            for address in recipients
            if not address.lower().endswith(f"@{SIMULATOR}") and not self.find_identity(address)
        ]

    def _check_configuration_set(self, name: str) -> None:
        if not name:
            return
        configuration_set = self.configuration_sets.get(name)
        if configuration_set is None:
            raise SesError("NotFoundException", f"Configuration set <{name}> does not exist.")
        if configuration_set.is_paused:
            raise SesError(
                "SendingPausedException", f"Sending is paused for configuration set <{name}>"
            )
