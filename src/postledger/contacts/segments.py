"""Segments: filters under a name, which searches and campaigns take over."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from postledger.accounts import constraints, trail
from postledger.contacts import audience
from postledger.contacts.filters import parsing
from postledger.contacts.models import Segment
from postledger.lib.digests import digest_json
from postledger.lib.errors import ConflictError, NotFoundError
from postledger.lib.sentences import say

MOST_SEGMENTS = 100  # of a workspace


class SegmentUnknownError(NotFoundError):
    code = "segment_unknown"


class SegmentExistsError(ConflictError):
    code = "segment_exists"


class SegmentChangedError(ConflictError):
    """Has the filter that is stored now."""

    code = "segment_changed"

    def __init__(self, segment: Segment) -> None:
        super().__init__(
            say(
                "Somebody has changed the conditions of the segment “%(name)s” meanwhile. Look"
                " at them, and save again to replace them.",
                name=segment.name,
            )
        )
        self.stored: Mapping[str, Any] = segment.filter


class TooManySegmentsError(ConflictError):
    code = "too_many_segments"


def create_segment(
    workspace_id: int, *, name: str, stored: Mapping[str, Any], actor: str, now: datetime
) -> int:
    """Keeps a filter that can be used; one that names an unknown list is refused."""
    constraints.check_name("a segment", name)
    audience.check(workspace_id, parsing.parse(dict(stored), now=now))
    if _own(workspace_id).count() >= MOST_SEGMENTS:
        raise TooManySegmentsError(
            say(
                "The workspace has %(most)s segments. Delete those that are not needed.",
                most=MOST_SEGMENTS,
            )
        )
    with constraints.refusing(contacts_segment_once=_exists(name)):
        segment = Segment.objects.create(
            workspace_id=workspace_id, name=name, filter=dict(stored), actor=actor
        )
        _note(workspace_id, "segment.created", segment.pk, actor=actor)
    return segment.pk


def rename_segment(workspace_id: int, segment_id: int, *, name: str, actor: str) -> None:
    constraints.check_name("a segment", name)
    with constraints.refusing(contacts_segment_once=_exists(name)):
        if not _own(workspace_id).filter(pk=segment_id).update(name=name):
            raise _unknown(segment_id)
        _note(workspace_id, "segment.renamed", segment_id, actor=actor)


def change_filter(  # noqa: PLR0913  names of arguments, each with a meaning of its own
    workspace_id: int,
    segment_id: int,
    *,
    stored: Mapping[str, Any],
    seen: str = "",
    actor: str,
    now: datetime,
) -> None:
    """Keeps another filter under the name; campaigns that took the former one over keep it.

    `seen` is the digest of the filter that it replaces; another one by now is left as it is.
    """
    audience.check(workspace_id, parsing.parse(dict(stored), now=now))
    with transaction.atomic():
        segment = lock_segment(workspace_id, segment_id)
        if digest_filter(segment.filter) == digest_filter(stored):
            return
        if seen not in {"", digest_filter(segment.filter)}:
            raise SegmentChangedError(segment)
        segment.filter = dict(stored)
        segment.save(update_fields=["filter"])
        _note(workspace_id, "segment.changed", segment_id, actor=actor)


def digest_filter(stored: Mapping[str, Any]) -> str:
    """Tells a filter from others, whatever the order of its names."""
    return digest_json(dict(stored))


def delete_segment(workspace_id: int, segment_id: int, *, actor: str) -> None:
    """Campaigns that took its filter over keep it."""
    with transaction.atomic():
        segment = lock_segment(workspace_id, segment_id)
        segment.delete()
        _note(workspace_id, "segment.deleted", segment_id, actor=actor, name=segment.name)


def list_segments(workspace_id: int) -> QuerySet[Segment]:
    return _own(workspace_id).order_by("name")


def get_segment(workspace_id: int, segment_id: int) -> Segment:
    segment = _own(workspace_id).filter(pk=segment_id).first()
    if segment is None:
        raise _unknown(segment_id)
    return segment


def lock_segment(workspace_id: int, segment_id: int) -> Segment:
    """Its row; the caller is in a transaction."""
    segment = _own(workspace_id).select_for_update().filter(pk=segment_id).first()
    if segment is None:
        raise _unknown(segment_id)
    return segment


def _own(workspace_id: int) -> QuerySet[Segment]:
    return Segment.objects.filter(workspace_id=workspace_id)


def _exists(name: str) -> SegmentExistsError:
    return SegmentExistsError(
        say("There is a segment '%(name)s' already. Choose another name.", name=name[:64])
    )


def _unknown(segment_id: int) -> SegmentUnknownError:
    return SegmentUnknownError(
        say(
            "There is no segment %(segment_id)s; it may have been deleted.",
            segment_id=str(segment_id),
        )
    )


def _note(
    workspace_id: int, action: trail.Action, segment_id: int, *, actor: str, **data: trail.Fact
) -> None:
    subject = f"segment {segment_id}"
    trail.note(workspace_id, actor=actor, action=action, subject=subject, data=data)
