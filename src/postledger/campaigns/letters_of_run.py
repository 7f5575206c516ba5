"""Puts letters into the stream of a run, with the list that their readers may leave."""

from postledger.campaigns.models import Run
from postledger.contacts.unsubscribe import GENERAL
from postledger.deliveries import ledger
from postledger.deliveries.entries import Body


def add(run: Run, number: int, digest: str, *, subject: str) -> None:
    """A mail without a list is left by leaving everything that the workspace sends."""
    body = Body(
        subject=subject,
        letter=digest,
        list_key=run.list_key or GENERAL,
        request_id=str(run.pk),
    )
    ledger.add_letters(run.stream_id, {number: body})
