"""The settings of one account at Twilio SendGrid."""

from typing import Final, Literal, override

from pydantic import SecretStr, field_validator

from postledger.lib.sentences import say
from postledger.providers.http import settings as http_settings
from postledger.providers.http.settings import HTTPS_PORT, Endpoint, HttpSettings

type Region = Literal["global", "eu"]

_HOSTS: Final = {"global": "api.sendgrid.com", "eu": "api.eu.sendgrid.com"}
_ENDPOINT_FORM = say(
    "leave it out: only a stand-in for SendGrid on this machine has one, such as"
    " http://127.0.0.1:8580"
)


class SendGridSettings(HttpSettings):
    """The region is that of the account, or of the subuser, that the key belongs to."""

    api_key: SecretStr
    region: Region = "global"

    @field_validator("api_key")
    @classmethod
    def _check_key(cls, value: SecretStr) -> SecretStr:
        key = value.get_secret_value()
        if not key or not http_settings.can_be_key(key):
            raise ValueError(say("a key has no spaces, line breaks or characters outside ASCII"))
        return value

    @field_validator("endpoint")
    @classmethod
    def _check_endpoint(cls, value: str) -> str:
        endpoint = http_settings.parse_endpoint(value) if value else None
        if value and not (endpoint and endpoint.is_here):
            raise ValueError(_ENDPOINT_FORM)
        return value

    @property
    @override
    def actual_endpoint(self) -> Endpoint:
        stand_in = http_settings.parse_endpoint(self.endpoint) if self.endpoint else None
        return stand_in or Endpoint(_HOSTS[self.region], HTTPS_PORT, is_encrypted=True)
