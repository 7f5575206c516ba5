"""Clients of AWS for an account's set-up and its queue: SES, SNS and SQS; mail never goes here."""

from typing import Any, Literal

from botocore.config import Config
from botocore.session import Session

from postledger.providers.ses.settings import SesSettings

type Service = Literal["sesv2", "sns", "sqs"]


def open_client(settings: SesSettings, service: Service, *, read_timeout: float = 10.0) -> Any:
    """A client that tries once; without keys of the account it asks botocore's chain for some.

    SNS answers beside SES: an account with an endpoint on this machine uses it for both.
    A long poll of SQS needs a read timeout above its waiting time.
    """
    session = Session()
    # A variable of the environment must not lead credentials to another host.
    session.set_config_variable("ignore_configured_endpoint_urls", True)
    endpoint = settings.sqs_endpoint if service == "sqs" else _find_endpoint(settings, service)
    return session.create_client(
        service,
        region_name=settings.region,
        endpoint_url=endpoint or None,
        aws_access_key_id=settings.access_key_id or None,
        aws_secret_access_key=settings.secret_access_key.get_secret_value() or None,
        aws_session_token=settings.session_token.get_secret_value() or None,
        config=Config(
            connect_timeout=5,
            read_timeout=read_timeout,
            retries={"total_max_attempts": 1, "mode": "standard"},
        ),
    )


def _find_endpoint(settings: SesSettings, service: Service) -> str:
    endpoint = settings.actual_endpoint
    if endpoint.is_here:
        return endpoint.url
    return settings.endpoint if service == "sesv2" else ""
