"""An example of every page that the table of pages and roles opens.

A page whose URL has values besides the workspace needs an entry here under the name of its URL:
a function that makes what the URL names in acme, and returns the values. A page that only accepts
POST says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from django.test import override_settings

from postledger.accounts import keys, provider_accounts, senders, workspaces
from postledger.accounts.keys import Scope
from postledger.accounts.models import Member, Workspace
from postledger.accounts.people.roles import Role
from postledger.accounts.queries import Organisation
from postledger.campaigns.models import Campaign, Run
from postledger.contacts.actions import contacts
from postledger.contacts.details import Changes
from postledger.contacts.models import Contact, Segment, Suppression
from postledger.content import articles, templates
from postledger.content.models import Article, Slice, Template
from postledger.content.rendering.source import Format, Source
from postledger.content.slices import SliceFields
from postledger.content.versions import Version
from postledger.deliveries import entries
from postledger.deliveries.entries import StreamKind
from postledger.feedback import loop_test
from postledger.imports import uploads, worker_jobs
from postledger.imports.models import Import
from postledger.lib.ids import DeliveryId
from postledger.notifications.models import Notification, Topic
from postledger.notifications.states import FanOutEnd, Skip
from tests import cast
from tests.campaigns import press
from tests.contacts import people
from tests.imports import files
from tests.notifications import cast as topics

type Values = Mapping[str, object]


def no_values(_acme: Workspace) -> Values:
    return {}


@dataclass(frozen=True, slots=True)
class Example:
    make_values: Callable[[Workspace], Values] = no_values  # of the URL, without the workspace
    is_post: bool = False  # GET leads to the page of its form
    status: int = 200  # of a GET by a member who may open it


def new_member(acme: Workspace) -> Values:
    member, _ = Member.objects.get_or_create(
        workspace=acme, email="new@acme.example", defaults={"role": Role.VIEWER.value}
    )
    return {"member_id": member.pk}


def new_key(acme: Workspace) -> Values:
    key = keys.create_key(acme.pk, name="shop", scopes=[Scope.SEND], actor="alice")
    return {"prefix": key.prefix}


def new_sender(acme: Workspace) -> Values:
    return {"sender_id": cast.sender(acme.name).pk}


def new_ses_sender(acme: Workspace) -> Values:
    settings = {"region": "eu-west-1", "access_key_id": "A" * 16, "secret_access_key": "secret"}
    account_id = provider_accounts.create_account(
        acme.pk, name="reports", kind="ses", settings=settings, actor="test"
    )
    address = "reports@acme.example"
    return {
        "sender_id": senders.create_sender(
            acme.pk, address=address, account_id=account_id, actor="test"
        )
    }


def new_feedback_test(acme: Workspace) -> Values:
    """One whose mails wait."""
    sender = cast.sender(acme.name)
    return {
        "sender_id": sender.pk,
        "stream_id": loop_test.send_probes(sender, "sandbox")[0].stream_id,
    }


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


def new_template(acme: Workspace) -> Values:
    """One with a version."""
    if not Template.objects.filter(workspace=acme).exists():
        templates.create(acme.pk, key="welcome", name="Welcome", actor="alice")
        text = Source("Hello {{ city }}", "Hello **{{ city }}**", Format.MARKDOWN)
        version = Version(("city",), (), "en", (text,))
        templates.add_version(acme.pk, key="welcome", version=version, actor="alice")
    return {"key": "welcome"}


def new_template_version(acme: Workspace) -> Values:
    return {**new_template(acme), "number": 1}


def new_article(acme: Workspace) -> Values:
    """One with a slice."""
    if not Article.objects.filter(workspace=acme).exists():
        articles.create(acme.pk, key="may", title="May", actor="alice")
        fields = SliceFields(title="News", body_md="Hello", is_published=True)
        articles.add_slice(acme.pk, article_key="may", fields=fields, actor="alice")
    return {"key": "may"}


def new_slice(acme: Workspace) -> Values:
    values = new_article(acme)
    return {**values, "slice_id": Slice.objects.get(article__workspace=acme).pk}


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


def new_contact(acme: Workspace) -> Values:
    """One with an attribute and a suppression, whose consents have a story."""
    contact = Contact.objects.filter(workspace=acme, address="mira@example.com").first()
    if contact is not None:
        return {"contact_id": contact.pk}
    people.news(acme.pk)
    contact_id = people.member(acme.pk, "mira@example.com")
    details = Changes(name="Mira", attributes={"plan": "plus"})
    contacts.update_contact(
        acme.pk, contact_id=contact_id, changes=details, actor="alice", now=people.NOW
    )
    people.leave(acme.pk, "mira@example.com", "news")
    return {"contact_id": contact_id}


def new_list(acme: Workspace) -> Values:
    new_contact(acme)
    return {"key": "news"}


def new_segment(acme: Workspace) -> Values:
    segment, _ = Segment.objects.get_or_create(
        workspace=acme, name="Plus", defaults={"filter": {"plan": "plus"}, "actor": "alice"}
    )
    return {"segment_id": segment.pk}


def new_suppression(acme: Workspace) -> Values:
    new_contact(acme)
    return {"suppression_id": Suppression.objects.filter(workspace=acme)[0].pk}


def new_import(acme: Workspace) -> Values:
    """A file that is uploaded and not started."""
    uploaded = Import.objects.filter(workspace=acme).first()
    if uploaded is not None:
        return {"import_id": uploaded.pk}
    with TemporaryDirectory() as folder:
        path = files.write_file(Path(folder), "Mail,name\nann@example.com,Ann\nnobody,\n")
        import_id = uploads.store_upload(acme.pk, path, file_name="people.csv", actor="alice")
    uploads.request_preview(acme.pk, import_id, mapping={}, list_key=None)
    worker_jobs.do_next_job(lambda: False)
    return {"import_id": import_id}


# By the name of the URL; a page that is not here is opened with GET and has no further values.
EXAMPLES: Mapping[str, Example] = {
    "contact": Example(new_contact),
    "contact_edit": Example(new_contact),
    "contacts_bulk": Example(status=302),  # nobody is chosen
    "contact_export": Example(new_contact),
    "contact_suppress": Example(new_contact),
    "contact_restore": Example(new_contact),
    "contact_erase": Example(new_contact),
    "new_list": Example(is_post=True),
    "list": Example(new_list),
    "list_change": Example(new_list, is_post=True),
    "list_archive": Example(new_list, is_post=True),
    "list_restore": Example(new_list, is_post=True),
    "new_segment": Example(is_post=True),
    "segment": Example(new_segment),
    "segment_delete": Example(new_segment),
    "new_suppression": Example(is_post=True),
    "suppression_lift": Example(new_suppression),
    "import_upload": Example(is_post=True),
    "import": Example(new_import),
    "import_live": Example(new_import),
    "import_try": Example(new_import, is_post=True),
    "import_start": Example(new_import, is_post=True),
    "import_abandon": Example(new_import),
    "import_problems": Example(new_import),
    "decide_doubts": Example(is_post=True),
    "decide_dead_letters": Example(is_post=True),
    "release_sender": Example(new_sender, is_post=True),
    "test_sender": Example(new_sender, is_post=True),
    "sender": Example(new_sender),
    "sender_dns": Example(new_sender),
    "sender_selector": Example(new_sender, status=302),  # its account has no selector
    "sender_limits": Example(new_sender),
    "sender_edit": Example(new_sender),
    "sender_default": Example(new_sender, is_post=True),
    "sender_archive": Example(new_sender, status=302),  # the only one is the default
    "sender_restore": Example(new_sender, is_post=True),
    "hold_sender": Example(new_sender),
    "sender_reports": Example(new_ses_sender),
    "start_feedback_test": Example(new_sender, is_post=True),
    "feedback_test": Example(new_feedback_test),
    "release_stream": Example(new_stream, is_post=True),
    "campaign": Example(new_campaign),
    "campaign_duplicate": Example(new_campaign, is_post=True),
    "campaign_edit": Example(new_draft),
    "campaign_checks": Example(new_draft),
    "campaign_links": Example(new_draft),
    "campaign_audience": Example(new_draft),
    "campaign_preview": Example(new_draft),
    "campaign_letter": Example(new_draft),
    "campaign_readers": Example(new_draft),
    "campaign_test": Example(new_draft, status=302),
    "campaign_delete": Example(new_draft),
    "campaign_launch": Example(new_draft, status=422),
    "template": Example(new_template),
    "template_archive": Example(new_template, is_post=True),
    "template_restore": Example(new_template, is_post=True),
    "template_write": Example(new_template),
    "template_try": Example(new_template, is_post=True),
    "template_compare": Example(new_template),
    "template_version": Example(new_template_version),
    "template_letter": Example(new_template_version),
    "article": Example(new_article),
    "article_letter": Example(new_article),
    "article_rename": Example(new_article),
    "article_delete": Example(new_article),
    "new_slice": Example(new_article),
    "slice": Example(new_slice),
    "slice_delete": Example(new_slice),
    "notion_letter": Example(status=404),  # without an integration there is no page
    "branding_save": Example(is_post=True),
    "campaign_picture": Example(new_draft, is_post=True),
    "run": Example(new_run),
    "run_live": Example(new_run),
    "run_leavers": Example(new_run),
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
    "remove_notion": Example(status=302),  # it is not connected
    "remove_supabase": Example(status=302),  # it is not connected
    "remove_admin": Example(status=302),  # it is not connected
    "rotate_key": Example(new_key),
    "revoke_key": Example(new_key),
    "start_email": Example(status=302),  # without a sender, to the provider first
    "start_sent": Example(new_own_mail),
}
