"""`POST /sendgrid-events/{account}`: what SendGrid's event webhook posts of an account's mail.

SendGrid repeats a post for 24 hours after any answer but 2xx. So what its own key signed is always
stored, also if it cannot be read.
"""

import hashlib
from contextlib import suppress
from datetime import datetime
from functools import cache, partial

from cryptography.hazmat.primitives.asymmetric import ec
from django.http import HttpRequest, HttpResponse

from postledger.feedback import inbox, webhook_keys
from postledger.feedback.inbox import IncomingMessage
from postledger.lib.database_outage import OUTAGE_ERRORS
from postledger.providers.sendgrid import event_signature
from postledger.providers.sendgrid.event_signature import Claim, Forged
from postledger.web.hooks import posts
from postledger.web.hooks.posts import Outcome, SignatureInvalidError

_SIGNATURE = "HTTP_X_TWILIO_EMAIL_EVENT_WEBHOOK_SIGNATURE"
_TIMESTAMP = "HTTP_X_TWILIO_EMAIL_EVENT_WEBHOOK_TIMESTAMP"


def receive_events(request: HttpRequest, account_id: int) -> HttpResponse:
    """Stores one post, durably, and answers; its events are applied later."""
    return posts.answer(request, partial(_take, account_id))


def _take(account_id: int, request: HttpRequest, now: datetime) -> Outcome:
    signature, timestamp = request.META.get(_SIGNATURE, ""), request.META.get(_TIMESTAMP, "")
    # Before the body, which strangers without a signature need not send.
    claim = event_signature.read_headers(signature, timestamp, now=now)
    if isinstance(claim, Forged):
        raise SignatureInvalidError(claim.why)
    body = posts.read_body(request)
    key_id = _verify(account_id, claim, body)
    is_new = inbox.store(account_id, [_as_message(body, claim)])
    with suppress(*OUTAGE_ERRORS):  # the post is stored
        webhook_keys.note_use(key_id, now)
    return Outcome.STORED if is_new else Outcome.REPEATED


def _verify(account_id: int, claim: Claim, body: bytes) -> int:
    """The id of the key that signed. Nobody learns from a refusal whether the account exists."""
    listener = webhook_keys.find_listener(account_id)
    keys = listener.keys if listener else {0: _nobodys_key()}
    key_id = event_signature.find_signer(claim, body, keys)
    if key_id is None:
        raise SignatureInvalidError(
            "No key of the account in this URL has signed this post. Register the key of the"
            " webhook, or remove the webhook."
        )
    return key_id


@cache
def _nobodys_key() -> ec.EllipticCurvePublicKey:
    return ec.generate_private_key(ec.SECP256R1()).public_key()


def _as_message(body: bytes, claim: Claim) -> IncomingMessage:
    """By a hash of its bytes, because a post has no id: one that is repeated is stored once.

    A byte that is not UTF-8 spoils one field, and not the thousand other events.
    """
    message_id = hashlib.sha256(body).hexdigest()
    return IncomingMessage(message_id, body.decode(errors="replace"), claim.sent_at)
