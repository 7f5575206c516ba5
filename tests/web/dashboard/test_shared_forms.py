"""Two people with the same page open: nobody's change is lost unseen. Pages without scripts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from html.parser import HTMLParser
from typing import Any, override
from uuid import UUID

import pytest

from postledger.accounts import integrations, provider_accounts
from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.models import AuditEntry, Member, ProviderAccount, Sender, Workspace
from postledger.accounts.people.roles import Role
from postledger.contacts import segments
from postledger.content import articles, templates
from postledger.content.models import Slice
from postledger.content.slices import SliceFields
from tests import cast
from tests.contacts import people
from tests.races import collide
from tests.web.dashboard import visitors
from tests.web.dashboard.test_templates import text, write
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db


class FormReader(HTMLParser):
    """The fields of the form that is shared, as a browser would send them."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, list[str]]] = []
        self._fields: dict[str, list[str]] = {}
        self._name = self._kind = ""

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name, kind = given.get("name", ""), given.get("type", "text")
        if tag == "form":
            self._fields = {}
            self.forms.append(self._fields)
        elif tag == "input" and name and kind not in {"file", "submit"}:
            if kind not in {"checkbox", "radio"}:
                self._add(name, given.get("value", ""))
            elif "checked" in given:
                self._add(name, given.get("value", "on"))
        elif tag in {"select", "textarea"}:
            self._name, self._kind = name, tag
            if tag == "textarea":
                self._add(name, "")
        elif tag == "option" and "selected" in given:
            self._add(self._name, given["value"])

    @override
    def handle_data(self, data: str) -> None:
        if self._kind == "textarea":
            self._fields[self._name][-1] += data

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._fields[self._name][-1] = self._fields[self._name][-1].removeprefix("\n")
        if tag == self._kind:
            self._kind = ""

    def _add(self, name: str, value: str) -> None:
        self._fields.setdefault(name, []).append(value)


@dataclass(frozen=True)
class Case:
    """A page, a field with two other values for it, and perhaps another field with a value."""

    make_path: Callable[[int], str]
    own: tuple[str, str, str]
    other: Mapping[str, str] = field(default_factory=dict)
    action: str = ""  # where the form goes, if not to its page


def make_article(workspace_id: int) -> str:
    articles.create(workspace_id, key="may", title="May", actor="a")
    return "content/articles/may/rename/"


def make_segment(workspace_id: int) -> str:
    stored = {"all": [{"field": "attributes.plan", "is": "plus"}]}
    number = segments.create_segment(
        workspace_id, name="Readers", stored=stored, actor="a", now=datetime.now(UTC)
    )
    return f"segments/{number}/"


def make_slice(workspace_id: int) -> str:
    articles.create(workspace_id, key="may", title="May", actor="a")
    fields = SliceFields(title="Title", body_md="Old text")
    number = articles.add_slice(workspace_id, article_key="may", fields=fields, actor="a")
    return f"content/articles/may/slices/{number}/"


def make_member(workspace_id: int) -> str:
    carol = visitors.sign_in(workspace_id, Role.VIEWER, name="Carol")
    return f"members/{Member.objects.get(user=carol.user).pk}/"


def make_list(workspace_id: int) -> str:
    people.news(workspace_id)
    return "lists/news/"


def set_up_notion(workspace_id: int) -> str:
    changes = {"token": "ntn_1"}
    integrations.set_integration(
        workspace_id, IntegrationKind.NOTION, changes=changes, actor="user 0"
    )
    return "settings/integrations/notion/"


def find_sender(path: str) -> Callable[[int], str]:
    return lambda _workspace_id: f"senders/{cast.sender().pk}/{path}/"


CASES = {
    "settings": Case(
        lambda _id: "settings/", ("name", "Acme One", "Acme Two"), {"test_emails": "t@example.com"}
    ),
    "branding": Case(
        lambda _id: "content/branding/",
        ("address", "1 Road", "2 Road"),
        {"accent": "#1d4ed8"},
        "content/branding/save/",
    ),
    "slice": Case(make_slice, ("body_md", "Long\n\ntext", "Short"), {"title": "A new title"}),
    "limits": Case(find_sender("limits"), ("rate_per_hour", "100", "200"), {"daily_limit": "500"}),
    "hours": Case(
        find_sender("limits"),
        ("spans", "09:00-12:00", "10:00-12:00"),
        {"rate_per_second": "1.1250"},
    ),
    "identity": Case(find_sender("edit"), ("name", "Anna's", "Bob's"), {"account": ""}),
    "list": Case(
        make_list, ("name", "Old news", "All news"), {"is_public": "on"}, "lists/news/change/"
    ),
    "notion": Case(
        set_up_notion,
        ("mailouts", str(UUID(int=0)), str(UUID(int=1))),
        {"errors_database": str(UUID(int=2))},
    ),
    "member": Case(make_member, ("daily_limit", "100", "200"), {"role": "manager"}),
    "article": Case(make_article, ("title", "Old news", "All news")),
    "segment": Case(make_segment, ("name", "Old readers", "All readers")),
}


@pytest.fixture
def anna() -> Person:
    return visitors.sign_in(cast.sender().workspace_id, name="Anna")


@pytest.fixture
def bob() -> Person:
    workspace_id = cast.sender().workspace_id
    provider_accounts.create_account(
        workspace_id, name="relay", kind="smtp", settings={"host": "127.0.0.1"}, actor="a"
    )
    return visitors.sign_in(workspace_id, name="Bob")


def read_form(response: Any) -> dict[str, list[str]]:
    reader = FormReader()
    reader.feed(response.content.decode())
    [form] = [fields for fields in reader.forms if "shown" in fields or "base" in fields]
    return form


def pick(form: Mapping[str, list[str]], names: Iterable[str]) -> Mapping[str, str]:
    """Fields with one value each."""
    return {name: value for name in names for [value] in [form[name]]}


def send(who: Person, path: str, form: Mapping[str, Any], **changes: str) -> Any:
    return who.client.post(who.url(path), {**form, **changes})


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_who_changes_a_field_second_is_told_and_decides_and_other_fields_are_both_kept(
    case: Case, anna: Person, bob: Person
) -> None:
    path = case.make_path(anna.workspace_id)
    target = case.action or path
    name, first, second = case.own
    untouched, form_of_bob = read_form(anna.get(path)), read_form(bob.get(path))

    def read_stored() -> Mapping[str, str]:
        return pick(read_form(anna.get(path)), [name, *case.other])

    if case.other:
        assert send(bob, target, read_form(bob.get(path)), **case.other).status_code == 302
    assert send(bob, target, form_of_bob, **{name: first}).status_code == 302
    assert read_stored() == {name: first, **case.other}, "both are kept"

    entries = AuditEntry.objects.count()
    for changes in ({}, {name: first}):
        assert send(anna, target, untouched, **changes).status_code == 302
        assert read_stored() == {name: first, **case.other}
        assert AuditEntry.objects.count() == entries, "nothing new is said"

    told = send(anna, target, untouched, **{name: second})
    page, form = told.content.decode(), read_form(told)
    assert told.status_code == 409
    assert "Bob changed this while you had it open" in page
    assert f'href="{anna.url(path)}" target="_blank"' in page
    assert form[name] == [second], "what was typed stays"
    assert pick(form, case.other) == case.other, "what was not touched is shown as it is stored"
    assert read_stored()[name] == first, "nothing is stored yet"

    assert send(anna, target, form).status_code == 302
    assert read_stored() == {name: second, **case.other}


def test_an_id_with_and_without_hyphens_is_one_value(anna: Person, bob: Person) -> None:
    path = set_up_notion(anna.workspace_id)
    forms = [(who, read_form(who.get(path))) for who in (anna, bob)]
    ids = (UUID(int=7).hex, str(UUID(int=7)))

    answers = [
        send(who, path, form, mailouts=text) for (who, form), text in zip(forms, ids, strict=True)
    ]

    assert [answer.status_code for answer in answers] == [302, 302]


def test_what_nobody_touched_is_valid_though_it_is_offered_no_longer(
    anna: Person, bob: Person
) -> None:
    sender = cast.sender()
    hours = {"weekdays": [0, 1], "spans": [["09:00", "18:00"]], "zone": "US/Eastern"}
    Sender.objects.filter(pk=sender.pk).update(working_hours=hours)
    old = {"time_zone": "US/Eastern", "test_emails": "by an older rule"}
    workspaces_of_both = Workspace.objects.filter(pk=anna.workspace_id)
    limits = f"senders/{sender.pk}/limits/"
    untouched = (
        ("settings/", "time_zone", "Europe/Lisbon", ("name", "Acme Two")),
        ("settings/", "test_emails", "t@example.com", ("name", "Acme Three")),
        (limits, "zone", "Europe/Lisbon", ("daily_limit", "500")),
    )

    for path, name, theirs, (other, value) in untouched:
        workspaces_of_both.update(**old)
        form_of_anna, form_of_bob = read_form(anna.get(path)), read_form(bob.get(path))
        assert send(bob, path, form_of_bob, **{name: theirs}).status_code == 302, name

        answer = send(anna, path, form_of_anna, **{other: value})

        stored = read_form(anna.get(path))
        assert answer.status_code == 302, name
        assert (stored[name], stored[other]) == ([theirs], [value])


def test_an_account_that_was_archived_since_is_no_fault_of_a_new_name(
    anna: Person, bob: Person
) -> None:
    sender = cast.sender()
    path = f"senders/{sender.pk}/edit/"
    former = provider_accounts.create_account(
        anna.workspace_id, name="former", kind="sandbox", settings={}, actor="a"
    )
    relay = ProviderAccount.objects.exclude(pk=former).get()
    Sender.objects.filter(pk=sender.pk).update(account_id=former)
    form_of_anna, form_of_bob = read_form(anna.get(path)), read_form(bob.get(path))
    send(bob, path, form_of_bob, account=str(relay.pk))
    provider_accounts.archive_account(anna.workspace_id, account_id=former, actor="a")

    answer = send(anna, path, form_of_anna, name="Anna's")

    sender.refresh_from_db()
    assert answer.status_code == 302
    assert (sender.name, sender.account_id) == ("Anna's", relay.pk)


def test_what_the_form_cannot_show_whole_stays_whole(anna: Person) -> None:
    sender = cast.sender()
    Sender.objects.update(rate_per_second=1234.5678)
    articles.create(anna.workspace_id, key="may", title="May", actor="a")
    fields = SliceFields(title="Two\nlines ", body_md="  code\n")
    number = articles.add_slice(anna.workspace_id, article_key="may", fields=fields, actor="a")

    for path, changes in (
        (f"senders/{sender.pk}/limits/", {"daily_limit": "5"}),
        (f"content/articles/may/slices/{number}/", {"dek": "Dek"}),
    ):
        form = read_form(anna.get(path))
        form |= {"title": [title.replace("\n", "") for title in form.get("title", ())]}
        assert send(anna, path, form, **changes).status_code == 302

    sender.refresh_from_db()
    piece = Slice.objects.get(pk=number)
    assert sender.rate_per_second == 1234.5678
    assert (piece.title, piece.body_md, piece.dek) == ("Two\nlines ", "  code\n", "Dek")


def test_a_slice_that_was_deleted_meanwhile_stays_on_the_page_and_is_added_anew(
    anna: Person, bob: Person
) -> None:
    path = make_slice(anna.workspace_id)
    form = read_form(anna.get(path))
    bob.post(f"{path}delete/")

    told = send(anna, path, form, body_md="Long text")

    page = told.content.decode()
    assert told.status_code == 409
    assert "Somebody deleted this slice meanwhile, so nothing was saved." in page
    assert f'action="{anna.url("content/articles/may/slices/new/")}"' in page
    assert not Slice.objects.exists()
    assert send(anna, "content/articles/may/slices/new/", read_form(told)).status_code == 302
    piece = Slice.objects.get()
    assert (piece.title, piece.body_md) == ("Title", "Long text")


def test_a_version_that_was_written_on_an_older_one_is_asked_about(
    anna: Person, bob: Person
) -> None:
    anna.post("content/new-template/", name="Welcome", key="welcome")
    write(anna, text(), required="city")
    path = "content/templates/welcome/write/"
    base = read_form(anna.get(path))["base"][0]
    write(bob, text(subject="Of Bob {{ city }}"), required="city", base=base)

    told = write(anna, text(subject="Of Anna {{ city }}"), required="city", base=base)

    page, newest = told.content.decode(), read_form(told)["base"][0]
    assert told.status_code == 409
    assert "Bob changed this while you had it open: Version 2." in page
    assert f'href="{anna.url("content/templates/welcome/versions/2/")}" target="_blank"' in page
    assert "Of Anna" in page, "what was typed stays"
    assert len(templates.list_versions(anna.workspace_id, key="welcome")) == 2

    again = write(anna, text(subject="Of Anna {{ city }}"), required="city", base=newest)
    assert again.status_code == 302
    assert len(templates.list_versions(anna.workspace_id, key="welcome")) == 3


def test_a_version_of_a_template_that_was_archived_meanwhile_stays_on_the_page(
    anna: Person, bob: Person
) -> None:
    anna.post("content/new-template/", name="Welcome", key="welcome")
    write(anna, text(), required="city")
    path = "content/templates/welcome/"
    form = read_form(anna.get(f"{path}write/")) | {"texts-0-subject": ["Of Anna {{ city }}"]}
    bob.post(f"{path}archive/")

    told = send(anna, f"{path}write/", form)
    added = write(anna, text(subject="Of Anna"), add="1")

    assert told.status_code == 422
    assert "The template was archived meanwhile, so nothing was saved." in told.content.decode()
    kept = read_form(told)
    assert kept | {"csrfmiddlewaretoken": form["csrfmiddlewaretoken"]} == form
    assert read_form(added)["texts-0-subject"] == ["Of Anna"]
    assert anna.get(f"{path}write/").status_code == 404
    assert anna.post("content/templates/open-seat/write/", required="").status_code == 404
    bob.post(f"{path}restore/")
    assert send(anna, f"{path}write/", kept).status_code == 302
    newest = templates.find_version(anna.workspace_id, key="welcome", number=None)
    assert (newest.number, newest.texts[0].subject) == (2, "Of Anna {{ city }}")


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_what_is_deleted_or_archived_while_it_is_saved_stays_on_the_page_too(anna: Person) -> None:
    workspace_id = anna.workspace_id
    path = make_slice(workspace_id)
    number = Slice.objects.get().pk
    anna.post("content/new-template/", name="Welcome", key="welcome")
    deeds: dict[str, Callable[[], None]] = {
        path: lambda: articles.delete_slice(
            workspace_id, article_key="may", slice_id=number, actor="bob"
        ),
        "content/templates/welcome/write/": lambda: templates.archive(
            workspace_id, key="welcome", actor="bob"
        ),
    }
    changes = {"body_md": "Long", "texts-0-subject": "Hi", "texts-0-body": "Long"}

    for page, deed in deeds.items():
        form = read_form(anna.get(page))
        with collide.uncommitted(deed):
            saving = collide.start(partial(send, anna, page, form, **changes))
            saving.must_wait()

        assert "meanwhile, so nothing was saved." in saving.answer().content.decode(), page
        assert "Long" in saving.answer().content.decode(), page
