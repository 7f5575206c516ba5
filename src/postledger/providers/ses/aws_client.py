"""Clients of AWS for an account's set-up and its queue: SES, SNS and SQS; mail never goes here."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.loaders import create_loader
from botocore.session import Session

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.providers.ses.settings import SesSettings

type Service = Literal["sesv2", "sns", "sqs"]

# The descriptions of the services; to read those of one takes a tenth of a second.
_DESCRIPTIONS = create_loader()
_DENIED = frozenset(("AccessDenied", "AccessDeniedException", "AuthorizationError"))


class NoQueueServiceError(RefusedError):
    code = "no_queue_service"


class AwsError(RefusedError):
    code = "aws_error"


def open_client(
    settings: SesSettings, service: Service, *, read_timeout: float = 10.0, tries: int = 1
) -> Any:
    """A client; without keys of the account it asks botocore's chain for some.

    SNS answers beside SES: an account with an endpoint on this machine uses it for both.
    A long poll of SQS needs a read timeout above its waiting time.
    """
    session = Session()
    session.register_component("data_loader", _DESCRIPTIONS)
    # A variable of the environment must not lead credentials to another host.
    session.set_config_variable("ignore_configured_endpoint_urls", value=True)
    return session.create_client(
        service,
        region_name=settings.region,
        endpoint_url=_find_endpoint(settings, service) or None,
        aws_access_key_id=settings.access_key_id or None,
        aws_secret_access_key=settings.secret_access_key.get_secret_value() or None,
        aws_session_token=settings.session_token.get_secret_value() or None,
        config=Config(
            connect_timeout=5,
            read_timeout=read_timeout,
            retries={"total_max_attempts": tries, "mode": "standard"},
        ),
    )


def _find_endpoint(settings: SesSettings, service: Service) -> str:
    endpoint = settings.actual_endpoint
    if service == "sqs":
        if endpoint.is_here and not settings.sqs_endpoint:
            raise NoQueueServiceError(
                say(
                    "The account talks to %(url)s on this machine, and no stand-in for SQS is"
                    " named: have events posted to a URL (--url), or give the account one with"
                    " --set sqs_endpoint=http://127.0.0.1:5000.",
                    url=endpoint.url,
                )
            )
        return settings.sqs_endpoint
    if endpoint.is_here:
        return endpoint.url
    return settings.endpoint if service == "sesv2" else ""


@contextmanager
def explaining_errors() -> Iterator[None]:
    """What AWS refuses, or does not answer, becomes a refusal with its words and a remedy."""
    try:
        yield
    except ClientError as error:
        code, message = find_code(error), error.response["Error"].get("Message", "")
        remedy = say("Correct that, and run this again: what was done stays.")
        if code in _DENIED:
            remedy = say(
                "Give the keys the policy that the page of the sender's reports shows, and"
                " postledger ses policy prints."
            )
        raise AwsError(
            say(
                "AWS refuses %(operation)s (%(code)s): %(message)s. %(remedy)s",
                operation=error.operation_name,
                code=code,
                message=message.removesuffix("."),
                remedy=remedy,
            )
        ) from None
    except BotoCoreError as error:
        raise AwsError(
            say(
                "AWS was not reached: %(reason)s. Run this again: what was done stays.",
                reason=str(error).removesuffix("."),
            )
        ) from None


def find_code(error: ClientError) -> str:
    return error.response["Error"].get("Code", "")
