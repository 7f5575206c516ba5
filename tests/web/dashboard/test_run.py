"""The page of a run: its figures are the API's, its steps are the API's actions, and it is live."""

import html
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from uuid import UUID

import pytest
from django.conf import LazySettings

from postledger.accounts import provider_accounts
from postledger.accounts.models import AuditEntry, Member, Sender
from postledger.accounts.people.roles import Role
from postledger.campaigns.models import Campaign, Run
from postledger.campaigns.runs import retry_outlook, run_control
from postledger.contacts import segments
from postledger.contacts.actions import subscriptions
from postledger.contacts.consent import Origin
from postledger.contacts.models import Contact
from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Entry
from postledger.deliveries.figures import pace
from postledger.deliveries.reasons import Reason
from postledger.web.dashboard.runs import questions
from tests import cast, round_trips
from tests.campaigns import press
from tests.contacts import people
from tests.deliveries.models import Delivery, StreamPace
from tests.web import newsroom
from tests.web.callers import Caller
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person
from tests.web.public import visiting

pytestmark = pytest.mark.usefixtures("furnished")


def make_run(who: Caller, mails: int = 4, **changes: object) -> str:
    press.people(who.workspace_id, mails)
    return newsroom.launched(who, newsroom.make_campaign(who, **changes))


def page(run_id: str, part: str = "") -> str:
    return f"campaigns/runs/{run_id}/{part}"


def read_sum(text: str) -> tuple[int, dict[str, int]]:
    """What the balance of a page says is planned, and its terms."""
    [planned] = re.findall(r'<tr class="total".*?class="num"[^>]*>([\d,]+)<', text)
    terms = re.findall(r'<tr data-state="(\w+)".*?class="num"[^>]*>([\d,]+)<', text)
    return int(planned.replace(",", "")), {
        state: int(count.replace(",", "")) for state, count in terms
    }


def read_reports(text: str) -> dict[str, int]:
    """What a page says of mail after its acceptance."""
    after = text.partition('id="after"')[2].partition("</section>")[0]
    return {
        label: int(count)
        for label, count in re.findall(
            r'<tr><td>([^<]+)</td><td class="n">(?:<a [^>]+>)?(\d+)<', after
        )
    }


def unavailable(position: int) -> Entry:
    return entries.refused(position, code="554 5.7.1")


def state_of(who: Caller, run_id: str) -> str:
    return str(who.get(f"/v1/runs/{run_id}").body["state"])


def test_the_figures_are_those_of_the_api_and_add_up_while_the_run_moves(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 5)
    moves: list[Callable[[], object]] = [
        lambda: None,
        lambda: newsroom.book(run_id, newsroom.taken, size=1),
        lambda: newsroom.book(run_id, newsroom.refused, size=1),
        lambda: cast.lose(newsroom.stream_of(run_id), size=1),
    ]
    for move in moves:
        move()
        for part in ("", "live/"):
            planned, terms = read_sum(anna.read(page(run_id, part)))

            books = alice.get(f"/v1/runs/{run_id}").body["books"]
            assert (planned, terms) == (books["planned"], books["states"])
            assert planned == sum(terms.values())
    [letter] = re.findall(r'id="letter" href="([^"]+)#mail"', anna.read(page(run_id)))
    assert "Subject: <b>" in anna.client.get(letter).content.decode()


def test_a_campaign_leads_to_its_newest_run_and_lists_the_others(
    alice: Caller, anna: Person
) -> None:
    campaign_id = newsroom.make_campaign(alice)
    press.people(alice.workspace_id, 2)
    carl = visitors.sign_in(alice.workspace_id, Role.VIEWER, name="Carl")
    edited = anna.get(f"campaigns/{campaign_id}/")
    draft = carl.read(f"campaigns/{campaign_id}/")
    alice.post(f"/v1/campaigns/{campaign_id}/test", {"addresses": ["a@example.com"]})
    tested = carl.read(f"campaigns/{campaign_id}/")
    first = newsroom.launched(alice, campaign_id)
    alice.post(f"/v1/runs/{first}/cancel", None)
    second = str(alice.post(f"/v1/runs/{first}/remaining", None).body["run_id"])

    text = anna.read(f"campaigns/{campaign_id}/")

    assert edited.headers["Location"] == anna.url(f"campaigns/{campaign_id}/edit/")
    assert "Runs of this campaign" not in draft
    assert "Not launched" in tested
    assert ">Test<" in tested
    assert page(second, "live/") in text, "the newest run is live"
    assert page(first) in text
    assert page(first) in anna.read(page(second, "live/")), "the list moves, too"


def test_the_page_says_with_which_subjects_it_went_and_to_whom(alice: Caller, anna: Person) -> None:
    def read_facts(run_id: str) -> dict[str, str]:
        facts = anna.read(page(run_id)).partition('id="sent"')[2].partition("</dl>")[0]
        pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", facts, re.DOTALL)
        return {label: re.sub(r"<br>|\s+", " ", text).strip() for label, text in pairs}

    alice.post("/v1/lists", {"key": "news", "name": "Newsletter"})
    members = {"all": [{"field": "attributes.plan", "is": "pro"}, {"list": "news"}]}
    austria = {"all": [{"field": "locale", "is": "de-AT"}]}
    segments.create_segment(
        alice.workspace_id, name="Members", stored=members, actor="a", now=datetime.now(UTC)
    )
    audience = {"all": [*members["all"], {"not": austria}]}
    to_members = make_run(alice, list="news", audience_filter=audience)
    nested = {"all": [{"any": [{"plan": "pro"}]}]}
    texts = [
        {"locale": locale, "subject": subject, "format": "markdown", "body": "Hello"}
        for locale, subject in (("en", "News"), ("de", "Neues"))
    ]
    alice.post("/v1/templates", {"id": "letter", "name": "Letter"})
    alice.post("/v1/templates/letter/versions", {"texts": texts, "fallback_locale": "en"})
    to_all = make_run(
        alice, 0, tag="all", content={"kind": "template", "id": "letter"}, audience_filter=nested
    )

    assert read_facts(to_members) == {
        "Subject": "News for {{ name }}",
        "Audience": "Newsletter",
        "Conditions": "Segment Members: plan is pro and List: Newsletter is subscribed",
        "Except": "Language is German (Austria)",
    }
    assert read_facts(to_all) == {
        "Subject": "German: Neues English: News",
        "Audience": "All contacts",
        "Conditions": html.escape('{"all": [{"any": [{"plan": "pro"}]}]}'),
    }
    assert 'id="letter"' not in anna.read(page(to_all)), "nobody gets it"
    assert "<dt>" not in anna.read(page(to_all, "live/")).partition("</header>")[0]


def test_the_page_says_why_it_waits_who_paused_it_and_what_was_done(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice)

    assert anna.post(page(run_id, "pause/")).status_code == 302

    text = anna.read(page(run_id))
    assert "Paused by Anna until you resume it." in text
    assert "Paused. What is with the provider" in text, "the toast"
    assert "Anna paused it." in text, "the trail"
    assert "program launched it." in text, "the key by its name"
    assert alice.get(f"/v1/runs/{run_id}").body["hold"]["actor"] == anna.actor


def test_a_run_is_not_resumed_where_its_sender_is_held(alice: Caller, anna: Person) -> None:
    run_id = make_run(alice)
    sender_id = Campaign.objects.get().sender_id
    ledger.hold_sender(sender_id, reason=Reason.PAUSED, actor="bob", detail="Nora: complaints")

    for shown in (anna.read(page(run_id)), anna.read("")):
        assert f'href="{anna.url("attention/")}#held">Look at the sender</a>' in shown
        assert f'action="{anna.url(page(run_id, "resume/"))}"' not in shown
    refused = anna.client.post(anna.url(page(run_id, "resume/")), follow=True)
    assert "its sender is held" in refused.content.decode()

    anna.post(page(run_id, "pause/"))
    resumed = anna.client.post(anna.url(page(run_id, "resume/")), follow=True).content.decode()
    assert "Its sender is still held, so nothing is sent yet." in resumed


def test_causes_that_ask_for_a_person_come_first_and_in_red(alice: Caller, anna: Person) -> None:
    run_id = make_run(alice)
    stream_id = newsroom.stream_of(run_id)
    cast.lose(stream_id, size=1)
    cast.block()

    text = anna.read(page(run_id))

    tones = re.findall(r'<div class="why"( data-tone="person")?>.*?why-what">([^<]*)<', text)
    told = [words for tone, words in tones if tone]
    assert told[0].startswith("1 email is in doubt")
    assert any("The sender is held because the provider refuses" in words for words in told)
    assert f"/w/{anna.workspace_id}/attention/#in-doubt" in text
    assert f"/w/{anna.workspace_id}/attention/#held" in text


def test_failures_are_listed_by_cause_with_an_example_and_a_link_to_retry_them(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice)
    newsroom.book(run_id, newsroom.refused, size=3)
    newsroom.book(run_id, newsroom.taken, size=1)

    text = anna.read(page(run_id))

    [failure] = alice.get(f"/v1/runs/{run_id}/failures").body["failures"]
    assert failure["code"] in text
    assert "Nothing has to be done" in text, "the address does not exist"
    assert f"{page(run_id)}retry/" in text
    assert f"{page(run_id)}retry/?code=" not in text
    assert ">3</a>" in text
    asked = anna.read(page(run_id, "retry/"), code="550 5.1.1")
    assert "Retry 3 failed emails?" in asked
    anna.post(page(run_id, "retry/"), code="no such code")
    assert alice.get(f"/v1/runs/{run_id}").body["books"]["states"]["failed"] == 3
    answer = anna.client.post(anna.url(page(run_id, "retry/")), {"code": "550 5.1.1"}, follow=True)
    assert "3 failed emails are tried again." in answer.content.decode()
    assert alice.get(f"/v1/runs/{run_id}").body["books"]["states"]["waiting"] == 3


def test_a_retry_says_before_and_after_how_many_addresses_take_no_email_any_more(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 3)
    newsroom.book(run_id, unavailable, size=3)
    for reason, address in (("bounced", "r0@example.com"), ("by_hand", "r1@example.com")):
        alice.post("/v1/suppressions", {"address": address, "reason": reason})
    left = "2 more are not tried and stay failed: their recipients have paused"

    asked = anna.read(page(run_id, "retry/"))
    answer = anna.client.post(anna.url(page(run_id, "retry/")), follow=True).content.decode()

    assert "Retry 1 failed email?" in asked
    assert left in asked
    assert "1 failed email is tried again." in answer
    assert left in answer
    states = alice.get(f"/v1/runs/{run_id}").body["books"]["states"]
    assert (states["failed"], states["waiting"]) == (2, 1), "no failure vanishes"


def test_where_no_address_takes_email_any_more_nothing_is_retried_and_the_page_says_why(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 2)
    newsroom.book(run_id, unavailable, size=1)
    newsroom.book(run_id, newsroom.taken, size=1)
    before = anna.read(page(run_id))
    alice.post("/v1/suppressions", {"address": "r0@example.com", "reason": "complained"})

    text = anna.read(page(run_id))

    for button in ('id="step-retry"', f"{page(run_id)}retry/?code="):
        assert (button in before, button in text) == (True, False)
    asked = anna.client.get(anna.url(page(run_id, "retry/")), follow=True).content.decode()
    assert "None can be tried again" in asked
    assert alice.post(f"/v1/runs/{run_id}/retry", {}).body["requeued"] == 0


def test_who_has_paused_the_list_is_not_said_to_have_left_it(alice: Caller, anna: Person) -> None:
    people.news(alice.workspace_id)
    reader = people.member(alice.workspace_id)
    draft = newsroom.make_campaign(alice, list="news")
    run_id = newsroom.launched(alice, draft)
    newsroom.book(run_id, unavailable, size=1)
    subscriptions.pause(
        alice.workspace_id,
        contact_id=reader,
        list_key="news",
        origin=Origin("preferences page", "recipient"),
        now=people.NOW,
    )

    text = anna.read(page(run_id))

    assert "None can be tried again now: their recipients have paused" in text


def test_of_many_failures_the_question_looks_at_the_first_and_counts_the_others(
    alice: Caller, anna: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry_outlook, "AT_ONCE", 2)
    run_id = make_run(alice, 5)
    newsroom.book(run_id, unavailable, size=5)
    alice.post("/v1/suppressions", {"address": "r0@example.com", "reason": "bounced"})

    asked = anna.read(page(run_id, "retry/"))
    answer = anna.client.post(anna.url(page(run_id, "retry/")), follow=True).content.decode()

    assert "Retry up to 4 failed emails?" in asked
    assert "4 failed emails are tried again. 1 more is not tried and stays failed" in answer


def test_every_step_is_the_action_of_the_api_with_the_member_as_its_actor(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 3)

    def take(step: str) -> str:
        answer = anna.post(page(run_id, f"{step}/"))
        assert (answer.status_code, answer.url) == (302, anna.url(page(run_id)))
        return state_of(alice, run_id)

    assert take("pause") == "paused"
    assert take("resume") == "sending"
    newsroom.book(run_id, newsroom.refused, size=2)
    newsroom.book(run_id, newsroom.taken, size=1)
    assert take("retry") == "sending"
    assert take("cancel") == "cancelled"

    actions = AuditEntry.objects.filter(actor=anna.actor).order_by("pk")
    assert list(actions.values_list("action", flat=True)) == [
        *("campaign.paused", "campaign.resumed", "campaign.retried", "campaign.cancelled"),
    ]


def test_closing_names_what_stays(alice: Caller, anna: Person) -> None:
    run_id = make_run(alice, 3)
    newsroom.book(run_id, newsroom.refused, size=2)
    newsroom.book(run_id, newsroom.taken, size=1)

    assert "2 emails stay failed" in anna.read(page(run_id, "close/"))
    anna.post(page(run_id, "close/"))

    assert state_of(alice, run_id) == "closed"
    assert "Anna closed it with its failures." in anna.read(page(run_id))


def test_sending_to_the_rest_starts_a_run_that_counts_for_the_member(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 3)
    alice.post(f"/v1/runs/{run_id}/cancel", None)
    ledger.drain(newsroom.stream_of(run_id))
    Run.objects.update(excluded={"bounced": 1})

    asked = anna.read(page(run_id, "remaining/"))
    answer = anna.post(page(run_id, "remaining/"))

    assert "At most 4: 3 emails were cancelled, and 1 person was left out" in asked
    newest = Run.objects.latest("launched_at")
    assert answer.url == anna.url(page(str(newest.pk)))
    assert (newest.actor, newest.root_id) == (anna.actor, UUID(run_id))
    facts = queries.find_stream(newest.stream_id)
    assert facts is not None
    assert facts.member_id == Member.objects.get(user=anna.user).pk


def test_a_large_loss_is_typed_before_it_happens(
    alice: Caller, anna: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "LARGE", 3)
    run_id = make_run(alice, 3)

    asked = anna.read(page(run_id, "cancel/"))
    wrong = anna.post(page(run_id, "cancel/"), shown="3", typed="4")
    still = state_of(alice, run_id)
    anna.post(page(run_id, "cancel/"), shown="3", typed=" 3")

    assert "Type 3 to confirm" in asked
    assert (wrong.status_code, still) == (422, "sending")
    assert state_of(alice, run_id) == "cancelled"


def test_a_run_in_which_nothing_waits_any_more_is_not_cancelled_by_an_old_question(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 2)
    newsroom.book(run_id, newsroom.refused)

    answer = anna.client.post(anna.url(page(run_id, "cancel/")), follow=True)

    toast = answer.content.decode().partition('<div class="toast" role="status">')[2]
    assert "Every email has a result already." in toast.partition("</div>")[0]
    assert state_of(alice, run_id) == "open", "its failures can be retried"


def test_a_loss_that_grew_large_behind_the_question_is_asked_for_with_its_number(
    alice: Caller, anna: Person
) -> None:
    press.people(alice.workspace_id, questions.LARGE)
    launched = alice.post(f"/v1/campaigns/{newsroom.make_campaign(alice)}/launch", None)
    run_id = str(launched.body["run_id"])
    asked = anna.read(page(run_id, "cancel/"))
    newsroom.plan(run_id)

    again = anna.post(page(run_id, "cancel/"))
    still = state_of(alice, run_id)
    typed = anna.post(page(run_id, "cancel/"), shown="1,000", typed="1000")

    assert "to confirm" not in asked
    text = again.content.decode()
    assert (again.status_code, still) == (200, "sending")
    assert "Type 1,000 to confirm" in text
    assert "That is another number." not in text, "nobody typed one"
    assert (typed.status_code, state_of(alice, run_id)) == (302, "cancelled")


def test_a_step_that_came_too_late_says_so_and_changes_nothing(alice: Caller, anna: Person) -> None:
    run_id = make_run(alice, 1)
    newsroom.book(run_id, newsroom.taken)
    run_control.end_finished_runs()

    answer = anna.client.post(anna.url(page(run_id, "pause/")), follow=True)
    asked = anna.client.get(anna.url(page(run_id, "cancel/")), follow=True)
    led = anna.get(page(run_id, "pause/"))

    assert "The run is over: it was sent." in answer.content.decode()
    toast = asked.content.decode().partition('<div class="toast" role="status">')[2]
    assert "The run is over." in toast
    assert (led.status_code, led.headers["Location"]) == (302, anna.url(page(run_id)))


def make_states(who: Caller) -> dict[str, str]:
    """A run in each state, by its name."""
    press.people(who.workspace_id, 2)
    campaigns = {
        tag: newsroom.make_campaign(who, tag=tag)
        for tag in ("planning", "sending", "paused", "open", "sent", "closed", "cancelled")
    }
    launched = who.post(f"/v1/campaigns/{campaigns.pop('planning')}/launch", None)
    runs = {tag: newsroom.launched(who, id_) for tag, id_ in campaigns.items()}
    who.post(f"/v1/runs/{runs['paused']}/pause", None)
    for tag in ("open", "closed"):
        newsroom.book(runs[tag], newsroom.refused)
    newsroom.book(runs["sent"], newsroom.taken)
    run_control.end_finished_runs()
    who.post(f"/v1/runs/{runs['closed']}/close", None)
    who.post(f"/v1/runs/{runs['cancelled']}/cancel", None)
    ledger.drain(newsroom.stream_of(runs["cancelled"]))
    run_control.end_finished_runs()
    return {"planning": str(launched.body["run_id"]), **runs}


POSSIBLE = {
    "planning": {"pause", "cancel"},
    "sending": {"pause", "cancel"},
    "paused": {"resume", "cancel"},
    "open": {"retry", "close"},
    "sent": set(),
    "closed": {"retry"},
    "cancelled": {"remaining"},
}


def test_in_each_state_the_page_offers_what_is_possible_and_says_why_the_rest_is_not(
    alice: Caller, anna: Person
) -> None:
    runs = make_states(alice)
    viewer = visitors.sign_in(alice.workspace_id, Role.VIEWER, name="Vera")

    for state, run_id in runs.items():
        text, read_only = anna.read(page(run_id)), viewer.read(page(run_id))

        assert state_of(alice, run_id) == state
        assert set(re.findall(r'id="step-(\w+)"', text)) == POSSIBLE[state], state
        disabled = re.findall(r'disabled aria-describedby="(no-\w+)"', text)
        reasons = dict(re.findall(r'id="(no-\w+)">([^<]+)<', text))
        assert set(disabled) == set(reasons), "every disabled button has its reason"
        assert len(disabled) + len(POSSIBLE[state]) == 5, "pause and resume share a place"
        assert 'id="step-' not in read_only
        assert "report.csv" in text
        assert "report.csv" not in read_only
        for step in {"pause", "resume", "cancel", "close"} - POSSIBLE[state]:
            anna.post(page(run_id, f"{step}/"))
    assert {state_of(alice, run_id) for run_id in runs.values()} == set(runs), "nothing changed"


def test_the_file_of_the_report_is_called_as_the_campaign_is_now(
    alice: Caller, anna: Person
) -> None:
    def name_file(name: str) -> str:
        Campaign.objects.update(name=name)
        header = anna.get(page(run_id, "report.csv")).headers["Content-Disposition"]
        message = EmailMessage()
        message["Content-Disposition"] = header
        return str(message.get_filename()).removesuffix(f"-{datetime.now(UTC):%Y-%m-%d}.csv")

    run_id = make_run(alice, 1)

    assert name_file("News of May") == "News-of-May"
    assert name_file("Май: «Grüße» 50%") == "Май-Grüße-50"
    assert name_file('../a\\b";\r\n\u202etxt') == "a-b-txt"
    assert name_file("…") == "may-news"
    assert name_file("x" * 500) == "x" * 80


def test_words_of_users_and_providers_stay_words(alice: Caller, anna: Person) -> None:
    attack = "<script>alert(1)</script>"
    run_id = make_run(alice, 1, name=attack)
    newsroom.book(
        run_id, lambda position: entries.refused(position, code=attack, detail=f'"><{attack}')
    )
    campaign_id = Run.objects.get(pk=run_id).campaign_id

    for path in (page(run_id), page(run_id, "live/"), page(run_id, "close/"), "campaigns/"):
        text = anna.read(path)
        assert attack not in text
        assert html.escape(attack) in text
    assert attack not in anna.read(page(run_id, "retry/"), code=attack)
    assert anna.get(f"campaigns/{campaign_id}/").status_code == 200


def test_a_run_that_moves_is_read_often_and_one_that_is_over_no_more(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 1)

    def interval() -> list[str]:
        return re.findall(r'hx-trigger="every ([\d.]+)s"', anna.read(page(run_id, "live/")))

    assert interval() == ["1.2"]
    anna.post(page(run_id, "pause/"))
    assert interval() == ["10.0"]
    anna.post(page(run_id, "resume/"))
    newsroom.book(run_id, newsroom.taken)
    run_control.end_finished_runs()
    assert interval() == ["3.0"], "reports come"
    Run.objects.update(ended_at=datetime.now(UTC) - timedelta(minutes=5))
    Run.objects.update(ended_at=datetime.now(UTC) - timedelta(hours=1))
    assert interval() == []


def test_the_part_that_moves_has_no_frame_and_keeps_the_chart_and_the_trail(
    alice: Caller, anna: Person
) -> None:
    part = anna.read(page(make_run(alice), "live/"))

    assert part.startswith('<div class="stack stack-page" id="live"')
    assert 'id="trail" hx-preserve="true"' in part
    assert "launched it." not in part, "the trail stays as it is"


def test_the_chart_has_its_table_and_both_have_every_accepted_mail(
    alice: Caller, anna: Person
) -> None:
    now = datetime.now(UTC)
    series = pace.make_series(
        [pace.PacePoint(now - timedelta(seconds=150 - 5 * n), 10 + n % 6) for n in range(25)]
    )
    run_id = make_run(alice, 1)
    stream_id = newsroom.stream_of(run_id)
    for point in series.points:
        StreamPace.objects.create(stream_id=stream_id, slot=point.at, accepted=point.accepted)

    text = anna.read(page(run_id))

    [block] = re.findall(r'<script id="pace-data" type="application/json">(.*?)</script>', text)
    data = json.loads(block)
    assert data["values"] == [point.accepted * 12 for point in series.points], "per minute"
    assert data["times"] == [int(point.at.timestamp()) for point in series.points]
    [table] = re.findall(r'<details id="pace-table">.*?</details>', text)
    counts = re.findall(r'<td class="n">(\d+)</td><td class="n">', table)
    assert list(map(int, counts)) == [point.accepted for point in reversed(series.points)]


def test_where_the_provider_reports_nothing_the_page_counts_no_reports(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 2)
    newsroom.book(run_id, newsroom.taken)
    own = Sender.objects.filter(workspace_id=alice.workspace_id)

    def connect(kind: str, settings: dict[str, object]) -> None:
        own.update(
            account_id=provider_accounts.create_account(
                alice.workspace_id, name=kind, kind=kind, settings=settings, actor="test"
            )
        )

    connect("sandbox", {})
    assert "2 accepted emails have no report yet." in anna.read(page(run_id))
    connect("smtp", {"host": "smtp.example", "tls": "none"})
    for part in ("", "live/"):
        deaf = anna.read(page(run_id, part))
        assert "no report yet" not in deaf
        assert read_reports(deaf) == {"Unsubscribed": 0}, "what our own pages know"


def test_who_leaves_by_a_link_is_counted_for_the_last_campaign_that_mailed_them(
    alice: Caller, anna: Person, settings: LazySettings
) -> None:
    first = make_run(alice, 5)
    leave(alice, "r4@example.com", settings)
    newsroom.book(first, newsroom.taken, size=3)
    leave(alice, "r0@example.com", settings)
    alice.post("/v1/suppressions", {"address": "r1@example.com", "reason": "by_hand"})
    leave(alice, "r3@example.com", settings)
    second = newsroom.launched(alice, newsroom.make_campaign(alice, tag="june"))
    newsroom.book(second, newsroom.taken)

    before = read_reports(anna.read(page(first)))
    leave(alice, "r2@example.com", settings)

    assert before["Unsubscribed"] == 1, "not by hand, and not whom the run had not mailed"
    assert read_reports(anna.read(page(first)))["Unsubscribed"] == 1
    assert read_reports(anna.read(page(second, "live/")))["Unsubscribed"] == 1
    assert f'href="{anna.url(page(first, "unsubscribed/"))}">1</a>' in anna.read(page(first))
    listed = re.findall(r">(\w+@example.com)</a>", anna.read(page(first, "unsubscribed/")))
    assert listed == ["R0@example.com"]
    assert "@example.com" not in anna.read(page(first, "unsubscribed/?skip=1")).partition("<h1>")[2]


def test_who_leaves_is_counted_until_a_month_after_the_end_of_the_run(
    alice: Caller, anna: Person, settings: LazySettings
) -> None:
    run_id, now = make_run(alice, 2), datetime.now(UTC)
    newsroom.book(run_id, newsroom.taken)
    leave(alice, "r0@example.com", settings)
    runs = Run.objects.filter(pk=run_id)
    runs.update(launched_at=now - timedelta(days=40))

    counts = [read_reports(anna.read(page(run_id)))["Unsubscribed"]]
    for days in (29, 31):
        runs.update(ended_at=now - timedelta(days=days), ended_as="closed", ended_by="user 1")
        counts.append(read_reports(anna.read(page(run_id)))["Unsubscribed"])

    assert counts == [1, 1, 0]


def leave(who: Caller, address: str, settings: LazySettings) -> None:
    secret = settings.UNSUBSCRIBE_SECRET
    url = visiting.link(address, workspace_id=who.workspace_id, secret=secret)
    assert visiting.post(url, visiting.ONE_CLICK).status_code == 200


def test_a_run_whose_last_mail_is_tried_again_later_is_not_called_scheduled(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 2)
    newsroom.book(run_id, newsroom.taken, size=1)
    hour = timedelta(hours=1)
    newsroom.book(run_id, lambda one: entries.try_later(one, delay=hour, code="451"), size=1)

    shown = anna.read(page(run_id))

    assert "it is scheduled for later" not in shown
    assert "<dt>Goes on when</dt><dd>the next attempt is made</dd>" in shown


def test_a_paused_run_says_so_among_what_its_mail_waits_for_and_a_cancelled_one_what_comes(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice)

    def read_waits() -> str:
        return anna.read(page(run_id)).partition('id="waits"')[2].partition("</section>")[0]

    anna.post(page(run_id, "pause/"))
    assert re.findall(r'why-what">([^<]*)<', read_waits()) == ["A person paused it.", "It is due"]
    alice.post(f"/v1/runs/{run_id}/cancel", None)
    assert "4</a> are waiting" in read_waits()
    ledger.drain(newsroom.stream_of(run_id))
    top = anna.read(page(run_id)).partition('id="books"')[0]
    assert f'<a class="btn" href="{anna.url(page(run_id, "remaining/"))}">Send to the rest' in top


def test_causes_of_failures_are_said_in_words_before_their_codes(
    alice: Caller, anna: Person
) -> None:
    def lacks_a_value(position: int) -> Entry:
        detail = "The variable city has no value. Give it one, and send again."
        return entries.invalid(position, code="template_missing_variable", detail=detail)

    def has_moved(position: int) -> Entry:
        return entries.invalid(position, code="RECIPIENT_NOT_FOUND", detail="Another address.")

    run_id = make_run(alice, 8)
    stream_id = newsroom.stream_of(run_id)
    newsroom.book(run_id, newsroom.refused, size=3)
    cast.judge(stream_id, lacks_a_value, size=2)
    newsroom.book(run_id, unavailable, size=1)
    cast.judge(stream_id, has_moved, size=2)
    corrected, deleted = Delivery.objects.filter(stream_id=stream_id, position__gte=6)
    people_of_run = Contact.objects.filter(workspace_id=alice.workspace_id)
    people_of_run.filter(address=corrected.address).update(address="corrected@example.com")
    people_of_run.filter(address=deleted.address).update(deleted_at=datetime.now(UTC))

    text = anna.read(page(run_id))

    told = re.findall(r'class="wide">([^<]*)<span class="sub"><code>([^<]*)</code>', text)
    assert told == [
        ("The mailbox does not exist", "550 5.1.1"),
        ("The contact was deleted, or has another address now", "RECIPIENT_NOT_FOUND"),
        ("No mail could be made of it: a value is missing", "template_missing_variable"),
        ("The provider refused it for good", "554 5.7.1"),
    ]
    assert "code=RECIPIENT_NOT_FOUND" not in text, "another try would fail again"
    assert "At most 1: " in anna.read(f"{page(run_id)}remaining/"), "nobody sends to the deleted"


def test_a_page_and_its_refresh_need_few_questions_to_the_database(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 6)
    newsroom.book(run_id, newsroom.refused, size=2)
    newsroom.book(run_id, newsroom.taken, size=1)
    cast.lose(newsroom.stream_of(run_id), size=1)
    anna.post(page(run_id, "pause/"))
    anna.read(page(run_id))

    with round_trips.counted() as whole:
        anna.read(page(run_id))
    with round_trips.counted() as part:
        anna.read(page(run_id, "live/"))

    assert whole() <= 30
    assert part() <= 25
