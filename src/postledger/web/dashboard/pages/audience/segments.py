"""Saved segments: searches under a name, for the next search and for campaigns."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from postledger.accounts import constraints
from postledger.accounts.people.roles import Permission
from postledger.accounts.trail import Action
from postledger.contacts import audience, segments
from postledger.contacts.filters import parsing
from postledger.contacts.models import Segment
from postledger.contacts.segments import SegmentChangedError
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.web.dashboard import formats
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import condition_words, contact_search
from postledger.web.dashboard.audience.questions import Question, ask
from postledger.web.dashboard.editor import choices
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.parameters import read_number, read_text
from postledger.web.dashboard.shared_form import SharedForm
from postledger.web.shared.sentences import translate

# To count one segment, and all of them; the others are estimated.
_PATIENCE, _PATIENCE_FOR_ALL = timedelta(seconds=2), timedelta(seconds=4)
_LEAST = timedelta(milliseconds=1)


class NameForm(SharedForm):
    name = forms.CharField(
        label=pgettext_lazy("of a thing", "Name"), max_length=constraints.LONGEST_NAME
    )
    changed_by: ClassVar[Mapping[str, Action]] = {"name": "segment.renamed"}


@require_safe
def show(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    ends = time.monotonic() + _PATIENCE_FOR_ALL.total_seconds()
    labels = choices.name_fields(visitor.workspace.pk)
    rows = [
        _make_row(visitor, one, timedelta(seconds=ends - time.monotonic()), labels)
        for one in segments.list_segments(visitor.workspace.pk)
    ]
    values = {
        "title": _("Segments"),
        "may_manage": visitor.may(Permission.MANAGE_CONTACTS),
        "rows": rows,
    }
    return render_page(request, visitor, "dashboard/audience/segments.html", values)


def _make_row(
    visitor: Visitor, segment: Segment, left: timedelta, labels: Mapping[str, str]
) -> Mapping[str, Any]:
    contacts_url = reverse("contacts", args=[visitor.workspace.pk])
    opened = urlencode({"segment": segment.pk, "seen": segments.digest_filter(segment.filter)})
    values = {
        "segment": segment,
        "url": f"{contacts_url}?{contact_search.write_query(segment.filter)}&{opened}",
        "conditions": condition_words.describe_filter(segment.filter, labels),
    }
    try:
        wanted = parsing.parse(segment.filter, now=datetime.now(UTC))
        patience = max(_LEAST, min(_PATIENCE, left))
        count = audience.count_or_estimate(visitor.workspace.pk, wanted, patience=patience)
    except RefusedError as error:
        return {**values, "trouble": translate(error)}
    return {**values, "count": count}


@require_POST
def create(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    """Keeps the search of the page that posts it, under a name or in place of another one."""
    search = contact_search.read_search(request.POST)
    url = reverse("contacts", args=[visitor.workspace.pk])
    name, replaced = read_text(request.POST, "name").strip(), read_number(request.POST, "replaced")
    seen = read_text(request.POST, "seen")
    try:
        stored, now = contact_search.build_segment(search), datetime.now(UTC)
        if replaced is not None:
            segments.change_filter(
                *(visitor.workspace.pk, replaced),
                stored=stored,
                seen=seen,
                actor=visitor.actor,
                now=now,
            )
            messages.success(request, _("Saved."))
            return redirect("segments", visitor.workspace.pk)
        segments.create_segment(
            visitor.workspace.pk, name=name, stored=stored, actor=visitor.actor, now=now
        )
    except SegmentChangedError as error:
        text = _("%(refusal)s They are now: %(conditions)s.")
        conditions = _describe(visitor, error.stored)
        messages.error(request, text % {"refusal": translate(error), "conditions": conditions})
        seen = segments.digest_filter(error.stored)
        return redirect(f"{url}?{_write_query(request.POST, name, replaced, seen)}")
    except RefusedError as error:
        messages.error(request, translate(error))
        return redirect(f"{url}?{_write_query(request.POST, name, replaced, seen)}")
    messages.success(request, _("Saved as the segment %(name)s.") % {"name": formats.isolate(name)})
    return redirect("segments", visitor.workspace.pk)


def _describe(visitor: Visitor, stored: Mapping[str, Any]) -> str:
    return condition_words.describe_filter(stored, choices.name_fields(visitor.workspace.pk))


def _write_query(posted: QueryDict, name: str, replaced: int | None, seen: str) -> str:
    """The search that was to be kept, and the digest of the conditions that the person has seen."""
    query = posted.copy()
    for field in ("csrfmiddlewaretoken", "replaced", "seen"):
        query.pop(field, None)
    query["name"] = name
    if replaced is not None:
        query["segment"] = str(replaced)
        query["seen"] = seen
    return query.urlencode()


@require_http_methods(["GET", "HEAD", "POST"])
def rename(request: HttpRequest, visitor: Visitor, segment_id: int) -> HttpResponse:
    segment = segments.get_segment(visitor.workspace.pk, segment_id)
    posted = request.POST if request.method == "POST" else None
    form = NameForm({"name": segment.name}, posted)
    if form.is_valid() and _rename(visitor, segment_id, form):
        return redirect("segments", visitor.workspace.pk)
    question = _ask_about(visitor, segment, _("Rename %(name)s"), _("Rename"), [])
    values = {"title": question.heading, "question": question, "form": form}
    return render_page(
        request, visitor, "dashboard/audience/segment_rename.html", values, status=form.status
    )


def _rename(visitor: Visitor, segment_id: int, form: NameForm) -> bool:
    """Writes a changed name; False if it is refused or in conflict."""
    workspace_id = visitor.workspace.pk
    try:
        with transaction.atomic():
            stored = segments.lock_segment(workspace_id, segment_id)
            if not form.take_over({"name": stored.name}):
                url = reverse("segment", args=[workspace_id, segment_id])
                form.describe_conflict(visitor, subjects=[f"segment {segment_id}"], url=url)
                return False
            if form.changed:
                name = form.cleaned_data["name"]
                segments.rename_segment(workspace_id, segment_id, name=name, actor=visitor.actor)
    except NotFoundError:
        raise
    except RefusedError as error:
        form.add_error("name", translate(error))
    return form.is_valid()


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, visitor: Visitor, segment_id: int) -> HttpResponse:
    segment = segments.get_segment(visitor.workspace.pk, segment_id)
    if request.method == "POST":
        segments.delete_segment(visitor.workspace.pk, segment_id, actor=visitor.actor)
        messages.success(request, _("Deleted."))
        return redirect("segments", visitor.workspace.pk)
    sentences = [_("Nobody is deleted, and campaigns that took it over keep its conditions.")]
    question = _ask_about(visitor, segment, _("Delete %(name)s?"), _("Delete"), sentences)
    return ask(request, visitor, question, PageForm())


def _ask_about(
    visitor: Visitor, segment: Segment, heading: str, go: str, sentences: list[str]
) -> Question:
    return Question(
        heading=heading % {"name": formats.isolate(segment.name)},
        sentences=sentences,
        go=go,
        stay=_("Leave it"),
        back_url=reverse("segments", args=[visitor.workspace.pk]),
        back_title=_("Segments"),
    )
