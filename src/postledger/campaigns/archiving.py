"""Archives senders and accounts, unless mail still waits for them."""

from collections.abc import Collection

from django.db import transaction

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import Sender
from postledger.campaigns.planning import planning
from postledger.deliveries import queries
from postledger.lib import sentences
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import Sentence, say


class MailWaitsError(ConflictError):
    code = "mail_waits"

    def __init__(self, waiting: int, unplanned: int) -> None:
        self.waiting, self.unplanned = waiting, unplanned
        super().__init__(sentences.join([_say_waiting(waiting, unplanned), _ARCHIVE_LATER]))


_ARCHIVE_LATER = say(
    "Archive it when they are sent; or cancel their streams; or agree to it with"
    " although_mail_waits: then it takes no new mail, and what waits is still sent."
)


def _say_waiting(waiting: int, unplanned: int) -> Sentence:
    if not unplanned:
        return say("Mails that wait for it: %(waiting)s.", waiting=waiting)
    return say(
        "Mails that wait for it: %(waiting)s, and campaign runs still being planned: %(runs)s.",
        waiting=waiting,
        runs=unplanned,
    )


def archive_sender(
    workspace_id: int,
    *,
    sender_id: int,
    default_id: int | None = None,
    although_mail_waits: bool,
    actor: str,
) -> bool:
    """Archives as `senders.archive_sender`; refused while mail waits, unless that is agreed."""
    with transaction.atomic():
        is_changed = senders.archive_sender(
            workspace_id, sender_id=sender_id, default_id=default_id, actor=actor
        )
        if is_changed and not although_mail_waits:
            _refuse_waiting([sender_id])
    return is_changed


def archive_account(
    workspace_id: int, *, account_id: int, although_mail_waits: bool, actor: str
) -> bool:
    """Archives as `provider_accounts.archive_account`, with the same refusal."""
    with transaction.atomic():
        is_changed = provider_accounts.archive_account(
            workspace_id, account_id=account_id, actor=actor
        )
        if is_changed and not although_mail_waits:
            own = Sender.objects.filter(account_id=account_id)
            _refuse_waiting(list(own.values_list("pk", flat=True)))
    return is_changed


def _refuse_waiting(sender_ids: Collection[int]) -> None:
    """Called after the senders were archived, in the same transaction: a launch that was quicker
    is seen here, and a later one is refused.
    """
    waiting, unplanned = queries.count_waiting(sender_ids), planning.count_unplanned(sender_ids)
    if waiting or unplanned:
        raise MailWaitsError(waiting, unplanned)
