"""Deletes an article, unless drafts are made from it."""

from collections.abc import Sequence

from django.db import transaction

from postledger.campaigns import listing
from postledger.campaigns.models import Campaign
from postledger.content import articles


def delete_article(workspace_id: int, *, key: str, actor: str) -> Sequence[Campaign]:
    """The drafts that keep it from being deleted; none if it is deleted.

    The editor locks an article that a draft is to be made from, so no draft comes in between.
    """
    with transaction.atomic():
        articles.lock(workspace_id, key=key)
        drafts = listing.list_drafts_of_article(workspace_id, key)
        if not drafts:
            articles.delete(workspace_id, key=key, actor=actor)
    return drafts
