"""Puts letters into the stream of a run, with the list that their readers may leave."""

from postledger.campaigns.models import Run
from postledger.deliveries import ledger
from postledger.deliveries.entries import Body

GENERAL = "general"  # what a mail without a list is left by: all that the workspace sends


def add(run: Run, number: int, digest: str, *, subject: str) -> None:
    body = Body(
        subject=subject,
        letter=digest,
        list_key=run.list_key or GENERAL,
        request_id=str(run.pk),
    )
    ledger.add_letters(run.stream_id, {number: body})
