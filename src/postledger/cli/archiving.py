"""Asks before a sender or an account is archived for which mail still waits."""

from collections.abc import Collection

from django.core.management.base import CommandError

from postledger.deliveries import queries


def refuse_waiting(sender_ids: Collection[int], *, is_agreed: bool) -> None:
    """Refuses while mail of these senders waits or is still to be planned, unless that is agreed.

    Called after the senders were archived, in the same transaction: a launch that was quicker is
    seen here, and a later one is refused.
    """
    from postledger.campaigns import planning  # which loads all that renders a mail

    waiting, unplanned = queries.count_waiting(sender_ids), planning.count_unplanned(sender_ids)
    if is_agreed or not (waiting or unplanned):
        return
    runs = f", and campaign runs still being planned: {unplanned}" if unplanned else ""
    raise CommandError(
        f"Mails that wait for it: {waiting}{runs}. Archive it when they are sent; or cancel their"
        " streams (postledger stream list, postledger stream cancel NUMBER); or add --yes: then it"
        " takes no new mail, and what waits is still sent."
    )
