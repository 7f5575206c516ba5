"""What SES answers about an account, its identities and its configuration sets."""

from pydantic import BaseModel, ConfigDict, FiniteFloat, model_validator
from pydantic.alias_generators import to_pascal

ACCOUNT_PATH = "/v2/email/account"
SUCCESS = "SUCCESS"
_NOT_STARTED = "NOT_STARTED"


class _State(BaseModel):
    """A document of SES; members that we do not need are ignored."""

    model_config = ConfigDict(frozen=True, alias_generator=to_pascal)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, document: object) -> object:
        """SES may write a member that it leaves out elsewhere as null."""
        if not isinstance(document, dict):
            return document
        return {name: value for name, value in document.items() if value is not None}


class Quota(_State):
    max_24_hour_send: float = 0
    max_send_rate: float = 0
    sent_last_24_hours: float = 0


class AccountState(_State):
    """The answer of GetAccount."""

    enforcement_status: str = "HEALTHY"
    production_access_enabled: bool
    sending_enabled: bool
    send_quota: Quota = Quota()


class ReportedQuota(_State):
    """Complete, unlike `Quota`: a figure that is missing is not 0."""

    max_24_hour_send: FiniteFloat
    max_send_rate: FiniteFloat
    sent_last_24_hours: FiniteFloat


class QuotaState(_State):
    """The answer of GetAccount, where only the quota counts."""

    send_quota: ReportedQuota


class Dkim(_State):
    signing_enabled: bool = False
    status: str = _NOT_STARTED
    tokens: list[str] = []
    signing_hosted_zone: str = ""
    signing_attributes_origin: str = ""


class MailFrom(_State):
    mail_from_domain: str = ""
    mail_from_domain_status: str = _NOT_STARTED
    behavior_on_mx_failure: str = ""


class IdentityState(_State):
    """The answer of GetEmailIdentity."""

    verified_for_sending_status: bool
    verification_status: str = ""
    dkim_attributes: Dkim = Dkim()
    mail_from_attributes: MailFrom = MailFrom()
    configuration_set_name: str = ""

    @property
    def is_verified(self) -> bool:
        return self.verified_for_sending_status


class SendingOptions(_State):
    sending_enabled: bool = True


class ConfigurationSetState(_State):
    """The answer of GetConfigurationSet."""

    sending_options: SendingOptions = SendingOptions()


class SnsDestination(_State):
    topic_arn: str = ""


class EventDestinationState(_State):
    name: str
    enabled: bool = False
    matching_event_types: list[str] = []
    sns_destination: SnsDestination = SnsDestination()


class EventDestinationsState(_State):
    """The answer of GetConfigurationSetEventDestinations."""

    event_destinations: list[EventDestinationState] = []
