"""A report on a sender's records asks its provider, then a resolver, and is remembered."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.conf import LazySettings

from postledger.accounts import provider_accounts, queries, sender_dns, senders
from postledger.accounts.models import Sender, Workspace
from postledger.accounts.sender_dns import DnsReport
from postledger.providers.dns.records import DnsRecord, RecordType
from postledger.providers.dns.verdicts import Code
from tests.providers import dns_server
from tests.providers.dns_server import DnsServer
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY
from tools.fakes.ses.account import Identity
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
OFTEN = sender_dns.REMEMBERED_FOR / 2

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(settings: LazySettings) -> Iterator[DnsServer]:
    with dns_server.serving() as running:
        settings.DNS_RESOLVER = f"127.0.0.1:{running.port}"
        running.serve({"amazonses.com": ["TXT v=spf1 ip4:199.255.192.0/22 -all"]})
        yield running


def connect(kind: str, options: dict[str, object], address: str = "news@acme.example") -> Sender:
    acme = Workspace.objects.create(name="acme")
    account_id = provider_accounts.create_account(
        acme.pk, name=kind, kind=kind, settings=options, actor="alice"
    )
    sender_id = senders.create_sender(
        acme.pk, address=address, account_id=account_id, actor="alice"
    )
    return queries.get_sender(acme.pk, sender_id)


def look_up(sender: Sender, *, now: datetime = NOW, is_anew: bool = False) -> DnsReport:
    report = sender_dns.read_report(sender, now=now, is_anew=is_anew)
    assert report is not None
    return report


def list_codes(report: DnsReport) -> list[Code]:
    return [verdict.code for verdict in report.verdicts]


def publish(server: DnsServer, report: DnsReport) -> None:
    """Does what the remedies say."""
    for verdict in report.verdicts:
        server.serve({record.name: [] for record in verdict.remedy})
    for record in (record for verdict in report.verdicts for record in verdict.remedy):
        there = server.zones[record.name]
        server.serve({record.name: [*there, f"{record.type} {record.value}"]})


def test_what_ses_asks_for_is_right_once_it_is_pasted(server: DnsServer) -> None:
    with serving_in_thread(FakeSes()) as ses:
        ses.service.account.identities["acme.example"] = Identity(
            "acme.example", mail_from_domain="bounce.acme.example"
        )
        sender = connect(
            "ses",
            {
                "region": "us-east-1",
                "access_key_id": ACCESS_KEY_ID,
                "secret_access_key": SECRET_ACCESS_KEY,
                "endpoint": ses.endpoint,
            },
        )
        before = look_up(sender)
        publish(server, before)
        after = look_up(sender, is_anew=True)

    assert list_codes(before) == [
        Code.SPF_MISSING,
        Code.DKIM_MISSING,
        Code.DMARC_MISSING,
        Code.MAIL_FROM_MISSING,
    ]
    assert len(before.verdicts[1].remedy) == 3
    assert before.verdicts[0].remedy == (
        DnsRecord("bounce.acme.example", RecordType.TXT, "v=spf1 include:amazonses.com ~all"),
    )
    assert list_codes(after) == [
        Code.SPF_RIGHT,
        Code.DKIM_RIGHT,
        Code.DMARC_WATCHES,  # a careful beginning
        Code.MAIL_FROM_RIGHT,
    ]


def test_what_sendgrid_asks_for_is_right_once_it_is_pasted(server: DnsServer) -> None:
    with serving_in_thread(FakeSendGrid()) as sendgrid:
        sendgrid.service.account.domains["acme.example"] = False
        sender = connect("sendgrid", {"api_key": API_KEY, "endpoint": sendgrid.endpoint})
        before = look_up(sender)
        publish(server, before)
        after = look_up(sender, is_anew=True)

    assert list_codes(before) == [
        Code.SPF_OF_PROVIDER,
        Code.DKIM_MISSING,
        Code.DMARC_MISSING,
        Code.MAIL_FROM_MISSING,
    ]
    assert [record.name for record in before.verdicts[1].remedy] == [
        "s1._domainkey.acme.example",
        "s2._domainkey.acme.example",
    ]
    assert list_codes(after)[1] is Code.DKIM_RIGHT
    assert list_codes(after)[3] is Code.MAIL_FROM_RIGHT


def test_a_relay_is_judged_by_its_name_and_its_selector(server: DnsServer) -> None:
    report = look_up(connect("smtp", {"host": "smtp.mailgun.org", "dkim_selector": "mg"}))

    assert list_codes(report) == [Code.SPF_MISSING, Code.DKIM_MISSING, Code.DMARC_MISSING]
    assert report.verdicts[0].remedy[0].value == "v=spf1 include:mailgun.org ~all"
    assert report.verdicts[1].name == "mg._domainkey.acme.example"


def test_without_a_selector_nobody_knows_where_the_key_of_a_relay_is(server: DnsServer) -> None:
    report = look_up(connect("smtp", {"host": "smtp.acme.example"}))

    assert report.verdicts[1].code is Code.DKIM_UNKNOWN


def test_a_provider_that_does_not_answer_leaves_the_keys_unknown(server: DnsServer) -> None:
    sender = connect("sendgrid", {"api_key": API_KEY, "endpoint": "http://127.0.0.1:9"})

    assert list_codes(look_up(sender)) == [
        Code.SPF_OF_PROVIDER,
        Code.DKIM_UNKNOWN,
        Code.DMARC_MISSING,
    ]


def test_an_answer_is_remembered_until_somebody_asks_anew(server: DnsServer) -> None:
    sender = connect("smtp", {"host": "smtp.acme.example"})
    first = look_up(sender)
    server.asked.clear()

    assert look_up(sender, now=NOW + OFTEN) is first
    assert sender_dns.recall_report(sender, now=NOW + OFTEN) is first
    assert server.asked == []

    look_up(sender, now=NOW + OFTEN, is_anew=True)
    assert server.asked
    server.asked.clear()

    look_up(sender, now=NOW + OFTEN + sender_dns.REMEMBERED_FOR)
    assert server.asked


def test_nobody_looks_up_records_for_the_sandbox(server: DnsServer) -> None:
    sender = connect("sandbox", {})

    assert sender_dns.read_report(sender, now=NOW) is None
    assert server.asked == []


@pytest.mark.slow
def test_a_resolver_that_is_down_is_said_and_nothing_is_blamed(
    settings: LazySettings,
) -> None:
    settings.DNS_RESOLVER = "127.0.0.1:1"

    report = look_up(connect("smtp", {"host": "smtp.acme.example", "dkim_selector": "s1"}))

    assert all(verdict.code.is_unanswered for verdict in report.verdicts)
