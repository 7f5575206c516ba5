"""The settings of one account at Amazon SES."""

import re
from typing import Annotated, Self, override

from pydantic import AfterValidator, SecretStr, field_validator, model_validator

from postledger.lib.sentences import say
from postledger.providers.http import settings as http_settings
from postledger.providers.http.settings import HTTPS_PORT, Endpoint, HttpSettings

_ENDPOINT_FORM = say(
    "write it as https://email.eu-west-1.amazonaws.com, or http://127.0.0.1:8579 on this machine"
)
_OWN_HOST = re.compile(
    r"email(?:-fips)?\.(?P<region>[a-z0-9-]+)"
    r"\.(?:amazonaws\.com|api\.aws|amazonaws\.com\.cn|api\.amazonwebservices\.com\.cn)"
)
_LONG_TERM = "AKIA"

# Bounded: it becomes a part of a host name.
_REGION = re.compile(r"[a-z]{2,4}(?:-[a-z]{1,12}){1,3}-[0-9]{1,2}")

_CONFIGURATION_SET = re.compile(r"[A-Za-z0-9_-]{0,64}")
_IDENTITY_ARN = re.compile(r"arn:aws[a-z-]*:ses:[a-z0-9-]+:[0-9]{12}:identity/[!-~]+")


def _check_region(text: str) -> str:
    if not _REGION.fullmatch(text):
        raise ValueError(say("write it as AWS does, such as eu-west-1"))
    return text


def _check_configuration_set(text: str) -> str:
    if not _CONFIGURATION_SET.fullmatch(text):
        raise ValueError(say("use up to 64 letters, digits, hyphens and underscores, such as main"))
    return text


def _check_arn(text: str) -> str:
    if text and not _IDENTITY_ARN.fullmatch(text):
        raise ValueError(
            say(
                "write it as AWS does, such as"
                " arn:aws:ses:eu-west-1:123456789012:identity/acme.example"
            )
        )
    return text


type Region = Annotated[str, AfterValidator(_check_region)]
type ConfigurationSet = Annotated[str, AfterValidator(_check_configuration_set)]
type Arn = Annotated[str, AfterValidator(_check_arn)]


class SesSettings(HttpSettings):
    """Without keys of its own the account uses the credentials of the machine."""

    region: Region
    access_key_id: str = ""
    secret_access_key: SecretStr = SecretStr("")
    session_token: SecretStr = SecretStr("")
    configuration_set: ConfigurationSet = ""
    from_identity_arn: Arn = ""  # of an identity that another AWS account lets us use
    sqs_endpoint: str = ""  # of a stand-in for SQS on this machine; empty: the public one

    @field_validator("endpoint")
    @classmethod
    def _read_endpoint(cls, value: str) -> str:
        if value:
            parse_endpoint(value)
        return value

    @field_validator("sqs_endpoint")
    @classmethod
    def _read_sqs_endpoint(cls, value: str) -> str:
        if value and not parse_endpoint(value).is_here:
            raise ValueError(say("leave it out: only a stand-in for SQS on this machine has one"))
        return value

    @model_validator(mode="after")
    def _match_the_region(self) -> Self:
        own = _OWN_HOST.fullmatch(self.actual_endpoint.host)
        if own and own["region"] != self.region:
            raise ValueError(
                say(
                    "endpoint is that of another region: correct one of the two, or remove the"
                    " endpoint, because the region has one"
                )
            )
        return self

    @model_validator(mode="after")
    def _complete_the_keys(self) -> Self:
        secret = self.secret_access_key.get_secret_value()
        token = self.session_token.get_secret_value()
        if bool(self.access_key_id) != bool(secret):
            raise ValueError(say("give both access_key_id and secret_access_key, or neither"))
        if token and not secret:
            raise ValueError(say("session_token belongs to access_key_id and secret_access_key"))
        if token and self.access_key_id.startswith(_LONG_TERM):
            raise ValueError(
                say(
                    "session_token belongs to temporary keys, and an access_key_id with %(start)s"
                    " is not temporary: remove the token with --unset session_token",
                    start=_LONG_TERM,
                )
            )
        if not all(map(http_settings.can_be_key, (self.access_key_id, secret, token))):
            raise ValueError(say("keys have no spaces, line breaks or characters outside ASCII"))
        return self

    @property
    @override
    def actual_endpoint(self) -> Endpoint:
        if self.endpoint:
            return parse_endpoint(self.endpoint)
        suffix = "amazonaws.com.cn" if self.region.startswith("cn-") else "amazonaws.com"
        return Endpoint(f"email.{self.region}.{suffix}", HTTPS_PORT, is_encrypted=True)


def parse_endpoint(text: str) -> Endpoint:
    """AWS's own, over TLS, or one of this machine; raises ValueError for any other."""
    endpoint = http_settings.parse_endpoint(text)
    if endpoint is None:
        raise ValueError(_ENDPOINT_FORM)
    is_usual = endpoint.is_encrypted and endpoint.port == HTTPS_PORT
    if not (endpoint.is_here or (is_usual and _OWN_HOST.fullmatch(endpoint.host))):
        raise ValueError(
            say(
                "mail and credentials go to AWS only: use an endpoint of SES, such as"
                " https://email.eu-west-1.amazonaws.com, or one of this machine, such as"
                " http://127.0.0.1:8579"
            )
        )
    return endpoint
