"""Writes the body of SendEmail for one message; pure."""

import json
import re
from binascii import b2a_base64

from postledger.lib.errors import RefusedError
from postledger.providers import addresses, mime
from postledger.providers.base import Failure, OutgoingMessage, Refused
from postledger.providers.http import outcomes as http_outcomes
from postledger.providers.ses.settings import SesSettings

SEND_PATH = "/v2/email/outbound-emails"
REFERENCE_TAG = "postledger-id"  # as the header X-Postledger-Id; it comes back in every event
MAX_ENCODED_SIZE = 40_000_000  # in base64
_MAX_TAG = 256
_NOT_IN_TAGS = re.compile(r"[^A-Za-z0-9_-]")


def write_body(message: OutgoingMessage, settings: SesSettings) -> bytes | Failure:
    """The JSON of one mail to one recipient, or why SES would not take it.

    FromEmailAddress is left out: with Raw content it would replace our From, and drop its name.
    """
    try:
        recipient = addresses.canonical(message.recipient)
        sender = addresses.canonical(message.sender) if message.sender else ""
        content = message.content
        wire = (
            content
            if isinstance(content, bytes)
            else mime.compose(content, reference=message.reference)
        )
    except RefusedError as error:
        return Refused(error.code, str(error))
    is_ascii = recipient.isascii() and wire.partition(b"\r\n\r\n")[0].isascii()
    objection = http_outcomes.object_to_utf8("SES", sender=sender, are_others_ascii=is_ascii)
    if objection is not None:
        return objection
    data = b2a_base64(wire, newline=False)
    if len(data) > MAX_ENCODED_SIZE:
        return Refused("too_big", f"SES takes at most {MAX_ENCODED_SIZE} bytes in base64.")
    head = json.dumps(_fields(message, settings, recipient), separators=(",", ":"))
    return b'%b,"Content":{"Raw":{"Data":"%b"}}}' % (head[:-1].encode(), data)


def _fields(message: OutgoingMessage, settings: SesSettings, recipient: str) -> dict[str, object]:
    fields: dict[str, object] = {
        "Destination": {"ToAddresses": [recipient]},
        "EmailTags": [
            {"Name": REFERENCE_TAG, "Value": message.reference},
            *({"Name": _tag(name), "Value": _tag(text)} for name, text in message.tags.items()),
        ],
    }
    if settings.configuration_set:
        fields["ConfigurationSetName"] = settings.configuration_set
    if settings.from_identity_arn:
        fields["FromEmailAddressIdentityArn"] = settings.from_identity_arn
    return fields


def _tag(text: str) -> str:
    return _NOT_IN_TAGS.sub("_", text)[:_MAX_TAG]
