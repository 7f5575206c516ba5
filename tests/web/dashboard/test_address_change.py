"""Another address to sign in with: who may ask for it, and who is told."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from postledger.accounts.models import AuditEntry, Member, User, Workspace
from postledger.accounts.people import members
from postledger.accounts.people.roles import Role
from tests.web.dashboard import letters, new_addresses, sign_ins
from tests.web.dashboard.new_addresses import (
    CHANGE,
    SENT,
    address_of,
    ask,
    get_link,
    join,
    link_to,
    new_address,
    read,
)
from tests.web.dashboard.sign_ins import browser, confirmed, person, sign_in, signed_in
from tests.web.focus import check_focus

pytestmark = pytest.mark.django_db

SECURITY = "/account/security/"


@pytest.fixture(autouse=True)
def installation(settings: LazySettings) -> None:
    new_addresses.prepare(settings)


@pytest.fixture
def bob() -> User:
    """A member of a workspace whose sender reaches people."""
    letters.give_sender("acme")
    return person()


def test_a_person_signs_in_with_another_address_after_the_link_of_a_letter(bob: User) -> None:
    new, elsewhere = new_address(), signed_in(bob)
    join(bob, "globex")
    client = signed_in(bob)
    assert f'href="{CHANGE}">Change…</a>' in read(client.get(SECURITY))

    asked = client.get(CHANGE)
    assert asked.headers["Location"].startswith("/account/reauthenticate/")
    led_on = client.post(asked.headers["Location"], {"password": sign_ins.PASSWORD})
    assert led_on.headers["Location"] == CHANGE
    assert f"on its way to {new}" in read(ask(client, new.upper()))
    assert address_of(bob) != new

    done = client.post(link_to(new), follow=True)

    assert f"From now on you sign in with {new}." in read(done)
    assert address_of(bob) == new
    assert list(Member.objects.values_list("email", flat=True)) == [new, new]
    for one in (client, elsewhere):
        assert one.get(SECURITY).status_code == 200
    again = browser()
    sign_in(again, bob)
    assert again.get(SECURITY).status_code == 302, "the former address signs nobody in"
    sign_in(again, User.objects.get(pk=bob.pk))
    assert again.get(SECURITY).status_code == 200


def test_the_trail_of_each_workspace_notes_it_and_holds_no_full_address(bob: User) -> None:
    former, new = bob.email, new_address()
    memberships = [Member.objects.get(user=bob), join(bob, "globex")]
    signed_in(bob).post(get_link(bob, new))

    entries = AuditEntry.objects.filter(action="member.address_changed").order_by("pk")

    assert [(entry.workspace_id, entry.subject, entry.actor) for entry in entries] == [
        (member.workspace_id, f"member {member.pk}", f"user {bob.pk}") for member in memberships
    ]
    masked = {"from": f"{former[0]}***@example.com", "to": f"{new[0]}***@new.example"}
    assert [entry.data for entry in entries] == [masked, masked]
    page = read(signed_in(bob).get(f"/w/{memberships[0].workspace_id}/settings/audit/"))
    assert f"from {masked['from']} to {masked['to']}." in page


def test_the_former_address_is_told_without_a_secret(bob: User) -> None:
    former, new = bob.email, new_address()
    signed_in(bob).post(get_link(bob, new))

    [told] = letters.letters_to(former)

    assert f"From now on you sign in to Postledger with {new[0]}***@new.example" in told
    assert "If it was not you" in told
    assert new not in told
    assert list(letters.find_links(told)) == []


def test_a_membership_that_ended_keeps_its_address(bob: User) -> None:
    former, ended = bob.email, join(bob, "globex")
    Member.objects.filter(pk=ended.pk).update(removed_at=datetime.now(UTC), email=former)

    signed_in(bob).post(get_link(bob, new_address()))

    assert Member.objects.get(pk=ended.pk).email == former
    assert not AuditEntry.objects.filter(
        action="member.address_changed", workspace_id=ended.workspace_id
    ).exists()


def test_who_did_not_show_lately_that_it_is_them_is_asked_first_and_the_form_goes_on(
    bob: User,
) -> None:
    new, client = new_address(), signed_in(bob)

    asked = ask(client, new)
    assert asked.headers["Location"].startswith("/account/reauthenticate/")
    assert letters.list_letters() == []

    sent = client.post(asked.headers["Location"], {"password": sign_ins.PASSWORD})
    assert SENT in read(sent)
    assert len(letters.letters_to(new)) == 1


def test_the_form_answers_the_same_for_an_address_that_somebody_has(bob: User) -> None:
    known, unknown, invited = person().email, new_address(), new_address()
    workspace_id = Member.objects.get(user=bob).workspace_id
    members.add_member(workspace_id, email=invited, role=Role.VIEWER, actor="alice")
    client = confirmed(bob)
    ask(client, new_address())  # the first letter of a month opens a stream

    answers, statements = set(), []
    for address in (unknown, known, invited):
        with CaptureQueriesContext(connection) as captured:
            answer = ask(client, address)
        answers.add(read(answer).replace(address, "ADDRESS"))
        statements.append(Counter(query["sql"].split()[0] for query in captured.captured_queries))
        assert len(letters.letters_to(address)) == 1

    assert len(answers) == 1
    assert statements[0] == statements[1] == statements[2]


def test_wrong_input_is_said_beside_the_field_and_stays(bob: User) -> None:
    client = confirmed(bob)
    for typed in ("olga", "", bob.email.upper()):
        answer = ask(client, typed)

        check_focus(answer, "email")
        assert not typed or f'value="{typed}"' in read(answer)
    assert letters.list_letters() == []


def test_an_address_of_an_internal_domain_or_another_script_can_be_had(bob: User) -> None:
    name = sign_ins.new_name()

    ask(confirmed(bob), f"Жук-{name}@München.example")
    signed_in(bob).post(link_to(f"жук-{name}@xn--mnchen-3ya.example"))
    assert address_of(bob) == f"жук-{name}@xn--mnchen-3ya.example"

    signed_in(bob).post(get_link(User.objects.get(pk=bob.pk), f"{name}@localhost"))
    assert address_of(bob) == f"{name}@localhost"


def test_an_address_gets_three_letters_in_a_quarter_of_an_hour_and_others_still_do(
    bob: User,
) -> None:
    client, new = confirmed(bob), new_address()
    for _ in range(3):
        assert SENT in read(ask(client, new))

    answer = ask(client, new)

    assert answer.status_code == 429
    assert 890 < int(answer.headers["Retry-After"]) <= 900
    assert "Try again in 15 minutes." in read(answer)
    assert f'value="{new}"' in read(answer)
    assert len(letters.letters_to(new)) == 3
    assert SENT in read(ask(client, new_address()))


def test_while_redis_is_away_no_letter_is_sent(bob: User, settings: LazySettings) -> None:
    client, new = confirmed(bob), new_address()
    redis = settings.CACHES["default"]
    settings.CACHES = {"default": {**redis, "LOCATION": "redis://127.0.0.1:1/0"}}

    answer = ask(client, new)

    assert answer.status_code == 503
    assert letters.letters_to(new) == []


@pytest.mark.parametrize("why", ["no PUBLIC_URL", "sandbox", "no sender"])
def test_where_no_letter_reaches_people_the_page_names_the_command(
    why: str, settings: LazySettings
) -> None:
    alone = person()
    if why == "no PUBLIC_URL":
        letters.give_sender("acme")
        settings.PUBLIC_URL = ""
    elif why == "sandbox":
        letters.give_sender("acme", kind="sandbox")
    client = confirmed(alone)

    for answer in (client.get(CHANGE), ask(client, new_address())):
        assert "<code>postledger member address</code>" in read(answer)
        assert ("PUBLIC_URL" in read(answer)) == (why == "no PUBLIC_URL")
        assert 'name="email"' not in read(answer)
    assert letters.list_letters() == []


def test_who_sets_up_one_workspace_sees_no_links_of_members_of_another() -> None:
    Workspace.objects.create(name="operator")
    letters.give_sender("globex")
    letters.give_sender("initech")
    carol, new = person(workspace="globex"), new_address()
    join(carol, "initech")

    assert "postledger member address" in read(confirmed(carol).get(CHANGE))

    letters.give_sender("operator")
    former = carol.email
    signed_in(carol).post(get_link(carol, new))
    assert letters.carriers_to(new) == letters.carriers_to(former) == ["operator"]


def test_the_one_workspace_of_a_person_carries_their_letters_where_the_first_reaches_nobody() -> (
    None
):
    letters.give_sender("operator", kind="sandbox")
    letters.give_sender("globex")
    carol, new = person(workspace="globex"), new_address()

    get_link(carol, new)

    assert letters.carriers_to(new) == ["globex"]


def test_a_letter_is_in_the_language_of_its_person_also_if_a_command_sends_it(bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(language="ru")
    former, new = bob.email, new_address()
    client = confirmed(bob)
    ask(client, new)
    client.post(link_to(new))
    call_command("member", "address", new, new_address())

    told = [*letters.letters_to(former), *letters.letters_to(new)]
    assert len(told) == 3
    assert [letter for letter in told if "адрес" not in letter] == []


def test_an_operator_changes_an_address_at_once(
    bob: User, capsys: pytest.CaptureFixture[str]
) -> None:
    former, new = bob.email, new_address()

    call_command("member", "address", former.upper(), new.upper())

    assert capsys.readouterr().out.splitlines() == [
        f"{former} signs in with {new} from now on.",
        f"A letter tells {former} so.",
    ]
    assert address_of(bob) == Member.objects.get(user=bob).email == new
    assert AuditEntry.objects.get(action="member.address_changed").actor.startswith("command line")
    assert len(letters.letters_to(former)) == 1


def test_the_command_refuses_what_the_page_refuses(bob: User) -> None:
    former, other = bob.email, person()
    for new, words in (
        (other.email, "Somebody else signs in with this address already."),
        (former.upper(), "is the address of this person already"),
        ("olga", "'olga' is not an email address."),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("member", "address", former, new)
    with pytest.raises(CommandError, match="Nobody signs in with"):
        call_command("member", "address", new_address(), new_address())

    assert address_of(bob) == former
    assert not AuditEntry.objects.filter(action="member.address_changed").exists()
