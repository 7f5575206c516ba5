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
from tests.web.dashboard.people import Person, person, plant_session
from tests.web.dashboard.sign_ins import new_name
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


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", response.content.decode()))


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
    client.get("/first-run")

    done = client.post("/first-run", {"code": code.lower(), **OWNER})

    workspace = Workspace.objects.get()
    assert done.headers["Location"] == f"/w/{workspace.pk}/start/provider/"
    member = Member.objects.get()
    assert (member.role, member.name) == (Role.OWNER, "Alice")
    assert member.user
    assert member.user.email == "alice@acme.example"
    assert member.user.check_password(OWNER["password"])
    page = client.get(done.headers["Location"])
    assert page.status_code == 200
    assert re.findall(r"<(\w+)[^>]* autofocus", page.content.decode()) == ["h2"]


def test_an_owner_of_an_internal_domain_can_sign_in_again(code: str) -> None:
    address = f"{new_name()}@acme"
    browser().post("/first-run", {"code": code, **OWNER, "email": address})

    answer = browser().post("/account/login/", {"login": address, "password": OWNER["password"]})

    assert answer.headers.get("Location") == "/"


def test_the_zone_that_the_owner_chooses_is_that_of_the_workspace(code: str) -> None:
    page = browser().get("/first-run").content.decode()
    assert re.search(r"<select[^>]* data-propose-zone", page)
    assert '<option value="UTC" selected>' in page

    browser().post("/first-run", {"code": code, **OWNER, "time_zone": "Europe/Lisbon"})

    assert Workspace.objects.get().time_zone == "Europe/Lisbon"
    changed = AuditEntry.objects.get(action="workspace.zone_changed")
    assert changed.actor == f"user {User.objects.get().pk}"


def test_no_zone_is_proposed_over_one_that_somebody_chose(code: str) -> None:
    wrong = browser().post("/first-run", {"code": "WRONG", **OWNER, "time_zone": "Europe/Paris"})
    Workspace.objects.update(time_zone="Europe/Lisbon")
    stored = browser().get("/first-run")

    assert '<option value="Europe/Paris" selected>' in wrong.content.decode()
    assert '<option value="Europe/Lisbon" selected>' in stored.content.decode()
    assert "data-propose-zone" not in wrong.content.decode() + stored.content.decode()
    browser().post("/first-run", {"code": code, **OWNER})
    assert Workspace.objects.get().time_zone == "Europe/Lisbon"


def test_the_session_of_before_is_not_the_session_of_the_owner(code: str) -> None:
    client = browser()
    client.get("/first-run")
    planted = plant_session(client)

    client.post("/first-run", {"code": code, **OWNER})

    assert client.cookies["postledger_session"].value != planted


def test_a_wrong_code_makes_nobody_and_says_where_the_right_one_is(code: str) -> None:
    answer = browser().post("/first-run", {"code": "AAAA-BBBB-CCCC-DDDD", **OWNER})

    assert answer.status_code == 422
    assert "<code>postledger first-run</code> prints a new one" in errors_of(answer)["code"]
    assert OWNER["password"] not in answer.content.decode()
    assert not User.objects.exists()


def test_a_wrong_code_is_said_together_with_everything_else(code: str) -> None:
    answer = browser().post("/first-run", {"code": "WRONG", "email": "alice", "password": "short"})

    assert errors_of(answer).keys() == {"code", "name", "email", "password"}


def test_without_a_workspace_the_page_says_what_to_run() -> None:
    answer = browser().post("/first-run", {"code": "AAAA-BBBB-CCCC-DDDD", **OWNER})

    assert "Run <code>postledger setup</code> first" in errors_of(answer)["code"]


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


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"password": "short"}, "password"),
        ({"password": "alice@acme.example"}, "password"),
        ({"password": "password12345"}, "password"),
        ({"password": "passwordpassword"}, "password"),
        ({"password": "aaaaaaaaaaaaaaaa"}, "password"),
        ({"email": "alice"}, "email"),
        ({"name": ""}, "name"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_uses_up_no_code(
    code: str, changes: dict[str, str], field: str
) -> None:
    answer = browser().post("/first-run", {"code": code, **OWNER, **changes})

    assert answer.status_code == 422
    assert errors_of(answer).keys() == {field}
    first_run.check_code(code)


def test_once_somebody_can_sign_in_the_first_run_is_over(code: str) -> None:
    client = browser()
    client.post("/first-run", {"code": code, **OWNER})

    assert client.get("/first-run").headers["Location"].endswith("/start/")
    assert browser().get("/first-run").headers["Location"] == "/"
    assert browser().post("/first-run", {"code": code, **OWNER}).headers["Location"] == "/"
    assert User.objects.count() == 1


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
    assert "news@acme.example" in text_of(client.get(done.headers["Location"]))
    assert "relay" in text_of(client.get(f"/w/{workspace_id}/start/provider/"))


def test_a_server_that_answers_is_stored_with_its_sender(alice: Person, smtp: FakeSmtp) -> None:
    done = alice.client.post(alice.url("start/provider/"), smtp_fields(smtp))

    assert done.headers["Location"] == alice.url("start/email/")
    sender = queries.default_sender(alice.workspace.pk)
    assert sender
    assert sender.address == "news@acme.example"
    assert sender.account_id == ProviderAccount.objects.get(kind="smtp").pk
    actors = AuditEntry.objects.values_list("actor", flat=True)
    assert set(actors) == {f"user {alice.user.pk}"}


def test_a_server_that_does_not_answer_is_not_stored_and_the_field_says_so(alice: Person) -> None:
    fields = {"kind": "smtp", "host": "127.0.0.1", "port": "1", "tls": "none"}
    answer = alice.client.post(
        alice.url("start/provider/"), {**fields, "address": "news@acme.example"}
    )

    assert answer.status_code == 422
    assert "It cannot be used" in errors_of(answer)["host"]
    assert not ProviderAccount.objects.exists()
    assert not Sender.objects.exists()


def test_a_server_without_starttls_is_said_beside_the_encryption(
    alice: Person, smtp: FakeSmtp
) -> None:
    answer = alice.client.post(alice.url("start/provider/"), smtp_fields(smtp, tls="starttls"))

    assert answer.status_code == 422
    errors = errors_of(answer)
    assert errors == {"tls": "This server offers no STARTTLS. Choose another encryption."}


def test_a_wrong_password_stands_beside_the_password_and_is_not_repeated(alice: Person) -> None:
    refusal = {Phase.AUTH: "535 5.7.8 bad credentials"}
    with installations.smtp(FakeSmtp(refusal, features=(*FEATURES, "AUTH PLAIN"))) as server:
        answer = alice.client.post(
            alice.url("start/provider/"),
            smtp_fields(server, username="shop", password="wrong-hunter2"),
        )

    assert answer.status_code == 422
    assert "password" in errors_of(answer)
    assert "wrong-hunter2" not in answer.content.decode()


PORT_IN_HOST = "Write the name without its port, as smtp.example.com: the port is given apart."
NO_HOST = "This is not the name or the address of a host: write it as smtp.example.com."


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"kind": "smtp"}, "host", "Fill this in."),
        ({"kind": "smtp", "host": "no host"}, "host", NO_HOST),
        ({"kind": "smtp", "host": "smtp..example"}, "host", NO_HOST),
        ({"kind": "smtp", "host": "smtp.example.com:587"}, "host", PORT_IN_HOST),
        ({"kind": "smtp", "host": "[::1]:587"}, "host", PORT_IN_HOST),
        ({"kind": "smtp", "host": f"{'a' * 64}.example"}, "host", NO_HOST),
        (
            {"kind": "smtp", "host": "127.0.0.1", "port": "70000"},
            "port",
            "Write a number of at most 65535.",
        ),
        (
            {"kind": "smtp", "host": "127.0.0.1", "port": "x"},
            "port",
            "Write a whole number, such as 587.",
        ),
        ({"kind": "ses"}, "region", "Fill this in."),
        (
            {"kind": "ses", "region": "eu-west-1", "access_key_id": ACCESS_KEY_ID},
            "secret_access_key",
            "Both keys belong together: enter both, or neither.",
        ),
        (
            {"kind": "ses", "region": "eu-west-1", "secret_access_key": SECRET_ACCESS_KEY},
            "access_key_id",
            "Both keys belong together: enter both, or neither.",
        ),
        (
            {"kind": "ses", "region": "Ireland"},
            "region",
            "Write it as AWS does, such as eu-west-1.",
        ),
        (
            {"kind": "ses", "region": "eu-west-1", "endpoint": "https://evil.example"},
            "endpoint",
            (
                "Mail and credentials go to AWS only: use an endpoint of SES, such as"
                " https://email.eu-west-1.amazonaws.com, or one of this machine, such as"
                " http://127.0.0.1:8579."
            ),
        ),
    ],
)
def test_wrong_settings_are_named_before_anybody_is_asked(
    alice: Person, fields: dict[str, str], field: str, words: str
) -> None:
    answer = alice.client.post(
        alice.url("start/provider/"), {**fields, "address": "news@acme.example"}
    )

    assert answer.status_code == 422
    assert mistakes_of(answer) == {field: words}


@pytest.fixture
def ses() -> Iterator[FakeSes]:
    with serving_in_thread(FakeSes()) as fake:
        fake.service.account.add_identities("acme.example")
        yield fake


def ses_fields(fake: FakeSes, **changes: str) -> dict[str, str]:
    fields = {"kind": "ses", "region": "us-east-1", "endpoint": fake.endpoint}
    keys = {"access_key_id": ACCESS_KEY_ID, "secret_access_key": SECRET_ACCESS_KEY}
    return {**fields, **keys, "address": "news@acme.example", **changes}


NO_ENDPOINT = "Only the operator of this installation uses an endpoint. Leave it empty."


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        (
            {"kind": "smtp", "host": "127.0.0.1", "port": "1", "tls": "none"},
            "host",
            (
                "127.0.0.1:1 is on the machine of this installation. Ask its operator to add it to"
                " <code>PRIVATE_HOSTS</code> in <code>postledger.env</code>."
            ),
        ),
        (
            {"kind": "ses", "region": "eu-west-1"},
            "access_key_id",
            (
                "Without a key of its own it would use the credentials of this machine, which"
                " belong to its operator. Enter the access key of an IAM user."
            ),
        ),
        (
            {
                "kind": "ses",
                "region": "eu-west-1",
                "access_key_id": ACCESS_KEY_ID,
                "secret_access_key": SECRET_ACCESS_KEY,
                "endpoint": "http://127.0.0.1:1",
            },
            "endpoint",
            NO_ENDPOINT,
        ),
        (
            {"kind": "sendgrid", "api_key": API_KEY, "endpoint": "http://127.0.0.1:1"},
            "endpoint",
            NO_ENDPOINT,
        ),
    ],
)
@pytest.mark.parametrize("who", ["a developer", "the owner of another workspace"])
def test_only_the_operator_turns_an_account_towards_the_machine(
    who: str,
    fields: dict[str, str],
    field: str,
    words: str,
    alice: Person,
    settings: LazySettings,
) -> None:
    settings.PRIVATE_HOSTS = frozenset()
    if who == "a developer":
        bob = person(Role.DEVELOPER, name="bob")
    else:
        bob = person(workspace="globex", name="bob")

    refused = bob.client.post(
        bob.url("start/provider/"), {**fields, "address": "news@acme.example"}
    )

    assert refused.status_code == 422
    assert mistakes_of(refused) == {field: words}
    assert not ProviderAccount.objects.exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "0x7f000001", "::1", "localhost"])
def test_even_the_operator_enters_this_machine_only_if_a_setting_names_it(
    host: str, alice: Person, settings: LazySettings
) -> None:
    settings.PRIVATE_HOSTS = frozenset({"relay.internal", "127.0.0.1:2526"})
    fields = {"kind": "smtp", "host": host, "port": "2525", "tls": "none"}

    refused = alice.client.post(
        alice.url("start/provider/"), {**fields, "address": "news@acme.example"}
    )

    assert refused.status_code == 422
    server = "[::1]:2525" if host == "::1" else f"{host}:2525"
    assert errors_of(refused)["host"] == (
        f"{server} is on this machine. To let all workspaces use it, write"
        f" <code>PRIVATE_HOSTS=127.0.0.1:2526,relay.internal,{server}</code> into"
        " <code>postledger.env</code> and start <code>postledger up</code> again."
    )
    assert not ProviderAccount.objects.exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_fake_of_the_operator_is_allowed_by_the_setting_that_the_page_names(
    host: str, alice: Person, settings: LazySettings
) -> None:
    settings.PRIVATE_HOSTS = frozenset()
    fields = {"kind": "sendgrid", "api_key": API_KEY, "endpoint": f"http://{host}:1"}
    page, address = alice.url("start/provider/"), {"address": "news@acme.example"}

    refused = alice.client.post(page, {**fields, **address})
    settings.PRIVATE_HOSTS = frozenset({f"{host}:1"})
    asked = alice.client.post(page, {**fields, **address})

    assert f"<code>PRIVATE_HOSTS={host}:1</code>" in errors_of(refused)["endpoint"]
    assert "PRIVATE_HOSTS" not in text_of(asked)


def test_a_private_address_of_the_operator_is_not_connected_to_unless_it_is_named(
    alice: Person, settings: LazySettings
) -> None:
    settings.PRIVATE_HOSTS = frozenset()
    fields = {"kind": "smtp", "host": "10.0.0.7", "port": "1", "tls": "none"}

    refused = alice.client.post(
        alice.url("start/provider/"), {**fields, "address": "news@acme.example"}
    )

    assert errors_of(refused)["host"] == (
        "10.0.0.7:1 is inside your network. To let all workspaces use it, write"
        " <code>PRIVATE_HOSTS=10.0.0.7:1</code> into <code>postledger.env</code> and start"
        " <code>postledger up</code> again."
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "10.0.0.7"])
def test_the_setting_that_a_page_names_has_the_usual_port_and_allows_no_other(
    host: str, settings: LazySettings, alice: Person
) -> None:
    named = f"{host}:587"
    given = {"host": host, "username": "shop", "password": "hunter2"}
    fields = {"kind": "smtp", **given, "tls": "starttls", "address": "news@acme.example"}
    settings.PRIVATE_HOSTS = frozenset()

    refused = alice.client.post(alice.url("start/provider/"), fields)

    assert f"<code>PRIVATE_HOSTS={named}</code>" in errors_of(refused)["host"]
    allowed = operator_settings.screen_settings("smtp", given, is_whole=True, inside_hosts=[named])
    # Whoever changes the encryption later is still led to the port that was allowed.
    assert allowed == {**given, "port": 587}
    for tls in ("none", "implicit"):
        other = {"host": host, "tls": tls}
        assert not is_allowed(other, [named])
    assert not is_allowed({"host": host, "port": 2812}, [named])
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
    bob = person(Role.DEVELOPER, name="bob")

    done = bob.client.post(bob.url("start/provider/"), smtp_fields(smtp))

    assert done.status_code == 302
    assert ProviderAccount.objects.filter(kind="smtp").exists()


def test_a_server_inside_the_network_is_asked_for_its_operator_alone(alice: Person) -> None:
    bob = person(workspace="globex", name="bob")
    fields = {
        "kind": "smtp",
        "host": "10.0.0.7",
        "port": "1",
        "tls": "none",
        "address": "news@globex.example",
    }

    refused = bob.client.post(bob.url("start/provider/"), fields)

    assert errors_of(refused)["host"] == (
        "10.0.0.7:1 is inside the network of this installation. Ask its operator to add it to"
        " <code>PRIVATE_HOSTS</code> in <code>postledger.env</code>."
    )
    assert "all the same" not in text_of(refused)
    assert not ProviderAccount.objects.exists()


def test_ses_is_asked_and_its_keys_are_stored_sealed(alice: Person, ses: FakeSes) -> None:
    done = alice.client.post(alice.url("start/provider/"), ses_fields(ses))

    assert done.status_code == 302
    account = ProviderAccount.objects.get(kind="ses")
    assert SECRET_ACCESS_KEY.encode() not in bytes(account.sealed_settings)


def test_keys_that_ses_refuses_stand_beside_the_secret(alice: Person, ses: FakeSes) -> None:
    answer = alice.client.post(
        alice.url("start/provider/"), ses_fields(ses, secret_access_key="x" * 40)
    )

    elsewhere = alice.client.post(alice.url("start/provider/"), ses_fields(ses, region="nowhere!"))

    assert errors_of(elsewhere)["secret_access_key"] == AGAIN
    assert AGAIN not in text_of(answer)
    assert "SES refuses the keys" in errors_of(answer)["secret_access_key"]
    assert "all the same" not in text_of(answer), "what was entered is wrong"


def test_what_is_to_be_mended_at_ses_can_be_passed_over_on_purpose(
    alice: Person, ses: FakeSes
) -> None:
    fields = ses_fields(ses, address="news@globex.example")

    answer = alice.client.post(alice.url("start/provider/"), fields)
    stored_before = ProviderAccount.objects.exists()
    done = alice.client.post(alice.url("start/provider/"), {**fields, "anyway": "1"})

    assert "has no identity globex.example" in errors_of(answer)["address"]
    assert "Connect it all the same" in text_of(answer)
    assert errors_of(answer)["secret_access_key"].startswith("Enter it again")
    assert not stored_before
    assert done.status_code == 302
    assert ProviderAccount.objects.exists()


def test_sendgrid_is_asked_in_its_region_and_its_key_is_stored_sealed(alice: Person) -> None:
    with serving_in_thread(FakeSendGrid()) as fake:
        fake.service.account.add_identities("acme.example")
        fields = {"kind": "sendgrid", "sendgrid_region": "eu", "endpoint": fake.endpoint}
        page = alice.url("start/provider/")

        nothing = alice.client.post(page, {**fields, "address": "news@acme.example"})
        wrong = {**fields, "address": "news@acme.example", "api_key": "SG.wrong"}
        refused = alice.client.post(page, wrong)
        done = alice.client.post(page, {**wrong, "api_key": API_KEY})

    assert errors_of(nothing) == {"api_key": "Fill this in."}
    assert "SendGrid refuses the API key" in errors_of(refused)["api_key"]
    assert "all the same" not in text_of(refused), "what was entered is wrong"
    assert done.status_code == 302
    account = ProviderAccount.objects.get(kind="sendgrid")
    assert API_KEY.encode() not in bytes(account.sealed_settings)
    assert sealing.unseal_settings(account)["region"] == "eu"


def test_a_sender_that_reaches_people_is_not_redirected(alice: Person, smtp: FakeSmtp) -> None:
    alice.client.post(alice.url("start/provider/"), smtp_fields(smtp))

    again = alice.client.post(alice.url("start/provider/"), smtp_fields(smtp))

    sender = Sender.objects.get()
    link = f'<a href="{alice.url(f"senders/{sender.pk}/")}">change that sender</a>'
    assert link in errors_of(again)["address"]
    assert ProviderAccount.objects.count() == 1


def test_an_archived_sandbox_is_named_with_what_to_do(alice: Person) -> None:
    account_id = provider_accounts.ensure_sandbox(alice.workspace.pk, actor="a")
    provider_accounts.archive_account(alice.workspace.pk, account_id=account_id, actor="a")

    answer = alice.client.post(alice.url("start/provider/"), {"sandbox": "1"}, follow=True)

    assert answer.status_code == 409
    assert "archived" in answer.content.decode()
    assert not Sender.objects.exists()


def test_the_sandbox_for_now_leaves_a_sender_that_a_provider_takes_over_later(
    alice: Person, smtp: FakeSmtp
) -> None:
    url = alice.url("start/provider/")
    assert alice.client.post(url, {"sandbox": "1"}).headers["Location"] == alice.url("start/email/")
    alice.client.post(url, {"sandbox": "1"})
    assert Sender.objects.get().address == "hello@example.com"

    alice.client.post(url, smtp_fields(smtp))

    default = queries.default_sender(alice.workspace.pk)
    assert default
    assert default.address == "news@acme.example"


def test_the_sender_of_the_environment_gets_its_account_by_the_form(
    alice: Person, smtp: FakeSmtp
) -> None:
    sender = cast.sender()

    assert (
        'value="news@acme.example"'
        in alice.client.get(alice.url("start/provider/")).content.decode()
    )
    alice.client.post(alice.url("start/provider/"), smtp_fields(smtp))

    sender.refresh_from_db()
    assert sender.account_id == ProviderAccount.objects.get().pk


def test_the_first_email_goes_to_the_person_who_asks_and_its_state_is_followed(
    alice: Person,
) -> None:
    alice.client.post(alice.url("start/provider/"), {"sandbox": "1"})
    assert alice.user.email in text_of(alice.client.get(alice.url("start/email/")))

    sent = alice.client.post(alice.url("start/email/"), {"to": "mallory@example.com"})

    url = sent.headers["Location"]
    page = alice.client.get(url).content.decode()
    assert 'hx-trigger="every 2s"' in page
    assert "Look again" in page, "without scripts"
    part = alice.client.get(url, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    mail = DeliveryId.parse(url.rstrip("/").rpartition("/")[2])
    assert mail
    cast.book(mail.stream_id, lambda position: entries.accepted(position, message_id="m-1"))
    part = alice.client.get(url, headers={"HX-Request": "true"}).content.decode()
    assert "Accepted" in part
    assert "every 2s" not in part, "nothing moves any more"
    assert "The sandbox took it" in part
    assert alice.user.email in text_of(alice.client.get(url))


def test_a_first_email_that_failed_says_what_the_provider_said(alice: Person) -> None:
    alice.client.post(alice.url("start/provider/"), {"sandbox": "1"})
    url = alice.client.post(alice.url("start/email/")).headers["Location"]
    mail = DeliveryId.parse(url.rstrip("/").rpartition("/")[2])
    assert mail
    refusal = "No <b>such</b> user"
    cast.book(
        mail.stream_id,
        lambda position: entries.refused(position, code="550 5.1.1", detail=refusal),
    )

    page = alice.client.get(url).content.decode()

    assert "550 5.1.1" in page
    assert "No &lt;b&gt;such&lt;/b&gt; user" in page


def test_without_a_sender_the_email_step_leads_to_the_provider(alice: Person) -> None:
    for ask in (alice.client.get, alice.client.post):
        answer = ask(alice.url("start/email/"))
        assert answer.headers["Location"] == alice.url("start/provider/")
