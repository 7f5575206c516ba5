"""The pages of senders: gauges, records in DNS, limits and hours, and the test of feedback."""

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import LazySettings

from postledger.accounts import provider_accounts, queries, sealing, senders
from postledger.accounts.models import AccountQuota, AuditEntry, Sender
from postledger.accounts.people.roles import Role
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import StreamKind
from postledger.feedback import loop_test
from postledger.web.dashboard.senders import gauges
from tests import cast, round_trips
from tests.campaigns import press
from tests.deliveries.models import Stream, StreamPace
from tests.providers import dns_server
from tests.providers.dns_server import DnsServer
from tests.web.callers import Caller
from tests.web.dashboard.visitors import sign_in
from tools.fakes.http.faults import AnswerError, Rule
from tools.fakes.http.server import serving_in_thread
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

pytestmark = pytest.mark.django_db

RELAY = {"host": "smtp.mailgun.org", "password": "hunter2-never-shown", "username": "acme"}


@pytest.fixture
def server(settings: LazySettings) -> Iterator[DnsServer]:
    with dns_server.serving() as running:
        settings.DNS_RESOLVER = f"127.0.0.1:{running.port}"
        yield running


def connect(kind: str = "smtp", options: dict[str, object] | None = None) -> Sender:
    sender = cast.sender()
    account_id = provider_accounts.create_account(
        sender.workspace_id,
        name="relay",
        kind=kind,
        settings=RELAY if options is None else options,
        actor="alice",
    )
    senders.attach_sender(
        sender.workspace_id, sender_id=sender.pk, account_id=account_id, actor="alice"
    )
    return queries.get_limited_sender(sender.workspace_id, sender.pk)


def test_each_limit_has_a_gauge_and_the_mail_of_an_account_is_asked_for_once() -> None:
    sender = connect()
    Sender.objects.update(rate_per_second=5.0, rate_per_hour=100, daily_limit=2000)
    assert sender.account
    AccountQuota.objects.create(
        account=sender.account, remaining=700, size=1000, synced_at=datetime.now(UTC)
    )
    stream_id = cast.stream(mails=3)
    cast.book(stream_id, lambda position: entries.accepted(position, message_id=f"m{position}"))
    person = sign_in(sender.workspace_id)

    page = person.read("senders/")
    with round_trips.counted() as asked_for_one:
        person.read("senders/")
    for number in range(9):
        address, account_id = f"r{number}@acme.example", sender.account.pk
        senders.create_sender(
            sender.workspace_id, address=address, account_id=account_id, actor="alice"
        )
    with round_trips.counted() as asked_for_ten:
        of_ten = person.read("senders/")

    for gauge in ("<b>3</b></a> of 2,000", "<b>3</b></a> of 100", "<b>303</b></a> of 1,000"):
        assert page.count(gauge) == 1, gauge
    assert asked_for_ten() == asked_for_one()
    assert of_ten.count("<b>303</b></a> of 1,000") == 10
    url = f"senders/{sender.pk}/"
    assert "The tightest limit" in person.read(url)
    Sender.objects.update(rate_per_second=None, rate_per_hour=None, daily_limit=None)
    AccountQuota.objects.update(is_limit=False)  # but credits
    page = person.read(url)
    assert "<b>303</b></a> of 1,000" in page
    assert "The tightest limit" not in page


def test_the_gauge_of_a_second_and_its_list_are_of_the_same_minute() -> None:
    sender = connect()
    now = datetime(2026, 11, 18, 12, 5, 42, tzinfo=UTC)
    stream_id = cast.stream(mails=1)
    Stream.objects.filter(pk=stream_id).update(folded_at=now)
    for minute, count in ((3, 12), (4, 18), (5, 24)):
        slot = now.replace(minute=minute, second=0)
        StreamPace.objects.create(stream_id=stream_id, slot=slot, accepted=count)

    usage = gauges.read_usage(sender.workspace_id, zone="UTC", now=now)
    gauge = gauges.build_gauges(
        queries.get_limited_sender(sender.workspace_id, sender.pk), usage, now=now
    )[0]

    assert gauge.used == "0.3", "18 in the last full minute"
    assert "since=2026-11-18T12%3A04" in gauge.url
    assert "until=2026-11-18T12%3A05" in gauge.url


def test_a_list_of_emails_is_narrowed_to_one_sender() -> None:
    sender = connect()
    stream_id = cast.stream(mails=1)
    cast.book(stream_id, lambda position: entries.accepted(position, message_id="m1"))
    other_id = senders.create_sender(
        sender.workspace_id, address="other@acme.example", actor="alice"
    )
    person = sign_in(sender.workspace_id)

    assert "No email matches" in person.read("messages/", sender=str(other_id))
    assert "No email matches" not in person.read("messages/", sender=str(sender.pk))


def test_the_page_of_a_sender_waits_for_no_resolver(settings: LazySettings) -> None:
    """DNS is looked up by another request, after the page is there."""
    sender = connect()
    settings.DNS_RESOLVER = "not an address, so that asking would raise"

    page = sign_in(sender.workspace_id).read(f"senders/{sender.pk}/")

    assert f'hx-get="/w/{sender.workspace_id}/senders/{sender.pk}/dns/"' in page


def test_the_records_to_paste_stand_beside_what_is_wrong_and_what_strangers_wrote_stays_text(
    server: DnsServer,
) -> None:
    sender = connect()
    attack = "<script>alert(1)</script>"
    server.serve(
        {
            "_dmarc.acme.example": ["TXT v=DMARC1; p=none"],
            "acme.example": [f"TXT v=spf1 {attack} -all"],
        }
    )

    page = sign_in(sender.workspace_id).read(f"senders/{sender.pk}/dns/")

    assert "include:mailgun.org" in page
    assert "v=DMARC1; p=quarantine" in page
    assert "hunter2" not in page
    assert attack not in page
    assert html.escape(attack) in page


def test_a_selector_is_saved_and_looked_up_and_a_wrong_one_stays_in_the_field(
    server: DnsServer,
) -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)

    wrong = person.post(f"senders/{sender.pk}/selector/", selector="not a selector")
    right = person.post(f"senders/{sender.pk}/selector/", selector="mg2026")

    assert (wrong.status_code, right.status_code) == (422, 302)
    assert 'value="not a selector"' in wrong.content.decode()
    assert "mg2026._domainkey.acme.example" in person.read(f"senders/{sender.pk}/dns/")
    stored = sealing.unseal_settings(queries.get_account(sender.workspace_id, sender.account_id))  # type: ignore[arg-type]
    assert stored == {**RELAY, "dkim_selector": "mg2026"}


def test_a_sender_shows_no_secret_and_offers_whoever_may_only_look_no_change() -> None:
    sender = connect()
    person = sign_in(sender.workspace_id, Role.VIEWER)

    assert "hunter2" not in person.read("senders/")
    page = person.read(f"senders/{sender.pk}/")
    for offered in ("hunter2", "Edit limits", "selector", f"/senders/{sender.pk}/edit/"):
        assert offered not in page, offered


def test_limits_and_hours_are_changed_and_audited() -> None:
    sender = connect()
    person, url = sign_in(sender.workspace_id), f"senders/{sender.pk}/limits/"
    limits = {"rate_per_second": "1234.5678", "rate_per_hour": "", "daily_limit": "12\u00a0000"}
    spans = "09:00\N{EN DASH}12:00 13:00 \N{EM DASH} 18:00"
    hours = {"spans": spans, "days": ["mon", "tue"], "zone": "Europe/Lisbon"}

    answer = person.client.post(person.url(url), {**limits, **hours})

    assert answer.status_code == 302
    sender.refresh_from_db()
    changed = (sender.rate_per_second, sender.rate_per_hour, sender.daily_limit)
    assert changed == (1234.5678, None, 12_000)
    assert sender.working_hours == {
        "weekdays": [0, 1],
        "spans": [["09:00", "12:00"], ["13:00", "18:00"]],
        "zone": "Europe/Lisbon",
    }
    assert AuditEntry.objects.filter(action="sender.limits_changed", actor=person.actor).exists()
    form = person.read(url)
    assert 'value="09:00-12:00 13:00-18:00"' in form
    assert 'value="1234.5678"' in form
    assert '<option value="Europe/Lisbon" selected>' in form
    assert person.post(url, spans="", days="mon", zone="Europe/Lisbon").status_code == 302
    sender.refresh_from_db()
    assert sender.working_hours is None, "whoever takes the hours away need not touch their zone"


def test_a_wrong_limit_is_refused_and_stays_as_it_was_typed() -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)
    right = {"spans": "09:00-18:00", "days": "mon"}

    for changes in (
        {"spans": "9 to 5"},
        {"daily_limit": "0"},
        {"rate_per_second": "0"},
        {"rate_per_second": "10001"},
        {"rate_per_hour": "1,5"},
        {"rate_per_second": "1.000"},
        {"days": ""},
        {"zone": "Berlin"},
        {"spans": "", "zone": "Europe/Berlin"},
    ):
        answer = person.post(f"senders/{sender.pk}/limits/", **{**right, **changes})

        assert answer.status_code == 422, changes
        if typed := changes.get("spans"):
            assert f'value="{typed}"' in answer.content.decode()
    sender.refresh_from_db()
    assert (sender.working_hours, sender.daily_limit) == (None, None)


def test_the_feedback_test_mails_the_simulator_and_shows_what_came_back() -> None:
    sender = connect("sandbox", {})
    person = sign_in(sender.workspace_id)
    url = f"senders/{sender.pk}/test/"

    answer = person.post(url)

    assert answer.status_code == 302
    stream_id = int(answer.url.rstrip("/").rpartition("/")[2])
    assert len(loop_test.find_probes(sender.workspace_id, stream_id)) == 4
    page = person.client.get(answer.url).content.decode()
    assert page.count("not yet") == 4
    assert 'hx-trigger="every 2s"' in page
    trial = ledger.open_stream(
        sender.workspace_id,
        sender_id=sender.pk,
        kind=StreamKind.CAMPAIGN,
        title="Test of a campaign",
        is_trial=True,
    )
    cast.enqueue(trial, [0, 1])
    for other in (cast.stream(mails=1), trial):
        assert person.get(f"{url}{other}/").status_code == 404, "it is no test of feedback"


def test_who_tests_too_often_is_told_to_wait_for_one_minute(settings: LazySettings) -> None:
    settings.PROVIDER_CHECKS_OF_ONE = "1/minute"
    sender = connect("sandbox", {})
    person = sign_in(sender.workspace_id)

    for _time in range(2):
        person.post(f"senders/{sender.pk}/test/")

    page = person.read(f"senders/{sender.pk}/")
    assert "Too many tests. Try again in 1 minute." in page


def test_preflight_has_the_lines_of_dns_once_they_were_looked_up(
    server: DnsServer, settings: LazySettings
) -> None:
    settings.UNSUBSCRIBE_SECRET = "a secret of the tests, long enough"
    sender = connect()
    campaign_id = press.campaign(sender.workspace_id)
    person = sign_in(sender.workspace_id)
    checks = f"campaigns/{campaign_id}/edit/checks/"

    before = person.read(checks)
    asked_before = list(server.asked)
    answer = person.client.get(
        person.url(f"senders/{sender.pk}/dns/?lines=1"), headers={"HX-Request": "true"}
    )
    after = person.read(checks)

    assert f"/senders/{sender.pk}/dns/?lines=1" in before
    assert asked_before == []
    assert answer.headers["HX-Trigger"] == "looked-up"
    assert "looked-up from:body" in person.read(f"campaigns/{campaign_id}/edit/")
    for lines in (answer.content.decode(), after):
        assert "There is no DMARC record" in lines
    assert "?lines=1" not in after
    assert after.count('data-level="warning"') == int(re.findall(r"warnings: (\d+)", after)[0])


def test_a_sender_is_connected_step_by_step(server: DnsServer, settings: LazySettings) -> None:
    person = sign_in(cast.sender().workspace_id)
    with serving_in_thread(FakeSes()) as ses:
        settings.PRIVATE_HOSTS = frozenset({"127.0.0.1"})
        ses.service.account.add_identities("shop.example")
        fields = {
            "kind": "ses",
            "region": "us-east-1",
            "access_key_id": ACCESS_KEY_ID,
            "secret_access_key": SECRET_ACCESS_KEY,
            "endpoint": ses.endpoint,
            "address": "shop@shop.example",
        }
        wrong = person.post("senders/connect/", **{**fields, "secret_access_key": "wrong"})
        done = person.post("senders/connect/", **fields)
        page = person.client.get(done.url).content.decode()
        dns = person.client.get(f"{done.url}dns/").content.decode()

    assert (wrong.status_code, done.status_code) == (422, 302)
    assert 'value="us-east-1"' in wrong.content.decode()
    assert SECRET_ACCESS_KEY not in wrong.content.decode() + page + dns
    assert page.count('class="done"') == 1
    assert f'href="{done.url}reports/"' in page
    assert "A DKIM record is missing, 0 of 3 are right" in dns


def test_a_sender_connected_without_its_check_takes_no_place_and_ticks_nothing(
    settings: LazySettings,
) -> None:
    settings.PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    first = connect("sandbox", {})
    person = sign_in(first.workspace_id)
    with serving_in_thread(FakeSendGrid()) as sendgrid:
        fields = {"kind": "sendgrid", "api_key": API_KEY, "address": "shop@shop.example"}
        fields["endpoint"] = sendgrid.endpoint
        done = person.post("senders/connect/", **fields, anyway="1")
        page = person.client.get(done.url).content.decode()
        sender = Sender.objects.get(address="shop@shop.example")
        sendgrid.service.account.add_identities("shop.example")
        person.post(f"attention/senders/{sender.pk}/test/", back="sender")

    assert "without being checked" in page
    assert Sender.objects.get(is_default=True).pk == first.pk
    assert 'class="done"' not in page
    tested = person.read(f"senders/{sender.pk}/")
    assert "without being checked" not in tested
    assert 'class="done"' in tested


def read_steps(answer: Any) -> list[str]:
    """The words beside each step, in their order."""
    return re.findall(r'<span class="badge" data-state="\w+">([^<]+)<', answer.content.decode())


def test_ses_reports_to_this_installation_after_a_click(settings: LazySettings) -> None:
    settings.PUBLIC_URL = "http://127.0.0.1:9"  # where nobody answers
    with serving_in_thread(FakeSes()) as ses:
        keys = {"access_key_id": ACCESS_KEY_ID, "secret_access_key": SECRET_ACCESS_KEY}
        options: dict[str, object] = {"region": "us-east-1", "endpoint": ses.endpoint, **keys}
        sender = connect("ses", options)
        person = sign_in(sender.workspace_id)
        url = f"senders/{sender.pk}/reports/"

        planned = person.get(url)
        denied = AnswerError("AccessDeniedException")
        ses.set_faults(Rule(denied, operation="SetTopicAttributes"))
        failed = person.post(url, way="url")
        ses.set_faults()
        made = person.post(url, way="url")
        again = person.post(url, way="url")
        queue = person.post(url, way="queue")

    assert read_steps(planned) == ["To do"] * 6
    assert failed.status_code == 422
    assert read_steps(failed) == ["Done", "Failed", "To do", "To do", "To do"]
    assert read_steps(made) == ["Already there", "Done", "Waiting", "Done", "Done"]
    command = "postledger ses connect acme relay --create --url http://127.0.0.1:9/ses-events"
    assert command in made.content.decode()
    assert read_steps(again) == ["Already there", "Already there", "Waiting", "Already there"]
    [topic] = ses.service.account.topics.by_arn.values()
    posted_to = {item.endpoint for item in topic.subscriptions.values()}
    assert posted_to == {"http://127.0.0.1:9/ses-events"}
    assert "no stand-in for SQS" in queue.content.decode()
    assert AuditEntry.objects.filter(action="topic.registered", actor=person.actor).exists()
    assert SECRET_ACCESS_KEY not in failed.content.decode() + made.content.decode()


def test_sendgrid_reports_to_this_installation_after_a_click(settings: LazySettings) -> None:
    settings.PUBLIC_URL = ""
    with serving_in_thread(FakeSendGrid()) as sendgrid:
        sender = connect("sendgrid", {"api_key": API_KEY, "endpoint": sendgrid.endpoint})
        person = sign_in(sender.workspace_id)
        url = f"senders/{sender.pk}/reports/"

        nowhere = person.post(url)
        settings.PUBLIC_URL = "http://127.0.0.1:9"
        made = person.post(url)
        again = person.post(url)

    assert nowhere.status_code == 422
    assert read_steps(made) == ["Done"] * 4
    assert read_steps(again) == ["Already there"] * 4
    [webhook] = sendgrid.service.account.webhooks.values()
    assert webhook.url == f"http://127.0.0.1:9/sendgrid-events/{sender.account_id}"


def test_credentials_of_the_machine_set_up_nothing_for_a_tenant() -> None:
    cast.sender("first")
    sender = connect("ses", {"region": "us-east-1"})
    person = sign_in(sender.workspace_id)

    answer = person.post(f"senders/{sender.pk}/reports/", way="queue")

    assert answer.status_code == 422
    assert "the credentials of the server" in answer.content.decode()
    assert person.get(f"senders/{sender.pk}/reports/").status_code == 200
    smtp = senders.create_sender(sender.workspace_id, address="x@acme.example", actor="alice")
    assert person.get(f"senders/{smtp}/reports/").status_code == 404


def test_a_person_holds_a_sender_and_everybody_reads_who_and_why(alice: Caller) -> None:
    sender = cast.sender()
    cast.stream(mails=2)
    person = sign_in(sender.workspace_id, Role.MANAGER, name="Mia")
    url = f"senders/{sender.pk}/"

    unreasoned = person.post(f"{url}hold/", reason=" ")
    person.post(f"{url}hold/", reason="the domain moves")
    twice = person.post(f"{url}hold/", reason="again")
    [cause] = alice.get(f"/v1/why/{sender.address}").body["causes"]

    assert (unreasoned.status_code, twice.status_code) == (422, 302)
    assert cause["code"] == "paused"
    page = person.read(url)
    assert f"{sender.address}: {cause['sentence']}" in page
    assert "(Mia: the domain moves)" in page
    assert f"{url}hold/" not in page
    [entry] = AuditEntry.objects.filter(action="sender.held")
    assert (entry.actor, entry.data) == (person.actor, {"reason": "the domain moves"})

    released = person.post(f"attention/senders/{sender.pk}/release/", back="sender")

    assert released.url == person.url(url)
    assert alice.get(f"/v1/why/{sender.address}").body["causes"] == []


def test_a_developer_changes_the_name_and_the_account_of_a_sender() -> None:
    sender = connect()
    other_id = provider_accounts.create_account(
        sender.workspace_id, name="other", kind="sandbox", settings={}, actor="alice"
    )
    person = sign_in(sender.workspace_id, Role.DEVELOPER)
    url = f"senders/{sender.pk}/edit/"

    answered = person.post(url, name="Acme garden", account=str(other_id))

    sender.refresh_from_db()
    assert answered.status_code == 302
    assert (sender.name, sender.account_id) == ("Acme garden", other_id)
    assert "<dd>Acme garden</dd>" in person.read(f"senders/{sender.pk}/")
    noted = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(noted)[-2:] == ["sender.renamed", "sender.attached"]


def test_the_default_sender_is_archived_only_with_its_successor_and_with_waiting_mail_only_so() -> (
    None
):
    sender = connect()
    person = sign_in(sender.workspace_id)
    url = f"senders/{sender.pk}/archive/"
    only = person.post(url)
    other_id = senders.create_sender(
        sender.workspace_id, address="other@acme.example", actor="alice"
    )
    cast.stream(mails=2)

    alone = person.post(url)
    waiting = person.post(url, default=str(other_id))
    still = Sender.objects.get(is_default=True).pk
    archived = person.post(url, default=str(other_id), anyway="on")

    answers = [answer.status_code for answer in (only, alone, waiting, archived)]
    assert answers == [302, 422, 422, 302]
    assert "2 emails still wait for it." in waiting.content.decode()
    sender.refresh_from_db()
    assert (still, sender.archived_at is not None) == (sender.pk, True)
    assert Sender.objects.get(is_default=True).pk == other_id
    person.post(f"senders/{sender.pk}/restore/")
    person.post(f"senders/{sender.pk}/default/")
    assert Sender.objects.get(is_default=True).pk == sender.pk
