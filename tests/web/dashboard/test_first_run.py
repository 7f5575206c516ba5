"""The first run: the operator's code makes the owner, who connects a provider and mails it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from postledger.accounts import operator_settings, provider_accounts, queries, sealing, senders
from postledger.accounts.models import (
    AuditEntry,
    Member,
    ProviderAccount,
    Sender,
    User,
    Workspace,
)
from postledger.accounts.operator_settings import OperatorOnlyError
from postledger.accounts.people import first_run
from postledger.accounts.people.roles import Role
from postledger.deliveries import entries
from postledger.lib.ids import DeliveryId
from postledger.web.shared import throttle
from tests import cast
from tests.cli import installations
from tests.providers.fake_smtp import FEATURES, FakeSmtp, Phase
from tests.web import callers
from tests.web.dashboard.reading import read
from tests.web.dashboard.sign_ins import new_name
from tests.web.dashboard.visitors import Person, person, plant_session
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

pytestmark = pytest.mark.django_db

NETWORK = "2001:db8:5e::1"
OWNER = {"name": "Alice", "email": "Alice@acme.example", "password": "correct horse battery"}


@pytest.fixture
def code() -> str:
    Workspace.objects.create(name="default")
    issued = first_run.issue_code()
    assert issued
    return issued


@pytest.fixture
def alice() -> Person:
    return person(name="alice")


def browser(**options: Any) -> Client:
    return Client(REMOTE_ADDR=NETWORK, **options)


def errors_of(response: Any) -> dict[str, str]:
    """What a page says beside its fields, by their names."""
    found = re.findall(r'class="error" id="id_(\w+)_error">(.*?)</span>', response.content.decode())
    return dict(found)


AGAIN = "Type it again: a page repeats no secret."


def mistakes_of(response: Any) -> dict[str, str]:
    return {name: text for name, text in errors_of(response).items() if text != AGAIN}


@pytest.fixture(autouse=True)
def allow_fakes(settings: LazySettings) -> None:
    """The fakes are on this machine."""
    settings.PRIVATE_HOSTS = frozenset({"127.0.0.1"})


@pytest.fixture
def smtp() -> Iterator[FakeSmtp]:
    with installations.smtp(FakeSmtp()) as server:
        yield server


def smtp_fields(server: FakeSmtp, **changes: str) -> dict[str, str]:
    fields = {"kind": "smtp", "host": "127.0.0.1", "port": str(server.port), "tls": "none"}
    return {**fields, "address": "news@acme.example", **changes}


def test_the_code_makes_an_owner_who_is_signed_in_and_goes_on_to_the_provider(code: str) -> None:
    client = browser()
    assert client.get("/").headers["Location"] == "/first-run"
    assert "data-propose-zone" in client.get("/first-run").content.decode()
    planted = plant_session(client)

    zone = {"time_zone": "Europe/Lisbon"}
    done = client.post("/first-run", {"code": code.lower(), **OWNER, **zone})

    workspace = Workspace.objects.get()
    assert done.headers["Location"] == f"/w/{workspace.pk}/start/provider/"
    assert client.get(done.headers["Location"]).status_code == 200
    assert client.cookies["postledger_session"].value != planted
    member = Member.objects.get()
    assert (member.role, member.name) == (Role.OWNER, "Alice")
    assert member.user
    assert member.user.email == "alice@acme.example"
    assert member.user.check_password(OWNER["password"])
    assert workspace.time_zone == "Europe/Lisbon"
    changed = AuditEntry.objects.get(action="workspace.zone_changed")
    assert changed.actor == f"user {member.user.pk}"
    assert client.get("/first-run").headers["Location"].endswith("/start/")
    assert browser().get("/first-run").headers["Location"] == "/"
    assert browser().post("/first-run", {"code": code, **OWNER}).headers["Location"] == "/"
    assert User.objects.count() == 1, "the first run is over"


def test_a_zone_that_the_operator_chose_stays(code: str) -> None:
    Workspace.objects.update(time_zone="Europe/Lisbon")
    assert "data-propose-zone" not in browser().get("/first-run").content.decode()

    browser().post("/first-run", {"code": code, **OWNER})

    assert Workspace.objects.get().time_zone == "Europe/Lisbon"


def test_an_owner_of_an_internal_domain_can_sign_in_again(code: str) -> None:
    address = f"{new_name()}@acme"
    browser().post("/first-run", {"code": code, **OWNER, "email": address})

    answer = browser().post("/account/login/", {"login": address, "password": OWNER["password"]})

    assert answer.headers.get("Location") == "/"


def test_wrong_codes_of_one_network_are_limited(
    code: str, settings: LazySettings, patient_throttle: None
) -> None:
    settings.WRONG_PASSWORDS_OF_ONE = "3/minute"
    network = throttle.network_of(NETWORK)
    callers.forget_visits("3/minute", "wrong first-run code", network)

    wrong = [browser().post("/first-run", {"code": "WRONG", **OWNER}) for _ in range(3)]
    refused = browser().post("/first-run", {"code": code, **OWNER})

    assert all("not the code" in errors_of(answer)["code"] for answer in wrong)
    assert "Too many wrong codes" in errors_of(refused)["code"]
    assert not User.objects.exists()
    elsewhere = Client(REMOTE_ADDR="2001:db8:77::1").post("/first-run", {"code": code, **OWNER})
    assert elsewhere.status_code == 302


def test_what_is_wrong_stands_beside_its_field_and_uses_up_no_code(code: str) -> None:
    wrong: tuple[tuple[dict[str, str], set[str]], ...] = (
        ({"code": "AAAA-BBBB-CCCC-DDDD"}, {"code"}),
        ({"password": "short"}, {"password"}),
        ({"password": "alice@acme.example"}, {"password"}),
        ({"password": "password12345"}, {"password"}),
        ({"password": "passwordpassword"}, {"password"}),
        ({"password": "aaaaaaaaaaaaaaaa"}, {"password"}),
        ({"email": "alice"}, {"email"}),
        ({"name": "", "email": "alice", "code": "WRONG"}, {"code", "name", "email"}),
    )
    for changes, fields in wrong:
        answer = browser().post("/first-run", {"code": code, **OWNER, **changes})

        assert answer.status_code == 422, changes
        assert errors_of(answer).keys() == fields, changes
        assert OWNER["password"] not in answer.content.decode(), changes
    assert not User.objects.exists()
    first_run.check_code(code)


def test_without_a_workspace_the_page_says_what_to_run() -> None:
    answer = browser().post("/first-run", {"code": "AAAA-BBBB-CCCC-DDDD", **OWNER})

    assert "Run <code>postledger setup</code> first" in errors_of(answer)["code"]


def test_a_provider_that_the_operator_connected_is_shown_and_not_asked_for(code: str) -> None:
    workspace_id = Workspace.objects.get().pk
    account_id = provider_accounts.create_account(
        workspace_id, name="relay", kind="smtp", settings={"host": "127.0.0.1"}, actor="operator"
    )
    senders.create_sender(
        workspace_id, address="news@acme.example", account_id=account_id, actor="operator"
    )
    client = browser()

    done = client.post("/first-run", {"code": code, **OWNER})

    assert done.headers["Location"] == f"/w/{workspace_id}/start/email/"
    assert "news@acme.example" in read(client.get(done.headers["Location"]))
    assert "relay" in read(client.get(f"/w/{workspace_id}/start/provider/"))


def test_a_server_that_answers_is_stored_with_its_sender(alice: Person, smtp: FakeSmtp) -> None:
    done = connect(alice, smtp_fields(smtp))

    assert done.headers["Location"] == alice.url("start/email/")
    sender = queries.default_sender(alice.workspace.pk)
    assert sender
    assert sender.address == "news@acme.example"
    assert sender.account_id == ProviderAccount.objects.get(kind="smtp").pk
    actors = AuditEntry.objects.values_list("actor", flat=True)
    assert set(actors) == {f"user {alice.user.pk}"}


def test_a_server_that_cannot_be_used_is_not_stored_and_the_field_says_why(
    alice: Person, smtp: FakeSmtp
) -> None:
    refusal = {Phase.AUTH: "535 5.7.8 bad credentials"}
    with installations.smtp(FakeSmtp(refusal, features=(*FEATURES, "AUTH PLAIN"))) as server:
        login = {"username": "shop", "password": "wrong-hunter2"}
        wrong = connect(alice, smtp_fields(server, **login))
    silent = connect(alice, smtp_fields(smtp, port="1"))
    open_ = connect(alice, smtp_fields(smtp, tls="starttls"))

    assert (wrong.status_code, silent.status_code, open_.status_code) == (422, 422, 422)
    assert "password" in errors_of(wrong)
    assert "wrong-hunter2" not in wrong.content.decode()
    assert "It cannot be used" in errors_of(silent)["host"]
    assert errors_of(open_).keys() == {"tls"}
    assert not ProviderAccount.objects.exists()
    assert not Sender.objects.exists()


def test_wrong_settings_are_named_before_anybody_is_asked(alice: Person) -> None:
    ses = {"kind": "ses", "region": "eu-west-1"}
    local = {"kind": "smtp", "host": "127.0.0.1"}
    wrong: tuple[tuple[dict[str, str], str], ...] = (
        ({"kind": "smtp"}, "host"),
        ({"kind": "smtp", "host": "no host"}, "host"),
        ({"kind": "smtp", "host": "smtp..example"}, "host"),
        ({"kind": "smtp", "host": f"{'a' * 64}.example"}, "host"),
        ({"kind": "smtp", "host": "smtp.example.com:587"}, "host"),
        ({"kind": "smtp", "host": "[::1]:587"}, "host"),
        ({**local, "port": "70000"}, "port"),
        ({**local, "port": "x"}, "port"),
        ({"kind": "ses"}, "region"),
        ({"kind": "ses", "region": "Ireland"}, "region"),
        ({**ses, "access_key_id": ACCESS_KEY_ID}, "secret_access_key"),
        ({**ses, "secret_access_key": SECRET_ACCESS_KEY}, "access_key_id"),
        ({**ses, "endpoint": "https://evil.example"}, "endpoint"),
    )
    for fields, field in wrong:
        answer = connect(alice, fields)

        assert answer.status_code == 422, fields
        assert mistakes_of(answer).keys() == {field}, fields


def connect(who: Person, fields: Mapping[str, str]) -> Any:
    return who.client.post(
        who.url("start/provider/"), {"address": "news@acme.example"} | dict(fields)
    )


@pytest.fixture
def ses() -> Iterator[FakeSes]:
    with serving_in_thread(FakeSes()) as fake:
        fake.service.account.add_identities("acme.example")
        yield fake


def ses_fields(fake: FakeSes, **changes: str) -> dict[str, str]:
    fields = {"kind": "ses", "region": "us-east-1", "endpoint": fake.endpoint}
    keys = {"access_key_id": ACCESS_KEY_ID, "secret_access_key": SECRET_ACCESS_KEY}
    return {**fields, **keys, "address": "news@acme.example", **changes}


def test_only_the_operator_turns_an_account_towards_the_machine(
    alice: Person, settings: LazySettings
) -> None:
    settings.PRIVATE_HOSTS = frozenset()
    endpoint = {"endpoint": "http://127.0.0.1:1"}
    keys = {"access_key_id": ACCESS_KEY_ID, "secret_access_key": SECRET_ACCESS_KEY}
    smtp = {"kind": "smtp", "port": "1", "tls": "none"}
    ses = {"kind": "ses", "region": "eu-west-1"}
    inward = (
        ({**smtp, "host": "127.0.0.1"}, "host", "127.0.0.1:1 is on the machine"),
        ({**smtp, "host": "10.0.0.7"}, "host", "10.0.0.7:1 is inside the network"),
        (ses, "access_key_id", "Without a key of its own"),
        ({**ses, **keys, **endpoint}, "endpoint", "Only the operator"),
        ({"kind": "sendgrid", "api_key": API_KEY, **endpoint}, "endpoint", "Only the operator"),
    )

    for bob in (person(Role.DEVELOPER, name="bob"), person(workspace="globex", name="bob")):
        for fields, field, words in inward:
            refused = connect(bob, fields)

            assert refused.status_code == 422, (bob.workspace.name, fields)
            mistakes = mistakes_of(refused)
            assert mistakes.keys() == {field}, (bob.workspace.name, fields)
            assert words in mistakes[field], (bob.workspace.name, fields)
            assert "all the same" not in read(refused), (bob.workspace.name, fields)
    assert not ProviderAccount.objects.exists()


def test_even_the_operator_enters_this_machine_only_if_a_setting_names_it(
    alice: Person, settings: LazySettings
) -> None:
    settings.PRIVATE_HOSTS = frozenset({"relay.internal", "127.0.0.1:2526"})
    fields = {"kind": "smtp", "port": "2525", "tls": "none"}

    for host in ("127.0.0.1", "127.1", "0x7f000001", "::1", "localhost", "10.0.0.7"):
        refused = connect(alice, {**fields, "host": host})

        assert refused.status_code == 422, host
        server = "[::1]:2525" if host == "::1" else f"{host}:2525"
        named = f"<code>PRIVATE_HOSTS=127.0.0.1:2526,relay.internal,{server}</code>"
        assert named in errors_of(refused)["host"], host
    assert not ProviderAccount.objects.exists()


def test_a_fake_of_the_operator_is_allowed_by_the_setting_that_the_page_names(
    alice: Person, settings: LazySettings
) -> None:
    for host in ("127.0.0.1", "[::1]"):
        fields = {"kind": "sendgrid", "api_key": API_KEY, "endpoint": f"http://{host}:1"}
        settings.PRIVATE_HOSTS = frozenset()
        refused = connect(alice, fields)
        settings.PRIVATE_HOSTS = frozenset({f"{host}:1"})
        asked = connect(alice, fields)

        assert f"<code>PRIVATE_HOSTS={host}:1</code>" in errors_of(refused)["endpoint"]
        assert "PRIVATE_HOSTS" not in read(asked), host


def test_the_setting_that_a_page_names_has_the_usual_port_and_allows_no_other(
    settings: LazySettings, alice: Person
) -> None:
    settings.PRIVATE_HOSTS = frozenset()
    for host in ("127.0.0.1", "[::1]", "10.0.0.7"):
        named = f"{host}:587"
        given = {"host": host, "username": "shop", "password": "hunter2"}

        refused = connect(alice, {"kind": "smtp", **given, "tls": "starttls"})

        assert f"<code>PRIVATE_HOSTS={named}</code>" in errors_of(refused)["host"]
        allowed = operator_settings.screen_settings(
            "smtp", given, is_whole=True, inside_hosts=[named]
        )
        # Whoever changes the encryption later is still led to the port that was allowed.
        assert allowed == {**given, "port": 587}
        for tls in ("none", "implicit"):
            other = {"host": host, "tls": tls}
            assert not is_allowed(other, [named]), other
        assert not is_allowed({"host": host, "port": 2812}, [named]), host
        change = {"host": host, "password": "x"}
        assert not is_allowed(change, [named], is_whole=False), "its stored port may be another"


def is_allowed(
    given: Mapping[str, object], inside_hosts: list[str], *, is_whole: bool = True
) -> bool:
    try:
        screened = operator_settings.screen_settings(
            "smtp", given, is_whole=is_whole, inside_hosts=inside_hosts
        )
    except OperatorOnlyError:
        return False
    return "public_only" not in screened


def test_a_server_that_a_setting_names_is_everybodys(
    alice: Person, smtp: FakeSmtp, settings: LazySettings
) -> None:
    settings.PRIVATE_HOSTS = frozenset({f"127.0.0.1:{smtp.port}"})

    done = connect(person(Role.DEVELOPER, name="bob"), smtp_fields(smtp))

    assert done.status_code == 302
    assert ProviderAccount.objects.filter(kind="smtp").exists()


def test_ses_is_asked_and_its_keys_are_stored_sealed(alice: Person, ses: FakeSes) -> None:
    refused = connect(alice, ses_fields(ses, secret_access_key="x" * 40))
    elsewhere = connect(alice, ses_fields(ses, region="nowhere!"))
    done = connect(alice, ses_fields(ses))

    assert "SES refuses the keys" in errors_of(refused)["secret_access_key"]
    assert "all the same" not in read(refused), "what was entered is wrong"
    assert errors_of(elsewhere)["secret_access_key"] == AGAIN
    assert done.status_code == 302
    account = ProviderAccount.objects.get(kind="ses")
    assert SECRET_ACCESS_KEY.encode() not in bytes(account.sealed_settings)


def test_what_is_to_be_mended_at_ses_can_be_passed_over_on_purpose(
    alice: Person, ses: FakeSes
) -> None:
    fields = ses_fields(ses, address="news@globex.example")

    answer = connect(alice, fields)
    stored_before = ProviderAccount.objects.exists()
    done = connect(alice, {**fields, "anyway": "1"})

    assert "has no identity globex.example" in errors_of(answer)["address"]
    assert 'name="anyway"' in answer.content.decode()
    assert not stored_before
    assert done.status_code == 302
    assert ProviderAccount.objects.exists()


def test_sendgrid_is_asked_in_its_region_and_its_key_is_stored_sealed(alice: Person) -> None:
    with serving_in_thread(FakeSendGrid()) as fake:
        fake.service.account.add_identities("acme.example")
        fields = {"kind": "sendgrid", "sendgrid_region": "eu", "endpoint": fake.endpoint}
        nothing = connect(alice, fields)
        refused = connect(alice, {**fields, "api_key": "SG.wrong"})
        done = connect(alice, {**fields, "api_key": API_KEY})

    assert errors_of(nothing).keys() == {"api_key"}
    assert "SendGrid refuses the API key" in errors_of(refused)["api_key"]
    assert done.status_code == 302
    account = ProviderAccount.objects.get(kind="sendgrid")
    assert API_KEY.encode() not in bytes(account.sealed_settings)
    assert sealing.unseal_settings(account)["region"] == "eu"


def test_a_sender_without_an_account_gets_one_by_the_form_and_another_never(
    alice: Person, smtp: FakeSmtp
) -> None:
    sender = cast.sender()
    page = alice.client.get(alice.url("start/provider/")).content.decode()
    connect(alice, smtp_fields(smtp))

    again = connect(alice, smtp_fields(smtp))

    assert f'value="{sender.address}"' in page
    sender.refresh_from_db()
    assert sender.account_id == ProviderAccount.objects.get().pk
    assert f'<a href="{alice.url(f"senders/{sender.pk}/")}">' in errors_of(again)["address"]


def test_the_sandbox_for_now_leaves_a_sender_that_a_provider_takes_over_later(
    alice: Person, smtp: FakeSmtp
) -> None:
    url = alice.url("start/provider/")
    assert alice.client.post(url, {"sandbox": "1"}).headers["Location"] == alice.url("start/email/")
    alice.client.post(url, {"sandbox": "1"})
    assert Sender.objects.get().address == "hello@example.com"

    connect(alice, smtp_fields(smtp))

    default = queries.default_sender(alice.workspace.pk)
    assert default
    assert default.address == "news@acme.example"


def test_the_first_email_goes_to_the_person_who_asks_and_its_state_is_followed(
    alice: Person,
) -> None:
    for ask in (alice.client.get, alice.client.post):
        led = ask(alice.url("start/email/"))
        assert led.headers["Location"] == alice.url("start/provider/"), "without a sender"
    alice.client.post(alice.url("start/provider/"), {"sandbox": "1"})

    def send() -> tuple[str, int]:
        sent = alice.client.post(alice.url("start/email/"), {"to": "mallory@example.com"})
        mail = DeliveryId.parse(sent.headers["Location"].rstrip("/").rpartition("/")[2])
        assert mail
        return sent.headers["Location"], mail.stream_id

    url, stream_id = send()
    assert 'hx-trigger="every 2s"' in alice.client.get(url).content.decode()
    cast.book(stream_id, lambda position: entries.accepted(position, message_id="m-1"))
    part = alice.client.get(url, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "Accepted" in part
    assert "every 2s" not in part, "nothing moves any more"
    assert alice.user.email in read(alice.client.get(url))

    url, stream_id = send()
    cast.book(stream_id, lambda one: entries.refused(one, code="550 5.1.1", detail="<b>No</b>"))
    page = alice.client.get(url).content.decode()
    assert "550 5.1.1" in page
    assert "&lt;b&gt;No&lt;/b&gt;" in page
