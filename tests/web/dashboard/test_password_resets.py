"""New passwords by mail: the same answer for everybody, and links that work once."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from postledger.accounts.models import AuditEntry, Member, User, Workspace
from postledger.accounts.people import password_resets
from postledger.accounts.people.roles import Role
from tests.web.dashboard import letters, sign_ins
from tests.web.dashboard.sign_ins import browser, person, sign_in, signed_in

pytestmark = pytest.mark.django_db

ASK = "/account/password/reset/"
NEW = "a much longer password"
GONE = "This link does not work any more"


@pytest.fixture(autouse=True)
def installation(settings: LazySettings) -> None:
    sign_ins.hash_cheaply(settings)
    settings.PUBLIC_URL = "https://mail.example/"


@pytest.fixture
def bob() -> User:
    """A member of a workspace with a sender."""
    user = person()
    letters.give_sender("acme", kind="sandbox")
    return user


def ask(email: str) -> Any:
    return browser().post(ASK, {"email": email}, follow=True)


def link_of(user: User) -> str:
    """The path of the link in the newest letter to somebody."""
    ask(user.email)
    [url] = letters.find_links(letters.letters_to(user.email)[-1])
    return urlsplit(url).path


def choose(client: Client, link: str, new: str = NEW) -> Any:
    opened = client.get(link, follow=True)
    if not opened.redirect_chain:
        return opened
    return client.post(opened.redirect_chain[-1][0], {"password1": new}, follow=True)


def is_in(client: Client) -> bool:
    return client.get("/account/security/").status_code == 200


def test_a_person_chooses_a_new_password_by_the_link_of_a_letter(
    bob: User, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = signed_in(bob)
    link = link_of(bob)
    client = browser()

    opened = client.get(link)
    form = opened.headers["Location"]
    token = link.rstrip("/").rpartition("/")[2].partition("-")[2]
    assert token not in form
    done = client.post(form, {"password1": NEW}, follow=True)

    assert "The password is set" in text(done)
    assert not is_in(elsewhere)
    assert not is_in(client)
    sign_in(client, bob, NEW)
    assert is_in(client)
    written = capsys.readouterr()
    assert token not in written.out + written.err + caplog.text
    assert bob.email not in written.out + written.err


def test_the_letter_of_an_unknown_address_is_only_pretended(bob: User) -> None:
    nobody = f"{sign_ins.new_name()}@example.com"
    ask(bob.email)  # the first letter of a month opens a stream

    with CaptureQueriesContext(connection) as for_unknown:
        unknown = ask(nobody)
    with CaptureQueriesContext(connection) as for_known:
        known = ask(bob.email)

    assert "Look into your mailbox" in text(known)
    assert text(known) == text(unknown)
    assert [address for address, _ in letters.list_letters()] == [bob.email, bob.email]
    assert kinds(for_known) == kinds(for_unknown)


def kinds(captured: CaptureQueriesContext) -> Counter[str]:
    """How many statements there were of each kind, without the end of the pretence."""
    words = (query["sql"].split()[0] for query in captured.captured_queries)
    return Counter(word for word in words if word not in {"ROLLBACK", "RELEASE", "SAVEPOINT"})


def test_an_address_gets_three_letters_in_a_quarter_of_an_hour_and_others_still_do(
    bob: User,
) -> None:
    for _ in range(3):
        ask(bob.email)

    answer = ask(bob.email)

    assert answer.status_code == 429
    assert "Try again in 15 minutes." in text(answer)
    assert len(letters.list_letters()) == 3
    assert "Look into your mailbox" in text(ask(f"{sign_ins.new_name()}@example.com"))


def test_a_link_works_once_also_for_a_form_that_was_open_before(bob: User) -> None:
    link = link_of(bob)
    slow = browser()
    form = slow.get(link).headers["Location"]
    choose(browser(), link)

    other = "another long password"
    again = choose(browser(), link, other)
    late = slow.post(form, {"password1": other}, follow=True)

    assert GONE in text(again)
    assert GONE in text(late)
    bob.refresh_from_db()
    assert bob.check_password(NEW)


def test_a_link_does_not_work_after_an_hour_a_sign_in_or_another_password(
    bob: User, settings: LazySettings
) -> None:
    first = link_of(bob)
    sign_in(browser(), bob)
    assert GONE in text(choose(browser(), first))

    second = link_of(User.objects.get(pk=bob.pk))
    signed_in(bob).post(
        "/account/password/change/", {"oldpassword": sign_ins.PASSWORD, "password1": NEW}
    )
    assert GONE in text(choose(browser(), second))

    third = link_of(User.objects.get(pk=bob.pk))
    assert settings.PASSWORD_RESET_TIMEOUT == 3600
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert GONE in text(choose(browser(), third))


def test_a_link_that_was_changed_or_is_for_another_person_does_not_work(bob: User) -> None:
    other = person()
    link = link_of(bob)
    head, _, key = link.rstrip("/").rpartition("/")
    uid, _, token = key.partition("-")
    last = "a" if token[-1] != "a" else "b"
    own = password_resets.make_reset_link(other, now=datetime.now(UTC)).path
    own_uid = own.removeprefix(head).strip("/").partition("-")[0]

    for tampered in (
        f"{head}/{uid}-{token[:-1]}{last}/",
        f"{head}/{own_uid}-{token}/",
        f"{head}/zzzzzz-{token}/",
        f"{head}/{uid}-set-password/",
    ):
        assert GONE in text(choose(browser(), tampered)), tampered
    for user in (bob, other):
        user.refresh_from_db()
        assert user.check_password(sign_ins.PASSWORD)


def test_a_reset_does_not_pass_the_second_factor(bob: User) -> None:
    sign_ins.add_app(bob)
    client = browser()
    choose(client, link_of(bob))

    answer = sign_in(client, bob, NEW)

    assert answer.headers["Location"] == "/account/two-factor/authenticate/"
    assert not is_in(client)


def test_a_closed_account_or_one_without_a_sender_gets_no_letter_and_the_same_answer() -> None:
    user = person()
    assert "Look into your mailbox" in text(ask(user.email))
    letters.give_sender("acme", kind="sandbox")
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert "Look into your mailbox" in text(ask(user.email))

    assert letters.list_letters() == []


def test_without_its_own_address_the_installation_mails_no_link(
    bob: User, settings: LazySettings
) -> None:
    settings.PUBLIC_URL = ""

    page = text(browser().get(ASK))
    ask(bob.email)

    assert "postledger member reset-link" in page
    assert letters.list_letters() == []


def test_who_sets_up_one_workspace_cannot_have_the_links_of_members_of_another() -> None:
    Workspace.objects.create(name="operator")
    names = ("globex", "initech")
    for workspace in names:
        letters.give_sender(workspace)
    carols = []
    for joined_first, then in (names, names[::-1]):
        carol = person(workspace=joined_first)
        second = Workspace.objects.get(name=then)
        Member.objects.create(workspace=second, user=carol, email=carol.email, role=Role.VIEWER)
        carols.append(carol.email)

    for email in carols:
        ask(email)
        assert letters.carriers_to(email) == []
    letters.give_sender("operator")
    for email in carols:
        ask(email)
        assert letters.carriers_to(email) == ["operator"]


def test_the_one_workspace_of_a_person_stands_in_where_the_first_reaches_nobody(bob: User) -> None:
    letters.give_sender("globex")
    carol = person(workspace="globex")

    ask(carol.email)
    ask(bob.email)

    assert letters.carriers_to(carol.email) == ["globex"]
    assert letters.carriers_to(bob.email) == ["acme"]


def test_an_operator_prints_a_link_which_is_noted(
    bob: User, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("member", "reset-link", bob.email.upper())

    url = capsys.readouterr().out.strip()
    assert url.startswith("https://mail.example/account/password/reset/key/")
    assert AuditEntry.objects.filter(action="member.reset_link").count() == 1
    choose(browser(), urlsplit(url).path)
    bob.refresh_from_db()
    assert bob.check_password(NEW)

    with pytest.raises(CommandError, match="Nobody signs in with"):
        call_command("member", "reset-link", "nobody@example.com")


def test_a_member_whom_nobody_invited_gets_a_link_to_join_by_command(
    bob: User, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("member", "add", "acme", "Olga@acme", "--role", "owner")
    command = "postledger member invite acme Olga@acme"
    assert f"{command} prints a link to join with." in capsys.readouterr().out
    with pytest.raises(CommandError, match=f"Olga@acme has not joined yet: {command} prints"):
        call_command("member", "reset-link", "olga@ACME")

    call_command("member", "invite", "acme", "olga@acme")

    url = capsys.readouterr().out.strip()
    assert url.startswith("https://mail.example/join/")
    client = browser()
    client.post(urlsplit(url).path, {"name": "Olga", "password": NEW})
    olga = User.objects.get(email="olga@acme")
    assert Member.objects.get(user=olga).role == Role.OWNER
    assert sign_in(browser(), olga, NEW).headers["Location"] == "/"
    assert AuditEntry.objects.filter(action="member.invited").count() == 1

    with pytest.raises(CommandError, match="has joined already; no invitation is needed"):
        call_command("member", "invite", "acme", "olga@acme")


def text(answer: Any) -> str:
    return str(answer.content.decode())
