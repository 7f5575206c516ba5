"""A form that is refused says where: its first wrong field has the focus, and tells what is wrong.

Pages without scripts, which browsers open with the focus where the page says.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import LazySettings
from django.forms import BooleanField
from django.test import Client
from django.urls import reverse

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import Workspace
from postledger.accounts.people import first_run, invitations, members
from postledger.accounts.people.roles import Role
from postledger.web.dashboard.audience import bulk_forms
from postledger.web.dashboard.audience.bulk_forms import BulkForm
from postledger.web.dashboard.audience.contact_form import ContactForm
from postledger.web.dashboard.audience.restore_form import RestoreForm
from postledger.web.dashboard.audience.suppress_form import SuppressAddressForm, SuppressForm
from postledger.web.dashboard.content.slice_form import SliceForm
from postledger.web.dashboard.content.version_form import TextForm, VariablesForm
from postledger.web.dashboard.developers.key_forms import NewKeyForm, RotationForm
from postledger.web.dashboard.editor.draft_form import DraftForm
from postledger.web.dashboard.first_steps.provider_form import ProviderForm
from postledger.web.dashboard.forms import PageForm, PersonForm
from postledger.web.dashboard.pages.account.address import AddressForm
from postledger.web.dashboard.pages.account.first_run import OwnerForm
from postledger.web.dashboard.pages.audience import contact_steps
from postledger.web.dashboard.pages.audience.imports import UploadForm
from postledger.web.dashboard.pages.audience.lists import ListFields, ListForm, NewListForm
from postledger.web.dashboard.pages.audience.segments import NameForm
from postledger.web.dashboard.pages.campaigns.editor import NewCampaignForm
from postledger.web.dashboard.pages.content.articles import NewArticleForm, RenameForm, TitleForm
from postledger.web.dashboard.pages.content.branding import BrandingForm
from postledger.web.dashboard.pages.content.templates import NewTemplateForm
from postledger.web.dashboard.pages.senders.hold import HoldForm
from postledger.web.dashboard.pages.senders.identity import ArchiveForm, IdentityForm
from postledger.web.dashboard.pages.senders.sender import SelectorForm
from postledger.web.dashboard.pages.settings.members import InviteForm, MemberForm
from postledger.web.dashboard.senders.limits_form import LimitsForm
from postledger.web.dashboard.settings.integration_forms import (
    AdminForm,
    IntegrationForm,
    NotionForm,
)
from postledger.web.dashboard.settings.workspace_form import WorkspaceForm
from postledger.web.dashboard.shared_form import SharedForm
from tests import cast
from tests.web.dashboard import examples, sign_ins
from tests.web.dashboard.sign_ins import PASSWORD
from tests.web.dashboard.visitors import Person, person
from tests.web.focus import check_focus, list_elements

pytestmark = pytest.mark.django_db

# Bases, whose fields are those of other forms.
BASES: set[type[PageForm]] = {SharedForm, BulkForm, IntegrationForm, ListFields, TitleForm}
WRONG = "\0"  # no field takes it

type Values = Mapping[str, object]


@dataclass(frozen=True)
class Refusal:
    """What is wrong with a form that acme gets, all of it, and the field to mend first."""

    form: type[PageForm]
    page: str  # the name of its URL
    wrong: str
    focused: str
    given: Mapping[str, str] = field(default_factory=dict)  # what is right
    make_values: Callable[[Workspace], Values] | None = None

    def post(self, person: Person) -> Any:
        example = examples.EXAMPLES.get(self.page, examples.Example())
        values = (self.make_values or example.make_values)(person.workspace)
        path = reverse(self.page, kwargs={"workspace_id": person.workspace.pk, **values})
        return person.client.post(path, {**dict.fromkeys(self.wrong.split(), WRONG), **self.given})


def smtp_sender(acme: Workspace) -> Values:
    sender_id = cast.sender(acme.name).pk
    account_id = provider_accounts.create_account(
        acme.pk, name="relay", kind="smtp", settings={"host": "smtp.example.com"}, actor="a"
    )
    senders.attach_sender(acme.pk, sender_id=sender_id, account_id=account_id, actor="a")
    return {"sender_id": sender_id}


def one_of_two_senders(acme: Workspace) -> Values:
    """The default one."""
    sender_id = cast.sender(acme.name).pk
    senders.create_sender(acme.pk, address="b@acme.example", actor="a")
    return {"sender_id": sender_id}


TEXTS = {"texts-TOTAL_FORMS": "2", "texts-INITIAL_FORMS": "0"}
MARKDOWN = {"texts-0-format": "markdown", "texts-1-format": "markdown", "texts-0-locale": "en"}
REFUSALS = [
    Refusal(ContactForm, "new_contact", "address name locale lists time_zone", "address"),
    Refusal(ContactForm, "contact_edit", "lists", "lists", {"address": "mira@example.com"}),
    Refusal(SuppressForm, "contact_suppress", "scope reason", "scope"),
    Refusal(RestoreForm, "contact_restore", "scope reason", "scope"),
    Refusal(contact_steps.EraseForm, "contact_erase", "typed", "typed"),
    Refusal(NewListForm, "new_list", "name key", "name"),
    Refusal(ListForm, "list_change", "name", "name"),
    Refusal(NameForm, "segment", "name", "name"),
    Refusal(SuppressAddressForm, "new_suppression", "address scope reason", "address"),
    Refusal(RestoreForm, "suppression_lift", "scope reason", "scope"),
    Refusal(UploadForm, "import_upload", "sheet", "file"),
    Refusal(ProviderForm, "connect_sender", "host port tls username", "address", {"kind": "smtp"}),
    Refusal(
        ProviderForm,
        "start_provider",
        "endpoint api_key",
        "api_key",
        {"kind": "sendgrid", "address": "a@example.com"},
    ),
    Refusal(SelectorForm, "sender_selector", "selector", "selector", make_values=smtp_sender),
    Refusal(LimitsForm, "sender_limits", "daily_limit spans zone days", "daily_limit"),
    Refusal(LimitsForm, "sender_limits", "days zone", "zone"),
    Refusal(IdentityForm, "sender_edit", "name account", "name"),
    Refusal(ArchiveForm, "sender_archive", "default", "default", make_values=one_of_two_senders),
    Refusal(HoldForm, "hold_sender", "reason", "reason"),
    Refusal(NewCampaignForm, "new_campaign", "name", "name"),
    Refusal(DraftForm, "campaign_edit", "name list_key subject page at", "name", {"complete": "1"}),
    Refusal(NewTemplateForm, "new_template", "name key", "name"),
    Refusal(
        VariablesForm, "template_write", "optional texts-0-body", "optional", {**TEXTS, **MARKDOWN}
    ),
    Refusal(
        TextForm,
        "template_write",
        "texts-1-locale texts-1-body",
        "texts-1-locale",
        {**TEXTS, **MARKDOWN},
    ),
    Refusal(NewArticleForm, "new_article", "title key", "title"),
    Refusal(RenameForm, "article_rename", "title", "title"),
    Refusal(SliceForm, "new_slice", "scope_ocd_id body_md sort_index", "body_md"),
    Refusal(SliceForm, "slice", "published_until sort_index", "published_until"),
    Refusal(BrandingForm, "branding_save", "accent name address", "accent"),
    Refusal(NewKeyForm, "new_key", "scopes", "scopes", {"name": "shop", "mode": "live"}),
    Refusal(NewKeyForm, "new_key", "scopes member", "member", {"name": "shop", "mode": "live"}),
    Refusal(RotationForm, "rotate_key", "overlap", "overlap"),
    Refusal(WorkspaceForm, "settings", "time_zone test_emails", "time_zone", {"name": "acme"}),
    Refusal(NotionForm, "integration_notion", "mailouts", "token"),
    Refusal(AdminForm, "integration_admin", "", "password"),
    Refusal(InviteForm, "invite_member", "email name role", "email"),
    Refusal(MemberForm, "member", "daily_limit", "daily_limit", {"role": "viewer"}),
]


def find_form(answer: Any, kind: type[PageForm]) -> PageForm:
    """The form that the page shows."""
    found = (
        one
        for context in answer.context
        for values in context.dicts
        for one in values.values()
        if type(one) is kind
    )
    return next(found)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: f"{one.page} {one.focused}")
def test_the_first_wrong_field_of_a_refused_form_has_the_focus(refusal: Refusal) -> None:
    answer = refusal.post(person())

    check_focus(answer, refusal.focused)
    form = find_form(answer, refusal.form)
    names = [
        one.html_name for one in form.visible_fields() if not isinstance(one.field, BooleanField)
    ]
    elements = list_elements(answer)
    shown = dict.fromkeys(one["name"] for one in elements if one["name"] in names)
    assert [*shown] == [name for name in names if name in shown], "another order than the page"


def test_a_decision_about_many_contacts_says_what_it_lacks() -> None:
    anna = person()
    contact_id = examples.new_contact(anna.workspace)["contact_id"]
    for deed in (bulk_forms.Deed.ADD, bulk_forms.Deed.REMOVE):
        path = anna.url(f"contacts/bulk/?do={deed.value}&id={contact_id}")

        check_focus(anna.client.post(path, {"number": "1"}), "list")


def list_forms(base: type[PageForm]) -> Iterator[type[PageForm]]:
    for form in base.__subclasses__():
        if form.__module__.startswith("postledger."):
            yield form
            yield from list_forms(form)


def test_every_form_of_the_dashboard_is_refused_here() -> None:
    refused = {refusal.form for refusal in REFUSALS}
    elsewhere = {*bulk_forms.FORMS.values(), PersonForm, OwnerForm, AddressForm}

    assert set(list_forms(PageForm)) - BASES == refused | elsewhere


def test_who_joins_mends_the_first_wrong_field_first() -> None:
    workspace_id = person().workspace.pk
    member_id = members.add_member(
        workspace_id, email="bob@example.com", role=Role.VIEWER, name="Bob", actor="a"
    )
    now = datetime.now(UTC)
    invited = invitations.invite_member(workspace_id, member_id=member_id, now=now, actor="a")

    joined = Client().post(f"/join/{invited.token}", {"name": "Bob", "password": "short"})

    check_focus(joined, "password")


def test_the_first_owner_mends_the_first_wrong_field_first() -> None:
    Workspace.objects.create(name="default")
    first_run.issue_code()

    answer = sign_ins.browser().post("/first-run", {"code": "wrong", "email": "wrong"})

    check_focus(answer, "code")


def test_what_is_wrong_with_signing_in_has_the_focus(settings: LazySettings) -> None:
    sign_ins.hash_cheaply(settings)
    settings.PUBLIC_URL = "https://mail.acme.example"  # without it, nobody gets a link
    outside, inside = sign_ins.browser(), sign_ins.confirmed(sign_ins.person())
    short = {"oldpassword": PASSWORD, "password1": "short"}

    for client, path, posted, focused in (
        (outside, "login/", {"login": "nobody@example.com", "password": "wrong"}, "password"),
        (outside, "login/", {"login": "wrong", "password": ""}, "login"),
        (outside, "password/reset/", {"email": "wrong"}, "email"),
        (inside, "password/change/", short, "password1"),
        (inside, "two-factor/totp/activate/", {"code": "wrong"}, "code"),
        (inside, "security/", {"name": "a\nb", "language": "en"}, "name"),
    ):
        answer = client.post(f"/account/{path}", posted)

        check_focus(answer, focused, status=422 if path == "security/" else 200)


def test_a_wrong_attribute_of_a_contact_has_the_focus() -> None:
    anna = person()
    contact_id = examples.new_contact(anna.workspace)["contact_id"]
    path = anna.url(f"contacts/{contact_id}/edit/")

    for rows, row, focused in (
        ([("plan", "plus"), ("", "Porto")], 1, "key"),
        ([("plan", "x" * 10_000)], 0, "text"),
        ([("plan", "plus"), ("city", "Porto"), ("city", "Lisbon")], 2, "key"),
    ):
        attributes = {"key": [key for key, _text in rows], "text": [text for _key, text in rows]}
        answer = anna.client.post(path, {"address": "mira@example.com", **attributes})
        above = anna.client.post(path, {"address": "", **attributes})

        check_focus(answer, focused)
        places = [one for one in list_elements(answer) if one["name"] == focused]
        assert "autofocus" in places[row].attributes, rows
        check_focus(above, "address")


def test_a_wrong_condition_of_a_search_has_the_focus() -> None:
    anna = person()
    lines = {"field": ["", "locale", "attributes.age"], "op": ["is"] * 2 + ["over"]}

    answer = anna.client.get(anna.url("contacts/"), {**lines, "value": ["", "en", "many"]})

    check_focus(answer, "value")
    values = [one for one in list_elements(answer) if one["name"] == "value"]
    in_use = [one for one in values if "disabled" not in one.attributes]
    assert ["autofocus" in one.attributes for one in in_use] == [False, True]
    lines_ = answer.content.decode().split('<div class="row condition">')[1:]
    assert ['id="trouble">Condition 2: ' in line for line in lines_] == [False, True]


def test_a_form_that_is_refused_as_a_whole_gives_the_reason_the_focus() -> None:
    anna = person()

    answer = anna.client.post(anna.url("campaigns/new/"), {"name": "May"})  # without a sender

    elements = list_elements(answer)
    [focused] = [one for one in elements if "autofocus" in one.attributes]
    assert (focused["role"], focused["tabindex"]) == ("alert", "-1")
