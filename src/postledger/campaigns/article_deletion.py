"""Deletes an article, unless drafts are made from it."""

from django.db import transaction

from postledger.campaigns import listing
from postledger.content import articles
from postledger.lib.errors import ConflictError
from postledger.lib.sentences import say

_MOST_NAMED = 5


class ArticleInUseError(ConflictError):
    code = "article_in_use"


def delete_article(workspace_id: int, *, key: str, actor: str) -> None:
    """Raises ArticleInUseError while drafts would lose their content.

    The editor locks an article that a draft is to be made from, so no draft comes in between.
    """
    with transaction.atomic():
        articles.lock(workspace_id, key=key)
        drafts = listing.list_drafts_of_article(workspace_id, key)
        if drafts:
            raise ArticleInUseError(
                say(
                    "Drafts are made from the article “%(key)s”: %(drafts)s. Choose other content"
                    " in each of them, or delete them, and try again.",
                    key=key,
                    drafts=", ".join(draft.name for draft in drafts[:_MOST_NAMED]),
                )
            )
        articles.delete(workspace_id, key=key, actor=actor)
