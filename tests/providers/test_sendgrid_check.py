"""The check of an account at a fake SendGrid: each thing that can be wrong, and its remedy."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from pydantic import ValidationError

from postledger.lib.check_results import Level
from postledger.providers.base import Finding
from postledger.providers.sendgrid import event_findings, provider
from postledger.providers.sendgrid.documents import EVENT_TYPES, DnsRecord, WebhooksState
from tools.fakes.http.faults import AnswerError, AnswerGateway, Rule
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.account import ApiKey
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY, SENDING_KEY, Service

FROM = "news@acme.example"
OK, WARNING, PROBLEM = Level.OK, Level.WARNING, Level.PROBLEM


@pytest.fixture(scope="module")
def server() -> Iterator[FakeSendGrid]:
    with serving_in_thread(FakeSendGrid()) as fake:
        yield fake


@pytest.fixture
def fake(server: FakeSendGrid) -> FakeSendGrid:
    """An account that is ready."""
    server.service.account = Service().account
    server.service.account.add_identities("acme.example")
    server.set_faults()
    return server


def check(fake: FakeSendGrid, *senders: str, **settings: object) -> dict[str, Finding]:
    """The findings about SendGrid by their subjects; that it is a fake is no such finding."""
    given = {"api_key": API_KEY, "endpoint": fake.endpoint, **settings}
    found = asyncio.run(provider.check(given, senders or [FROM]))
    assert found[0].subject == "endpoint"
    by_subject = {finding.subject: finding for finding in found[1:]}
    assert len(by_subject) == len(found) - 1
    assert all(finding.remedy for finding in found if finding.level is not OK)
    assert not any("@" in finding.remedy for finding in found)
    return by_subject


def levels(found: Mapping[str, Finding]) -> dict[str, Level]:
    return {subject: finding.level for subject, finding in found.items()}


def test_an_account_that_is_ready_has_nothing_to_mend(fake: FakeSendGrid) -> None:
    found = check(fake)

    assert [finding.message for finding in found.values()] == [
        "SendGrid accepts the API key.",
        "The account has no limit of its own.",
        "acme.example is authenticated.",
    ]
    assert set(levels(found).values()) == {OK}


def test_a_key_that_sendgrid_does_not_know_or_that_may_not_send_is_a_problem(
    fake: FakeSendGrid,
) -> None:
    [finding] = check(fake, api_key="SG.wrong").values()
    assert (finding.level, finding.secrets) == (PROBLEM, ("api_key",))
    assert "authorization grant is invalid" in finding.message

    fake.service.account.keys["SG.reads"] = ApiKey(frozenset({"user.credits.read"}))
    found = check(fake, api_key="SG.reads")
    assert found["access"].level is PROBLEM
    assert "mail.send" in found["access"].remedy


def test_what_a_key_may_not_ask_and_what_sendgrid_leaves_open_is_a_warning(
    fake: FakeSendGrid,
) -> None:
    warned = {"access": OK, "quota": WARNING, "identity": WARNING}
    found = check(fake, api_key=SENDING_KEY)
    assert levels(found) == warned
    assert "user.credits.read" in found["quota"].remedy
    assert "whitelabel.read" in found["identity"].remedy

    operations = ("ListCredit", "ListAuthenticatedDomain")
    fault = AnswerError("internal_error")
    fake.set_faults(*(Rule(fault, operation=operation) for operation in operations))
    assert levels(check(fake)) == warned


def test_a_server_that_is_not_sendgrid_or_does_not_answer_is_a_problem(fake: FakeSendGrid) -> None:
    fake.set_faults(Rule(AnswerGateway(), operation="ListScope"))
    [finding] = check(fake).values()
    assert (finding.subject, finding.level) == ("access", PROBLEM)

    given = {"api_key": API_KEY, "endpoint": "http://127.0.0.1:1"}
    [_, finding] = asyncio.run(provider.check(given, [FROM]))
    assert (finding.level, finding.settings) == (PROBLEM, ("endpoint",))


def test_mails_that_are_nearly_used_up_are_a_warning(fake: FakeSendGrid) -> None:
    for used, level, words in [
        (50, OK, "50 of 100"),
        (90, WARNING, "10 of 100"),
        (100, WARNING, "0 of 100"),
    ]:
        fake.service.account.credits.total, fake.service.account.credits.used = 100, used

        finding = check(fake)["quota"]

        assert finding.level is level, used
        assert f"{words} credits of the plan are left." in finding.message


@dataclass(frozen=True)
class Case:
    """A sender, what SendGrid knows of it, and what is to be said."""

    domains: dict[str, bool]
    senders: dict[str, bool]
    level: Level
    words: str
    region: str = "global"
    is_exempt: bool = False


CASES = {
    "nothing": Case({}, {}, PROBLEM, "so it sends nothing from there"),
    "another domain": Case({"globex.example": True}, {}, PROBLEM, "neither acme.example"),
    "a parent may lend it": Case({}, {}, WARNING, "may refuse", region="eu"),
    "exempt": Case({}, {}, WARNING, "may refuse", is_exempt=True),
    "pending domain": Case({"acme.example": False}, {}, PROBLEM, "not authenticated yet"),
    "single": Case({}, {FROM: True}, WARNING, "not signed for acme.example"),
    "single in capitals": Case({}, {FROM.upper(): True}, WARNING, "is a verified sender"),
    "pending single": Case({}, {FROM: False}, PROBLEM, "is not verified"),
    "pending domain, single": Case({"acme.example": False}, {FROM: True}, WARNING, "verified"),
    "another address": Case({}, {"x@acme.example": True}, PROBLEM, "nor news@acme.example"),
}


def test_what_sendgrid_knows_of_a_sender_decides(fake: FakeSendGrid) -> None:
    account = fake.service.account
    scopes = account.keys[API_KEY].scopes
    for name, case in CASES.items():
        account.domains, account.senders = case.domains, case.senders
        exempt = {"sender_verification_exempt"} if case.is_exempt else set()
        account.keys[API_KEY] = ApiKey(scopes | exempt)

        finding = check(fake, region=case.region)["identity"]

        assert finding.level is case.level, name
        assert case.words in finding.message, name

    others = {f"n{number}@acme.example": True for number in range(60)}  # a page of senders
    account.domains, account.senders = {}, {**others, FROM: True}
    assert "is a verified sender" in check(fake)["identity"].message


PATH = "/sendgrid-events/7"
ALL = dict.fromkeys(EVENT_TYPES, True)
WEBHOOK = {"id": "w", "url": f"https://x{PATH}", "enabled": True, "public_key": "k", **ALL}


def test_a_webhook_of_no_use_says_why() -> None:
    cases: list[tuple[list[object], Level, str]] = [
        ([WEBHOOK], OK, "SendGrid reports Processed, Delivered,"),
        ([{**WEBHOOK, "enabled": False}, WEBHOOK], OK, "SendGrid reports"),
        ([], WARNING, "reports nothing"),
        ([{}], WARNING, "reports nothing"),
        ([{**WEBHOOK, "url": f"https://x{PATH}7"}], WARNING, "reports nothing"),
        ([{**WEBHOOK, "enabled": False}], WARNING, "switched off"),
        ([{**WEBHOOK, "public_key": None}], WARNING, "does not sign"),
        ([{**WEBHOOK, "public_key": "other"}], WARNING, "a key that the account does not have"),
        ([{**WEBHOOK, "bounce": False, "dropped": False}], WARNING, "not report Bounce, Dropped."),
    ]
    for webhooks, level, words in cases:
        state = WebhooksState.model_validate({"webhooks": webhooks})

        finding = event_findings.judge_webhooks(state, PATH, {"k"})

        assert finding.level is level, webhooks
        assert words in finding.message, webhooks
        assert (level is OK) or "--create --url URL" in finding.remedy, webhooks


def test_an_id_that_would_change_the_path_is_none_of_sendgrids() -> None:
    for id_ in ["../../mail/send", "a b", "a\r\nHost: x", "é", "x" * 101, "a\n"]:
        with pytest.raises(ValidationError, match="id"):
            WebhooksState.model_validate({"webhooks": [{**WEBHOOK, "id": id_}]})


def test_no_text_of_sendgrid_steers_a_terminal() -> None:
    [webhook] = WebhooksState.model_validate({"webhooks": [{**WEBHOOK, "url": "a\x1b[2J"}]}).actual
    record = DnsRecord.model_validate({"host": "a\x1b]0;b\a", "data": "c\rd"})

    assert (webhook.url, record.host, record.data) == ("a?[2J", "a?]0;b?", "c d")
