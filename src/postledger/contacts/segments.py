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
from postledger.lib.errors import ConflictError, NotFoundError
from postledger.lib.sentences import say

MOST_SEGMENTS = 100  # of a workspace


class SegmentUnknownError(NotFoundError):
    code = "segment_unknown"


class SegmentExistsError(ConflictError):
    code = "segment_exists"


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


def change_filter(
    workspace_id: int, segment_id: int, *, stored: Mapping[str, Any], actor: str, now: datetime
) -> None:
    """Keeps another filter under the name; campaigns that took the former one over keep it."""
    audience.check(workspace_id, parsing.parse(dict(stored), now=now))
    with transaction.atomic():
        if not _own(workspace_id).filter(pk=segment_id).update(filter=dict(stored)):
            raise _unknown(segment_id)
        _note(workspace_id, "segment.changed", segment_id, actor=actor)


def delete_segment(workspace_id: int, segment_id: int, *, actor: str) -> None:
    """Campaigns that took its filter over keep it."""
    with transaction.atomic():
        segment = _own(workspace_id).select_for_update().filter(pk=segment_id).first()
        if segment is None:
            raise _unknown(segment_id)
        segment.delete()
        _note(workspace_id, "segment.deleted", segment_id, actor=actor, name=segment.name)


def list_segments(workspace_id: int) -> QuerySet[Segment]:
    return _own(workspace_id).order_by("name")


def get_segment(workspace_id: int, segment_id: int) -> Segment:
    segment = _own(workspace_id).filter(pk=segment_id).first()
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
