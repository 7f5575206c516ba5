"""Routes for API keys: a key passes on no more than it has itself."""

from datetime import timedelta
from typing import Annotated

from ninja import Path, Query

from postledger.accounts import keys, queries
from postledger.accounts.keys import NewKey, Scope
from postledger.accounts.models import ApiKey
from postledger.accounts.people import grants
from postledger.web.api.common.fields import Matching
from postledger.web.api.common.pagination import OldestFirstQuery, cut_page
from postledger.web.api.common.routing import Call, Routes
from postledger.web.api.keys.schemas import KeyOut, KeyPage, NewKeyIn, NewKeyOut, RotateKeyIn

routes = Routes("keys", read=Scope.SETUP_READ, write=Scope.SETUP_WRITE)

Prefix = Annotated[
    str,
    Matching("^pl_(live|test)_[a-z0-9]{8}$", "write the part of the token before the dot"),
    Path(description="The part of the token before the dot.", examples=["pl_live_3kq81xvn"]),
]


@routes.get("", KeyPage)
def list_keys(call: Call, query: Query[OldestFirstQuery]) -> dict[str, object]:
    """All keys of the workspace, ended ones included; tokens are not stored."""
    rows = queries.page_keys(call.workspace_id, after=query.after, limit=query.limit + 1)
    return cut_page("keys", rows, query.limit, lambda row: row.pk)


@routes.post("", NewKeyOut, status=201, shown_with=None)
def create_key(call: Call, payload: NewKeyIn) -> NewKey:
    """Creates a key and shows its token once. It gets no scope that the caller's key lacks."""
    grants.check_scopes(payload.scopes, granted=call.scopes)
    grants.check_member(payload.member_id, of_granter=call.member_id)
    return keys.create_key(
        call.workspace_id,
        name=payload.name,
        scopes=payload.scopes,
        is_test=payload.is_test,
        member_id=payload.member_id,
        actor=call.actor,
    )


@routes.get("/{prefix}", KeyOut)
def get_key(call: Call, prefix: Prefix) -> ApiKey:
    """One key: its scopes, when it was last used, and whether it has ended."""
    return keys.get_key(call.workspace_id, prefix)


@routes.post("/{prefix}/rotate", NewKeyOut, status=201, shown_with=None)
def rotate_key(call: Call, prefix: Prefix, payload: RotateKeyIn) -> NewKey:
    """Creates a successor and shows its token once; the old key ends after the overlap.

    A key that may do more than the caller's is not rotated.
    """
    old = keys.get_key(call.workspace_id, prefix)
    grants.check_scopes(old.scopes, granted=call.scopes)
    grants.check_member(old.member_id, of_granter=call.member_id)
    overlap = timedelta(seconds=payload.overlap_seconds)
    return keys.rotate_key(
        call.workspace_id, prefix=prefix, overlap=overlap, actor=call.actor, now=call.now
    )


@routes.post("/{prefix}/revoke", KeyOut)
def revoke_key(call: Call, prefix: Prefix) -> ApiKey:
    """Ends a key at once; running processes follow within a second."""
    keys.revoke_key(call.workspace_id, prefix=prefix, actor=call.actor, now=call.now)
    return keys.get_key(call.workspace_id, prefix)
