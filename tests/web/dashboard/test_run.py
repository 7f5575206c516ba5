"""The page of a run: its figures are the API's, its steps are the API's actions, and it is live."""

import html
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
from postledger.deliveries import entries, ledger, queries
from postledger.deliveries.entries import Entry
from postledger.deliveries.reasons import Reason
from postledger.web.dashboard.runs import questions
from tests import cast, round_trips
from tests.campaigns import press
from tests.contacts import people
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
    edited = anna.get(f"campaigns/{campaign_id}/")
    first = newsroom.launched(alice, campaign_id)
    alice.post(f"/v1/runs/{first}/cancel", None)
    second = str(alice.post(f"/v1/runs/{first}/remaining", None).body["run_id"])

    text = anna.read(f"campaigns/{campaign_id}/")

    assert edited.headers["Location"] == anna.url(f"campaigns/{campaign_id}/edit/")
    assert page(second, "live/") in text, "the newest run is live"
    assert page(first) in text
    assert page(first) in anna.read(page(second, "live/")), "the list moves, too"


def test_the_page_says_with_which_subject_it_went_and_to_whom(alice: Caller, anna: Person) -> None:
    alice.post("/v1/lists", {"key": "news", "name": "Newsletter"})
    members = [{"field": "attributes.plan", "is": "pro"}, {"list": "news"}]
    segments.create_segment(
        alice.workspace_id,
        name="Members",
        stored={"all": members},
        actor="a",
        now=datetime.now(UTC),
    )
    austria = {"not": {"all": [{"field": "locale", "is": "de-AT"}]}}
    run_id = make_run(alice, list="news", audience_filter={"all": [*members, austria]})

    text = anna.read(page(run_id)).partition('id="sent"')[2].partition("</dl>")[0]

    assert re.findall(r"<dt>(.*?)</dt><dd>(.*?) ?</dd>", text) == [
        ("Subject", "News for {{ name }}"),
        ("Audience", "Newsletter"),
        ("Conditions", "Segment Members: plan is pro and List: Newsletter is subscribed"),
        ("Except", "Language is German (Austria)"),
    ]


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


def test_failures_of_a_cause_are_retried_but_for_those_whose_address_takes_no_email_any_more(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice)
    newsroom.book(run_id, unavailable, size=3)
    newsroom.book(run_id, newsroom.taken, size=1)
    for reason, address in (("bounced", "r0@example.com"), ("by_hand", "r1@example.com")):
        alice.post("/v1/suppressions", {"address": address, "reason": reason})

    def retry(code: str) -> tuple[str, int, int]:
        url = anna.url(page(run_id, "retry/"))
        answer = anna.client.post(url, {"code": code}, follow=True).content.decode()
        states = alice.get(f"/v1/runs/{run_id}").body["books"]["states"]
        return answer, states["failed"], states["waiting"]

    [failure] = alice.get(f"/v1/runs/{run_id}/failures").body["failures"]
    text = anna.read(page(run_id))
    assert failure["code"] in text
    assert f"{page(run_id)}retry/" in text
    assert "Retry 1 failed email?" in anna.read(page(run_id, "retry/"))
    assert retry("no such code")[1:] == (3, 0)
    answer, failed, waiting = retry("554 5.7.1")
    assert "1 failed email is tried again." in answer
    assert (failed, waiting) == (2, 1), "no failure vanishes"
    assert "None can be tried again" in retry("")[0]


def test_who_has_paused_the_list_is_not_retried(alice: Caller, anna: Person) -> None:
    people.news(alice.workspace_id)
    reader = people.member(alice.workspace_id)
    run_id = newsroom.launched(alice, newsroom.make_campaign(alice, list="news"))
    newsroom.book(run_id, unavailable)
    origin = Origin("preferences page", "recipient")
    subscriptions.pause(
        alice.workspace_id, contact_id=reader, list_key="news", origin=origin, now=people.NOW
    )

    assert "None can be tried again now: their recipients have paused" in anna.read(page(run_id))
    assert alice.post(f"/v1/runs/{run_id}/retry", {}).body["requeued"] == 0


def test_of_failures_that_are_more_than_one_look_sees_all_are_retried(
    alice: Caller, anna: Person
) -> None:
    mails = retry_outlook.AT_ONCE + 1
    run_id = make_run(alice, mails)

    def count(state: str) -> int:
        return int(alice.get(f"/v1/runs/{run_id}").body["books"]["states"][state])

    while count("waiting"):
        newsroom.book(run_id, unavailable, size=mails)
    assert count("failed") == mails

    anna.post(page(run_id, "retry/"))

    assert count("waiting") == mails


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
    assert take("close") == "closed"
    assert take("retry") == "sending"
    assert take("cancel") == "cancelled"

    noted = AuditEntry.objects.filter(actor=anna.actor).order_by("pk")
    actions = [entry.action.removeprefix("campaign.") for entry in noted]
    assert actions == ["paused", "resumed", "closed", "retried", "cancelled"]


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


def test_a_large_loss_is_typed_before_it_happens_also_if_it_grew_behind_the_question(
    alice: Caller, anna: Person
) -> None:
    press.people(alice.workspace_id, questions.LARGE)
    launched = alice.post(f"/v1/campaigns/{newsroom.make_campaign(alice)}/launch", None)
    run_id = str(launched.body["run_id"])
    asked = anna.read(page(run_id, "cancel/"))
    newsroom.plan(run_id)

    again = anna.post(page(run_id, "cancel/"))
    wrong = anna.post(page(run_id, "cancel/"), shown="1,000", typed="100")
    still = state_of(alice, run_id)
    typed = anna.post(page(run_id, "cancel/"), shown="1,000", typed=" 1000")

    assert "to confirm" not in asked
    assert "Type 1,000 to confirm" in again.content.decode()
    assert (again.status_code, wrong.status_code, still) == (200, 422, "sending")
    assert (typed.status_code, state_of(alice, run_id)) == (302, "cancelled")


def test_a_step_that_came_too_late_says_so_and_changes_nothing(alice: Caller, anna: Person) -> None:
    def take(run_id: str, step: str) -> str:
        answer = anna.client.post(anna.url(page(run_id, step)), follow=True)
        return str(answer.content.decode())

    over = make_run(alice, 1)
    newsroom.book(over, newsroom.taken)
    run_control.end_finished_runs()
    failed = make_run(alice, 0, tag="june")
    newsroom.book(failed, newsroom.refused)

    assert "The run is over: it was sent." in take(over, "pause/")
    assert "Every email has a result already." in take(failed, "cancel/")
    assert state_of(alice, failed) == "open", "its failures can be retried"


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


def test_the_part_that_moves_is_read_alone_and_no_more_when_the_run_is_over(
    alice: Caller, anna: Person
) -> None:
    run_id = make_run(alice, 1)

    part = anna.read(page(run_id, "live/"))
    newsroom.book(run_id, newsroom.taken)
    run_control.end_finished_runs()
    Run.objects.update(ended_at=datetime.now(UTC) - timedelta(hours=1))

    assert part.startswith('<div class="stack stack-page" id="live"')
    assert 'id="trail" hx-preserve="true"' in part
    assert 'hx-trigger="every 1.2s"' in part
    assert 'hx-trigger="every' not in anna.read(page(run_id, "live/"))


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


def test_causes_of_failures_are_said_in_words_before_their_codes(
    alice: Caller, anna: Person
) -> None:
    def has_moved(position: int) -> Entry:
        return entries.invalid(position, code="RECIPIENT_NOT_FOUND", detail="Another address.")

    run_id = make_run(alice)
    newsroom.book(run_id, newsroom.refused, size=2)
    cast.judge(newsroom.stream_of(run_id), has_moved, size=1)
    newsroom.book(run_id, unavailable, size=1)

    text = anna.read(page(run_id))

    told = re.findall(r'class="wide">([^<]*)<span class="sub"><code>([^<]*)</code>', text)
    assert sorted(told) == [
        ("The contact was deleted, or has another address now", "RECIPIENT_NOT_FOUND"),
        ("The mailbox does not exist", "550 5.1.1"),
        ("The provider refused it for good", "554 5.7.1"),
    ]
    assert "code=RECIPIENT_NOT_FOUND" not in text, "another try would fail again"


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
