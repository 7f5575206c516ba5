"""A campaign's page: its newest run, live, with the books, the pace, and why it waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import pgettext

from postledger.accounts.people.roles import Permission
from postledger.campaigns import listing
from postledger.campaigns.drafts import drafts
from postledger.campaigns.runs import report, run_content, run_leavers, run_lookup, run_trail
from postledger.campaigns.runs.live_run import LiveRun
from postledger.campaigns.runs.progress import Progress
from postledger.campaigns.runs.run_steps import Step
from postledger.contacts import queries
from postledger.lib.ids import DeliveryId
from postledger.web.dashboard import language_names
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience import audience_words
from postledger.web.dashboard.components import actor_names
from postledger.web.dashboard.frame import render_fragment, render_page
from postledger.web.dashboard.parameters import read_number
from postledger.web.dashboard.runs import figures, rows, steps, words
from postledger.web.dashboard.runs.rows import RunRow
from postledger.web.shared.csv_files import csv_response

_ON_A_PAGE = 100


@dataclass(frozen=True, slots=True)
class Deed:
    at: datetime
    text: str
    icon: str
    tone: str


def show_campaign(request: HttpRequest, visitor: Visitor, campaign_id: int) -> HttpResponse:
    """The newest run of a campaign; of one that was never launched, its editor."""
    run_id = listing.find_last_run(visitor.workspace.pk, campaign_id)
    if run_id is not None:
        return show_run(request, visitor, run_id)
    campaign = drafts.find_campaign(visitor.workspace.pk, campaign_id)
    if visitor.may(Permission.RUN_CAMPAIGNS):
        return redirect("campaign_edit", visitor.workspace.pk, campaign_id)
    list_key = campaign.list_key or ""
    values = {
        "title": campaign.name,
        "campaign": campaign,
        "list_name": queries.name_lists(visitor.workspace.pk, [list_key]).get(list_key, list_key),
        "badge": words.make_badge(words.DRAFT),
        "created_by": _name(visitor, campaign.created_by),
        "runs": _list_runs(visitor, campaign_id),
    }
    return render_page(request, visitor, "dashboard/draft.html", values)


def show_run(request: HttpRequest, visitor: Visitor, run_id: UUID) -> HttpResponse:
    values = _read(visitor, run_id)
    run: Progress = values["run"]
    more = {
        "title": values["campaign"].name,
        "is_whole": True,
        "deeds": _list_deeds(visitor.workspace.pk, run),
        **_describe_content(visitor.workspace.pk, values["campaign"], run_id),
    }
    return render_page(request, visitor, "dashboard/run.html", {**values, **more})


def _describe_content(workspace_id: int, live: LiveRun, run_id: UUID) -> Mapping[str, Any]:
    """What was sent to whom, which never changes: the refreshed part keeps it."""
    content = run_content.read_content(workspace_id, run_id)
    lists = queries.name_lists(workspace_id, [live.list_key]) if live.list_key else {}
    has_one = len(content.subjects) == 1
    return {
        "list_name": lists.get(live.list_key, live.list_key),
        "audience": audience_words.describe_audience(workspace_id, content.audience),
        "subjects": [
            (one.text, "" if has_one else language_names.name_language(one.locale))
            for one in content.subjects
        ],
        "has_more_subjects": content.has_more,
    }


def refresh_run(request: HttpRequest, visitor: Visitor, run_id: UUID) -> HttpResponse:
    """The part of the page that moves, whole: its figures belong together."""
    values = _read(visitor, run_id)
    return render_fragment(request, visitor, "dashboard/run_live.html", values)


@dataclass(frozen=True, slots=True)
class LeaverRow:
    contact_id: int
    address: str  # empty: the contact was deleted
    at: datetime


def show_leavers(request: HttpRequest, visitor: Visitor, run_id: UUID) -> HttpResponse:
    """The people behind the number of those who unsubscribed."""
    workspace_id, skip = visitor.workspace.pk, read_number(request.GET, "skip") or 0
    left = run_leavers.list_leavers(
        workspace_id, run_id, skip=skip, limit=_ON_A_PAGE + 1, now=datetime.now(UTC)
    )
    shown = (left or ())[:_ON_A_PAGE]
    addresses = queries.find_addresses(workspace_id, [one.contact_id for one in shown])
    leavers = [
        LeaverRow(one.contact_id, addresses.get(one.contact_id, ""), one.at) for one in shown
    ]
    values = {
        "title": pgettext("a count of people", "Unsubscribed"),
        "campaign_name": run_lookup.name_campaign(workspace_id, run_id),
        "run_id": run_id,
        "rows": None if left is None else leavers,
        "newer_url": skip and f"?skip={max(0, skip - _ON_A_PAGE)}",
        "older_url": left and len(left) > _ON_A_PAGE and f"?skip={skip + _ON_A_PAGE}",
    }
    return render_page(request, visitor, "dashboard/run_leavers.html", values)


def download_report(_request: HttpRequest, visitor: Visitor, run_id: UUID) -> StreamingHttpResponse:
    lines = report.write_csv(visitor.workspace.pk, run_id)
    report.note_download(visitor.workspace.pk, run_id, actor=visitor.actor)
    return csv_response(lines, file_name=report.name_file(visitor.workspace.pk, run_id))


def _read(visitor: Visitor, run_id: UUID) -> Mapping[str, Any]:
    now = datetime.now(UTC)
    run_figures = figures.read_figures(
        visitor.workspace.pk, run_id, may_steer=visitor.may(Permission.RUN_CAMPAIGNS), now=now
    )
    return {
        "runs": _list_others(visitor, run_figures.run),
        "campaign": run_figures.live,
        "figures": run_figures,
        "run": run_figures.run,
        "head_steps": steps.list_head(visitor, run_figures.live, now=now),
        "may_retry": not steps.find_reason(
            visitor, run_figures.run, run_figures.live.retry, Step.RETRY
        ),
        "letter_url": _find_letter_url(visitor, run_figures.run),
        # It has the address of everybody, as an export of contacts.
        "may_download": visitor.may(Permission.MANAGE_CONTACTS),
        "may_duplicate": visitor.may(Permission.RUN_CAMPAIGNS) and not run_figures.live.is_deleted,
        "end_steps": steps.list_ends(visitor, run_figures.live),
    }


def _find_letter_url(visitor: Visitor, run: Progress) -> str:
    """The email of its first reader, with the subject that they got; empty before there is one."""
    if not run.books.planned:
        return ""
    first = DeliveryId(run.number, 0)
    return f"{reverse('message', args=[visitor.workspace.pk, first.uuid()])}#mail"


def _list_deeds(workspace_id: int, run: Progress) -> Sequence[Deed]:
    entries = run_trail.list_entries(workspace_id, run.run_id, launched_at=run.launched_at)
    names = actor_names.name_actors(workspace_id, [entry.actor for entry in entries])
    return [
        Deed(
            entry.at,
            *words.describe_deed(
                entry.action,
                names[entry.actor],
                entry.data,
                is_scheduled=run.starts_at is not None,
            ),
        )
        for entry in entries
    ]


def _list_others(visitor: Visitor, run: Progress) -> Sequence[RunRow]:
    """All runs of the campaign if it has more than this one, tests too."""
    streams = run_lookup.list_streams(visitor.workspace.pk, run.campaign_id)
    return _list_runs(visitor, run.campaign_id) if len(streams) > 1 else ()


def _list_runs(visitor: Visitor, campaign_id: int) -> Sequence[RunRow]:
    now = datetime.now(UTC)
    runs = listing.list_launches(visitor.workspace.pk, campaign_id, now=now)
    return [rows.make_run_row(visitor.workspace.pk, run, now=now) for run in runs]


def _name(visitor: Visitor, actor: str) -> str:
    return actor_names.name_actors(visitor.workspace.pk, [actor])[actor]
