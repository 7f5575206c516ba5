"""An example of every page that the table of pages and roles opens.

A page whose URL has values besides the workspace needs an entry here under the name of its URL:
a function that makes what the URL names in acme, and returns the values. A page that only accepts
POST says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.test import override_settings

from postledger.accounts import workspaces
from postledger.accounts.models import Member, Workspace
from postledger.accounts.people.roles import Role
from postledger.accounts.queries import Organisation
from postledger.campaigns.models import Campaign, Run
from postledger.deliveries import entries
from postledger.deliveries.entries import StreamKind
from postledger.lib.ids import DeliveryId
from postledger.notifications.models import Notification, Topic
from postledger.notifications.states import FanOutEnd, Skip
from tests import cast
from tests.campaigns import press
from tests.notifications import cast as topics

type Values = Mapping[str, object]


def no_values(_acme: Workspace) -> Values:
    return {}


@dataclass(frozen=True, slots=True)
class Example:
    make_values: Callable[[Workspace], Values] = no_values  # of the URL, without the workspace
    is_post: bool = False  # GET is answered with 405
    status: int = 200  # of a GET by a member who may open it


def new_member(acme: Workspace) -> Values:
    member, _ = Member.objects.get_or_create(
        workspace=acme, email="new@acme.example", defaults={"role": Role.VIEWER.value}
    )
    return {"member_id": member.pk}


def new_sender(acme: Workspace) -> Values:
    return {"sender_id": cast.sender(acme.name).pk}


def new_stream(acme: Workspace) -> Values:
    return {"stream_id": cast.stream(mails=1, workspace=acme.name)}


def new_mail(acme: Workspace) -> Values:
    """One that failed."""
    stream_id = cast.stream(mails=1, workspace=acme.name)
    cast.book(stream_id, lambda position: entries.refused(position, code="550", detail="No."))
    return {"mail_id": DeliveryId(stream_id, 0).uuid()}


def new_own_mail(acme: Workspace) -> Values:
    """A single mail."""
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, workspace=acme.name)
    [position] = cast.enqueue(stream_id, [1])
    return {"email_id": DeliveryId(stream_id, position).uuid()}


def new_letter(acme: Workspace) -> Values:
    """A mail whose content is in the books."""
    return {"mail_id": DeliveryId(_launch(acme).stream_id, 0).uuid()}


def new_campaign(acme: Workspace) -> Values:
    return {"campaign_id": _launch(acme).campaign_id}


def new_draft(acme: Workspace) -> Values:
    """One that was never launched."""
    draft = Campaign.objects.filter(workspace=acme, run=None).first()
    if draft is not None:
        return {"campaign_id": draft.pk}
    cast.sender(acme.name)
    return {"campaign_id": press.campaign(acme.pk, tag="draft")}


def new_run(acme: Workspace) -> Values:
    return {"run_id": _launch(acme).pk}


def new_topic(acme: Workspace) -> Values:
    return {"key": _open_topic(acme).list.key}


def new_event(acme: Workspace) -> Values:
    """One that was told to one subscription, and not to another."""
    topic = _open_topic(acme)
    told = topics.event(topic, trace_id="trace-1")
    ends = {"ann": (FanOutEnd.SKIPPED, Skip.PAUSED), "bob": (None, "")}
    for name, (end, code) in ends.items():
        subscription = topics.subscribe(topic, f"{name}-{told.pk}")
        Notification.objects.create(
            event=told, subscription=subscription, dedupe_key="k", end=end, code=code
        )
    return {"key": topic.list.key, "event_id": told.pk}


def _open_topic(acme: Workspace) -> Topic:
    opened = Topic.objects.select_related("list").filter(workspace=acme).first()
    return opened or topics.add_topic(acme.pk)


def _launch(acme: Workspace) -> Run:
    launched = Run.objects.filter(workspace=acme).first()
    if launched is not None:
        return launched
    with override_settings(UNSUBSCRIBE_SECRET="only-for-tests, and long enough here"):
        organisation = Organisation("Acme", "1 Main St", "https://acme.example/unsubscribe")
        workspaces.set_organisation(acme.pk, organisation, actor="alice")
        cast.sender(acme.name)
        press.people(acme.pk, 2)
        return press.launched(acme.pk, press.campaign(acme.pk))


# By the name of the URL; a page that is not here is opened with GET and has no further values.
EXAMPLES: Mapping[str, Example] = {
    "decide_doubts": Example(is_post=True),
    "decide_dead_letters": Example(is_post=True),
    "release_sender": Example(new_sender, is_post=True),
    "test_sender": Example(new_sender, is_post=True),
    "release_stream": Example(new_stream, is_post=True),
    "campaign": Example(new_campaign),
    "campaign_duplicate": Example(new_campaign, is_post=True),
    "campaign_edit": Example(new_draft),
    "campaign_checks": Example(new_draft),
    "campaign_audience": Example(new_draft),
    "campaign_preview": Example(new_draft),
    "campaign_letter": Example(new_draft),
    "campaign_test": Example(new_draft, is_post=True),
    "campaign_launch": Example(new_draft, is_post=True),
    "run": Example(new_run),
    "run_live": Example(new_run),
    "run_report": Example(new_run),
    "run_pause": Example(new_run, is_post=True),
    "run_resume": Example(new_run, is_post=True),
    "run_cancel": Example(new_run),
    "run_retry": Example(new_run, status=302),  # nothing of the kind can be done with it
    "run_remaining": Example(new_run, status=302),  # nothing of the kind can be done with it
    "run_close": Example(new_run, status=302),  # nothing of the kind can be done with it
    "topic": Example(new_topic),
    "topic_subscriptions": Example(new_topic),
    "event": Example(new_event),
    "message": Example(new_mail),
    "message_letter": Example(new_letter),
    "message_requeue": Example(new_mail, is_post=True),
    "invite_member": Example(is_post=True),
    "member": Example(new_member),
    "invite_again": Example(new_member, is_post=True),
    "remove_member": Example(new_member),
    "start_email": Example(status=302),  # without a sender, to the provider first
    "start_sent": Example(new_own_mail),
}
