"""The pages of senders: gauges, records in DNS, limits and hours, and the test of feedback."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import LazySettings

from postledger.accounts import provider_accounts, queries, sealing, senders
from postledger.accounts.models import AccountQuota, AuditEntry, Sender
from postledger.accounts.people.roles import Role
from postledger.campaigns.models import Campaign
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


def test_each_limit_has_a_gauge_with_what_is_used_of_it() -> None:
    sender = connect()
    senders.set_limits(
        sender.workspace_id,
        sender_id=sender.pk,
        actor="alice",
        rate_per_second=5.0,
        rate_per_hour=100,
        daily_limit=2000,
    )
    assert sender.account
    AccountQuota.objects.create(
        account=sender.account, remaining=700, size=1000, synced_at=datetime.now(UTC)
    )
    stream_id = cast.stream(mails=3)
    cast.book(stream_id, lambda position: entries.accepted(position, message_id=f"m{position}"))

    page = sign_in(sender.workspace_id).read("senders/")

    assert "<b>3</b></a> of 2,000" in page
    assert "<b>3</b></a> of 100" in page
    assert "of 5<" in page
    assert "<b>303</b></a> of 1,000" in page
    assert f"sender={sender.pk}" in page


def test_the_list_asks_for_the_mail_of_an_account_once_however_many_senders_it_has() -> None:
    sender = connect()
    assert sender.account
    AccountQuota.objects.create(
        account=sender.account, remaining=700, size=1000, synced_at=datetime.now(UTC)
    )
    stream_id = cast.stream(mails=3)
    cast.book(stream_id, lambda position: entries.accepted(position, message_id=f"m{position}"))
    person = sign_in(sender.workspace_id)
    person.read("senders/")

    with round_trips.counted() as asked_for_one:
        person.read("senders/")
    for number in range(9):
        address, account_id = f"r{number}@acme.example", sender.account.pk
        senders.create_sender(
            sender.workspace_id, address=address, account_id=account_id, actor="alice"
        )
    with round_trips.counted() as asked_for_ten:
        page = person.read("senders/")

    assert asked_for_ten() == asked_for_one()
    assert page.count("<b>303</b></a> of 1,000") == 10


def test_credits_have_a_gauge_that_promises_to_hold_no_mail() -> None:
    sender = connect("sendgrid", {"api_key": API_KEY})
    assert sender.account
    reading = {"remaining": 99, "size": 100, "synced_at": datetime.now(UTC), "is_limit": False}
    AccountQuota.objects.create(account=sender.account, **reading)

    page = sign_in(sender.workspace_id).read(f"senders/{sender.pk}/")

    assert "Credits of SendGrid" in page
    assert "<b>1</b></a> of 100" in page
    assert "99 left; asked at" in page
    assert "Emails do not wait for more" in page
    assert "The tightest limit" not in page, "no limit is one"


def test_a_limit_sets_the_pace_only_where_there_is_one() -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)

    without = person.read(f"senders/{sender.pk}/")
    Sender.objects.update(daily_limit=5)

    assert "The tightest limit" not in without
    assert "The tightest limit" in person.read(f"senders/{sender.pk}/")
    assert "Through the account “relay” (SMTP)" in without


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


def test_the_records_to_paste_stand_beside_what_is_wrong(server: DnsServer) -> None:
    sender = connect()
    server.serve({"_dmarc.acme.example": ["TXT v=DMARC1; p=none"]})

    page = sign_in(sender.workspace_id).read(f"senders/{sender.pk}/dns/")

    assert "There is no SPF record at acme.example" in page
    assert "v=spf1 include:mailgun.org ~all" in page
    assert "DMARC only watches" in page
    assert "v=DMARC1; p=quarantine" in page
    assert ">_dmarc.acme.example</dd>" in page


def test_for_a_relay_that_nobody_knows_the_page_asks_to_fill_in_a_gap(server: DnsServer) -> None:
    sender = connect("smtp", {"host": "smtp.acme.example"})

    page = sign_in(sender.workspace_id).read(f"senders/{sender.pk}/dns/")

    assert "v=spf1 include:SPF-OF-YOUR-RELAY ~all" in page
    assert "In place of SPF-OF-YOUR-RELAY write the name that the company" in page
    assert "Where to paste: sign in at the company where acme.example is registered" in page
    assert "v=spf1 ~all" not in page


def test_a_domain_of_bounces_that_is_missing_replaces_nothing(server: DnsServer) -> None:
    with serving_in_thread(FakeSendGrid()) as sendgrid:
        sendgrid.service.account.domains["acme.example"] = False
        sender = connect("sendgrid", {"api_key": API_KEY, "endpoint": sendgrid.endpoint})
        page = sign_in(sender.workspace_id).read(f"senders/{sender.pk}/dns/")

    assert "Bounces have nowhere to return" in page
    assert "in place of what is there" not in page


def test_a_resolver_that_is_down_is_told_and_blames_nobody(settings: LazySettings) -> None:
    sender = connect()
    settings.DNS_RESOLVER = "127.0.0.1:1"

    page = sign_in(sender.workspace_id).read(f"senders/{sender.pk}/dns/")

    assert "SPF could not be checked" in page
    assert "no SPF record" not in page


def test_what_strangers_write_into_dns_stays_text(server: DnsServer) -> None:
    sender = connect()
    server.serve({"acme.example": ["TXT v=spf1 <script>alert(1)</script> -all"]})

    page = sign_in(sender.workspace_id).read(f"senders/{sender.pk}/dns/")

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_looking_up_again_asks_the_resolver_again(server: DnsServer) -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)
    person.read(f"senders/{sender.pk}/dns/")
    server.asked.clear()

    person.read(f"senders/{sender.pk}/dns/")
    assert server.asked == []
    person.read(f"senders/{sender.pk}/dns/", again="1")
    assert server.asked


def test_a_selector_is_saved_and_looked_up(server: DnsServer) -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)

    assert person.post(f"senders/{sender.pk}/selector/", selector="mg2026").status_code == 302

    assert "mg2026._domainkey.acme.example" in person.read(f"senders/{sender.pk}/dns/")
    stored = sealing.unseal_settings(queries.get_account(sender.workspace_id, sender.account_id))  # type: ignore[arg-type]
    assert stored == {**RELAY, "dkim_selector": "mg2026"}


def test_a_wrong_selector_stays_in_the_field_with_what_to_do() -> None:
    sender = connect()

    answer = sign_in(sender.workspace_id).post(
        f"senders/{sender.pk}/selector/", selector="not a selector"
    )

    assert answer.status_code == 422
    assert "Use letters, digits, hyphens and dots" in answer.content.decode()
    assert 'value="not a selector"' in answer.content.decode()


def test_no_secret_of_an_account_is_on_a_page(server: DnsServer) -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)

    for path in ("senders/", f"senders/{sender.pk}/", f"senders/{sender.pk}/dns/"):
        assert "hunter2" not in person.read(path)


def test_limits_and_hours_are_changed_and_audited() -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)

    answer = person.client.post(
        person.url(f"senders/{sender.pk}/limits/"),
        {"rate_per_second": "2.5", "rate_per_hour": "", "daily_limit": "500",
         "spans": "09:00-12:00 13:00-18:00", "days": ["mon", "tue"], "zone": "Europe/Lisbon"},
    )  # fmt: skip

    assert answer.status_code == 302
    sender.refresh_from_db()
    assert (sender.rate_per_second, sender.rate_per_hour, sender.daily_limit) == (2.5, None, 500)
    assert sender.working_hours == {
        "weekdays": [0, 1],
        "spans": [["09:00", "12:00"], ["13:00", "18:00"]],
        "zone": "Europe/Lisbon",
    }
    assert AuditEntry.objects.filter(action="sender.limits_changed", actor=person.actor).exists()
    assert "Mon, Tue 09:00-12:00, 13:00-18:00 Europe/Lisbon" in person.read(f"senders/{sender.pk}/")
    form = person.read(f"senders/{sender.pk}/limits/")
    assert 'value="09:00-12:00 13:00-18:00"' in form


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("spans", "9 to 5", "Write times as 09:00-18:00"),
        ("daily_limit", "0", "At least 1."),
        ("rate_per_hour", "-5", "At least 1."),
        ("rate_per_second", "0", "At least 0.00001."),
        ("rate_per_second", "10001", "At most 10000."),
        ("daily_limit", "1.00", "Write a whole number"),
        ("rate_per_hour", "1,5", "Write a whole number"),
        ("rate_per_second", "1.000", "may mean 1000 or 1. Write it as one of these."),
    ],
)
def test_a_wrong_limit_stays_with_what_to_do(field: str, value: str, sentence: str) -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)
    fields = {"spans": "09:00-18:00", "days": "mon", field: value}

    answer = person.post(f"senders/{sender.pk}/limits/", **fields)

    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert f'value="{value}"' in answer.content.decode()
    sender.refresh_from_db()
    assert (sender.working_hours, sender.daily_limit) == (None, None)


def test_thousands_are_thousands_however_they_are_separated() -> None:
    sender = connect()

    sign_in(sender.workspace_id).post(
        f"senders/{sender.pk}/limits/",
        rate_per_second="2,5",
        rate_per_hour="1.000",
        daily_limit="12\u00a0000",
    )

    sender.refresh_from_db()
    limits = (sender.rate_per_second, sender.rate_per_hour, sender.daily_limit)
    assert limits == (2.5, 1000, 12_000)


def test_the_form_of_limits_shows_a_rate_with_all_its_digits() -> None:
    sender = connect()
    Sender.objects.update(rate_per_second=1234.5678)

    assert 'value="1234.5678"' in sign_in(sender.workspace_id).read(f"senders/{sender.pk}/limits/")


def test_a_zone_is_chosen_and_belongs_to_hours() -> None:
    sender = connect()
    person, page = sign_in(sender.workspace_id), f"senders/{sender.pk}/limits/"
    assert '<option value="" selected>As the workspace: UTC</option>' in person.read(page)

    alone = person.post(page, zone="Europe/Berlin")
    unknown = person.post(page, spans="09:00-18:00", days="mon", zone="Berlin")
    kept = person.post(page, spans="09:00-18:00", days="mon", zone="Europe/Berlin")

    assert "A zone belongs to hours: enter hours too" in alone.content.decode()
    assert "Berlin is not one of the available choices" in unknown.content.decode()
    assert (alone.status_code, unknown.status_code, kept.status_code) == (422, 422, 302)
    sender.refresh_from_db()
    assert sender.working_hours
    assert sender.working_hours["zone"] == "Europe/Berlin"
    assert '<option value="Europe/Berlin" selected>' in person.read(page)


def test_a_stored_zone_that_is_no_longer_known_is_said_only_where_the_hours_change() -> None:
    sender = connect()
    person, page = sign_in(sender.workspace_id), f"senders/{sender.pk}/limits/"
    hours = {"spans": [["09:00", "18:00"]], "weekdays": [0], "zone": "Gone/Zone"}
    Sender.objects.update(working_hours=hours)
    form = {"spans": "09:00-18:00", "days": "mon", "zone": "Gone/Zone"}

    elsewhere = person.post(page, **form, daily_limit="500")
    changed = person.post(page, **{**form, "days": "tue"})

    assert elsewhere.status_code == 302
    assert changed.status_code == 422
    assert "This time zone is no longer known: choose another." in changed.content.decode()
    sender.refresh_from_db()
    assert (sender.daily_limit, sender.working_hours) == (500, hours)


def test_whoever_takes_the_hours_away_need_not_touch_their_zone() -> None:
    sender = connect()
    person, page = sign_in(sender.workspace_id), f"senders/{sender.pk}/limits/"
    person.post(page, spans="09:00-18:00", days="mon", zone="Europe/Berlin")

    answer = person.post(page, spans="", days="mon", zone="Europe/Berlin")

    assert answer.status_code == 302
    sender.refresh_from_db()
    assert sender.working_hours is None


@pytest.mark.parametrize("dash", ["\N{EN DASH}", " \N{EN DASH} ", "\N{EM DASH}"])
def test_hours_may_be_written_with_any_dash(dash: str) -> None:
    sender, typed = connect(), f"09:00{dash}18:00"

    sign_in(sender.workspace_id).post(f"senders/{sender.pk}/limits/", spans=typed, days="mon")

    sender.refresh_from_db()
    assert sender.working_hours
    assert sender.working_hours["spans"] == [["09:00", "18:00"]]


def test_hours_without_a_day_are_asked_about() -> None:
    sender = connect()

    answer = sign_in(sender.workspace_id).post(f"senders/{sender.pk}/limits/", spans="09:00-18:00")

    assert answer.status_code == 422
    assert "Choose at least one day" in answer.content.decode()


def test_the_feedback_test_mails_the_simulator_and_shows_what_came_back() -> None:
    sender = connect("sandbox", {})
    person = sign_in(sender.workspace_id)

    answer = person.post(f"senders/{sender.pk}/test/")

    assert answer.status_code == 302
    stream_id = int(answer.url.rstrip("/").rpartition("/")[2])
    assert len(loop_test.find_probes(sender.workspace_id, stream_id)) == 4
    page = person.client.get(answer.url).content.decode()
    assert page.count("not yet") == 4
    assert "Marked as spam" in page
    assert 'hx-trigger="every 2s"' in page


def test_who_tests_too_often_is_told_to_wait_for_one_minute(settings: LazySettings) -> None:
    settings.PROVIDER_CHECKS_OF_ONE = "1/minute"
    sender = connect("sandbox", {})
    person = sign_in(sender.workspace_id)

    for _time in range(2):
        person.post(f"senders/{sender.pk}/test/")

    page = person.read(f"senders/{sender.pk}/")
    assert "Too many tests. Try again in 1 minute." in page


def test_a_stream_that_is_no_test_of_the_sender_has_no_such_page() -> None:
    sender = connect("sandbox", {})
    stream_id = cast.stream(mails=1)

    answer = sign_in(sender.workspace_id).get(f"senders/{sender.pk}/test/{stream_id}/")

    assert answer.status_code == 404


def test_a_test_that_mailed_no_simulator_has_no_such_page() -> None:
    sender = connect("sandbox", {})
    stream_id = ledger.open_stream(
        sender.workspace_id,
        sender_id=sender.pk,
        kind=StreamKind.CAMPAIGN,
        title="Test of a campaign",
        is_trial=True,
    )
    cast.enqueue(stream_id, [0, 1])

    answer = sign_in(sender.workspace_id).get(f"senders/{sender.pk}/test/{stream_id}/")

    assert answer.status_code == 404


def test_a_provider_without_a_simulator_is_not_tested() -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)

    person.post(f"senders/{sender.pk}/test/")

    assert "has no simulator" in person.read(f"senders/{sender.pk}/")


def test_who_may_only_look_is_offered_no_change() -> None:
    sender = connect()
    page = sign_in(sender.workspace_id, Role.VIEWER).read(f"senders/{sender.pk}/")

    assert "Edit limits" not in page
    assert "selector" not in page


def test_preflight_has_the_lines_of_dns_once_they_were_looked_up(
    server: DnsServer, settings: LazySettings
) -> None:
    settings.UNSUBSCRIBE_SECRET = "a secret of the tests, long enough"
    sender = connect()
    campaign_id = press.campaign(sender.workspace_id)
    person = sign_in(sender.workspace_id)
    checks = f"campaigns/{campaign_id}/edit/checks/"

    before = person.read(checks)
    assert f"/senders/{sender.pk}/dns/?lines=1" in before
    assert server.asked == []
    answer = person.client.get(
        person.url(f"senders/{sender.pk}/dns/?lines=1"), headers={"HX-Request": "true"}
    )
    lines = answer.content.decode()
    after = person.read(checks)
    editor = person.read(f"campaigns/{campaign_id}/edit/")

    assert "There is no DMARC record" in lines
    assert "There is no DMARC record" in after
    assert "?lines=1" not in after
    assert "DNS is being looked up" in before
    assert "DNS is being looked up" not in after
    assert answer.headers["HX-Trigger"] == "looked-up"
    assert "looked-up from:body" in editor
    assert after.count('data-level="warning"') == int(re.findall(r"warnings: (\d+)", after)[0])


def test_a_sender_is_connected_step_by_step(server: DnsServer, settings: LazySettings) -> None:
    owner = cast.sender().workspace_id
    person = sign_in(owner)
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

    assert wrong.status_code == 422
    assert "SES refuses the keys" in wrong.content.decode()
    assert 'value="us-east-1"' in wrong.content.decode()
    assert done.status_code == 302
    assert SECRET_ACCESS_KEY not in wrong.content.decode() + page + dns
    assert page.count('class="done"') == 1
    assert f'href="{done.url}reports/"' in page
    assert "A DKIM record is missing, 0 of 3 are right" in dns


def test_a_sender_connected_without_its_check_takes_no_place_and_ticks_nothing(
    settings: LazySettings,
) -> None:
    settings.PRIVATE_HOSTS = frozenset({"127.0.0.1"})
    settings.UNSUBSCRIBE_SECRET = "a secret of the tests, long enough"
    first = connect("sandbox", {})
    person = sign_in(first.workspace_id)
    campaign_id = press.campaign(first.workspace_id)
    checks = f"campaigns/{campaign_id}/edit/checks/"
    with serving_in_thread(FakeSendGrid()) as sendgrid:
        fields = {"kind": "sendgrid", "api_key": API_KEY, "address": "shop@shop.example"}
        fields["endpoint"] = sendgrid.endpoint
        done = person.post("senders/connect/", **fields, anyway="1")
        page = person.client.get(done.url).content.decode()
        sender = Sender.objects.get(address="shop@shop.example")
        Campaign.objects.update(sender=sender)
        checked_before = person.read(checks)
        sendgrid.service.account.add_identities("shop.example")
        person.post(f"attention/senders/{sender.pk}/test/", back="sender")

    assert "without being checked" in page
    assert "The provider is connected" not in page
    assert "news@acme.example stays the default sender" in page
    assert Sender.objects.get(is_default=True).pk == first.pk
    assert 'class="done"' not in page
    assert "Nobody saw the provider of the sender take an email" in checked_before
    tested = person.read(f"senders/{sender.pk}/")
    assert "without being checked" not in tested
    assert 'class="done"' in tested
    assert "Nobody saw the provider of the sender" not in person.read(checks)


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
    assert "AWS refuses" in failed.content.decode()
    assert read_steps(made) == ["Already there", "Done", "Waiting", "Done", "Done"]
    assert "One step waits; check once more in a moment." in made.content.decode()
    assert "All of it is there" not in made.content.decode()
    command = "postledger ses connect acme relay --create"
    assert f'<pre tabindex="0">{command} --url http://127.0.0.1:9/ses-events</pre>' in (
        made.content.decode()
    )
    assert f'<pre tabindex="0">{command}</pre>' in made.content.decode()
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
    assert "sets PUBLIC_URL" in nowhere.content.decode()
    assert read_steps(made) == ["Done"] * 4
    assert read_steps(again) == ["Already there"] * 4
    [webhook] = sendgrid.service.account.webhooks.values()
    assert webhook.url == f"http://127.0.0.1:9/sendgrid-events/{sender.account_id}"
    assert "Test the feedback" in person.read(f"senders/{sender.pk}/")


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

    asked = person.post(f"{url}hold/", reason=" ")
    person.post(f"{url}hold/", reason="the domain moves")
    twice = person.post(f"{url}hold/", reason="again")
    page = person.read(url)
    [cause] = alice.get(f"/v1/why/{sender.address}").body["causes"]

    assert asked.status_code == 422
    assert twice.status_code == 302
    sentence = "The sender is held because a person paused it (Mia: the domain moves)."
    assert (cause["code"], cause["sentence"]) == ("paused", sentence)
    assert cause["since"] is not None
    assert f"{sender.address}: {sentence}" in page
    assert f"{url}hold/" not in page
    [entry] = AuditEntry.objects.filter(action="sender.held")
    assert (entry.actor, entry.data) == (person.actor, {"reason": "the domain moves"})

    released = person.post(f"attention/senders/{sender.pk}/release/", back="sender")

    assert released.url == person.url(url)
    assert "Hold…" in person.read(url)
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


def test_a_name_that_would_break_a_header_is_refused_beside_its_field_and_nothing_changes() -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)

    refused = person.post(f"senders/{sender.pk}/edit/", name="Acme\u2028Bcc: x", account="")

    sender.refresh_from_db()
    assert refused.status_code == 422
    assert "Use printable characters only." in refused.content.decode()
    assert sender.name == cast.sender().name
    assert sender.account_id is not None


def test_a_manager_changes_nothing_of_a_sender() -> None:
    sender = connect()
    person = sign_in(sender.workspace_id, Role.MANAGER)

    for page in ("edit", "default", "archive", "restore"):
        assert person.post(f"senders/{sender.pk}/{page}/").status_code == 403
    assert f"/senders/{sender.pk}/edit/" not in person.read(f"senders/{sender.pk}/")


def test_another_sender_becomes_the_default_by_a_click() -> None:
    sender = connect()
    other_id = senders.create_sender(
        sender.workspace_id, address="other@acme.example", actor="alice"
    )

    sign_in(sender.workspace_id).post(f"senders/{other_id}/default/")

    assert Sender.objects.get(is_default=True).pk == other_id


def test_the_default_sender_is_archived_only_with_its_successor() -> None:
    sender = connect()
    person = sign_in(sender.workspace_id)
    url = f"senders/{sender.pk}/archive/"
    only = person.post(url)
    other_id = senders.create_sender(
        sender.workspace_id, address="other@acme.example", actor="alice"
    )

    refused = person.post(url)
    archived = person.post(url, default=str(other_id))

    sender.refresh_from_db()
    assert (only.status_code, refused.status_code, archived.status_code) == (302, 422, 302)
    assert (sender.archived_at is not None, sender.is_default) == (True, False)
    person.post(f"senders/{sender.pk}/restore/")
    sender.refresh_from_db()
    assert sender.archived_at is None


def test_a_sender_for_which_mail_waits_is_archived_after_a_second_question() -> None:
    sender = connect()
    other_id = senders.create_sender(
        sender.workspace_id, address="other@acme.example", actor="alice"
    )
    senders.set_default(sender.workspace_id, sender_id=other_id, actor="alice")
    cast.stream(mails=2)
    person = sign_in(sender.workspace_id)
    url = f"senders/{sender.pk}/archive/"

    asked = person.read(url)
    refused = person.post(url)

    sender.refresh_from_db()
    assert 'name="anyway"' not in asked
    assert refused.status_code == 422
    assert "2 emails still wait for it." in refused.content.decode()
    assert sender.archived_at is None
    person.post(url, anyway="on")
    sender.refresh_from_db()
    assert sender.archived_at is not None
