"""The keys of SendGrid's event webhooks: registered, removed, and looked up by their account."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from postledger.accounts import constraints, provider_accounts, trail
from postledger.accounts.trail import Action
from postledger.feedback.models import WebhookKey
from postledger.lib.errors import ConflictError, RefusedError
from postledger.lib.sentences import say
from postledger.providers.sendgrid import event_signature

_SENDGRID = "sendgrid"
_MOST_KEYS = 10  # of an account: a stranger's post is checked against each
_LONGEST_ID = 100
_NOTED_EVERY = timedelta(minutes=1)


class KeyTakenError(ConflictError):
    code = "webhook_key_taken"


class TooManyKeysError(ConflictError):
    code = "too_many_webhook_keys"


class InvalidKeyError(RefusedError):
    code = "invalid_webhook_key"


@dataclass(frozen=True, slots=True)
class Listener:
    """An account whose posts are believed if one of these keys, by their ids, signed them."""

    account_id: int
    workspace_id: int
    keys: Mapping[int, EllipticCurvePublicKey]


def register_key(
    workspace_id: int, account_id: int, *, public_key: str, webhook_id: str = "", actor: str
) -> int:
    """Believes from now on what the key signs, beside what the account's other keys sign.

    Another registration by the same account changes the webhook's id, if one is given. Refused
    while another account has the key.
    """
    key = _write(public_key)
    if len(webhook_id) > _LONGEST_ID or not webhook_id.isprintable():
        raise InvalidKeyError(
            say("The webhook's id is none of SendGrid's: copy it as it is shown.")
        )
    taken = KeyTakenError(
        say(
            "Another account of this installation has this key. Remove it there, or create a"
            " webhook of its own for this account."
        )
    )
    with constraints.refusing(feedback_webhook_key_once=taken):
        _check_account(workspace_id, account_id)
        row, is_new = WebhookKey.objects.get_or_create(
            public_key=key,
            account_id=account_id,
            removed_at=None,
            defaults={"workspace_id": workspace_id, "webhook_id": webhook_id},
        )
        if is_new or webhook_id not in ("", row.webhook_id):
            WebhookKey.objects.filter(pk=row.pk).update(webhook_id=webhook_id)
            _note(row, "webhook_key.registered", actor, webhook_id=webhook_id)
        if len(list_keys(account_id)) > _MOST_KEYS:
            raise TooManyKeysError(
                say(
                    "The account has %(most)s keys already. Remove those that its webhooks no"
                    " longer use.",
                    most=_MOST_KEYS,
                )
            )
    return row.pk


def _check_account(workspace_id: int, account_id: int) -> None:
    """An archived account may have keys: events of its mail still come."""
    account = provider_accounts.lock_account(workspace_id, account_id)
    if account.kind != _SENDGRID:
        raise InvalidKeyError(
            say(
                "The account “%(name)s” is not one of SendGrid, so no webhook of SendGrid reports"
                " its mail. Use an account of kind sendgrid.",
                name=account.name,
            )
        )


def remove_key(workspace_id: int, account_id: int, *, public_key: str, actor: str) -> bool:
    """Believes the key no longer; False if the account does not have it.

    Posts that are stored already are applied.
    """
    own = WebhookKey.objects.filter(
        workspace_id=workspace_id,
        account_id=account_id,
        public_key=_write(public_key),
        removed_at=None,
    )
    with transaction.atomic():
        row = own.select_for_update().first()
        if row is None:
            return False
        WebhookKey.objects.filter(pk=row.pk).update(removed_at=Now())
        _note(row, "webhook_key.removed", actor)
    return True


def list_keys(account_id: int) -> list[WebhookKey]:
    """The keys that an account believes, the oldest first."""
    return list(WebhookKey.objects.filter(account_id=account_id, removed_at=None).order_by("pk"))


def find_listener(account_id: int) -> Listener | None:
    """The account with its keys; None if it has none."""
    # Looked up for each post, because a post has many events. Were those who listen remembered,
    # the time of a refusal would tell strangers who does.
    rows = list_keys(account_id)
    loaded = ((row.pk, event_signature.load_key(row.public_key)) for row in rows)
    keys = {id_: key for id_, key in loaded if key is not None}
    return Listener(account_id, rows[0].workspace_id, keys) if keys else None


_noted: dict[int, float] = {}  # by key, when this process may note its use again


def note_use(key_id: int, now: datetime) -> None:
    """Keeps for people when a key was last used, to the minute.

    A process asks the database once a minute, and waits for nobody who holds the row.
    """
    if time.monotonic() < _noted.get(key_id, 0.0):
        return
    _noted[key_id] = time.monotonic() + _NOTED_EVERY.total_seconds()
    is_due = Q(last_used_at=None) | Q(last_used_at__lt=now - _NOTED_EVERY)
    with transaction.atomic():
        row = WebhookKey.objects.select_for_update(skip_locked=True).filter(is_due, pk=key_id)
        if row.exists():
            WebhookKey.objects.filter(pk=key_id).update(last_used_at=now)


def _write(public_key: str) -> str:
    key = event_signature.load_key(public_key.strip())
    if key is None:
        raise InvalidKeyError(
            say(
                "This is no verification key of SendGrid: it shows one in base64, which begins with"
                " MFkwEwYHKoZIzj0C. Copy all of it."
            )
        )
    return event_signature.write_key(key)


def _note(row: WebhookKey, action: Action, actor: str, **data: trail.Fact) -> None:
    trail.note(
        row.workspace_id,
        actor=actor,
        action=action,
        subject=f"account {row.account_id}",
        data={"public_key": row.public_key, **data},
    )
