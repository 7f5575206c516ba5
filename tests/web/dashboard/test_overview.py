"""The overview: its figures are those of the API, its links lead to what they count."""

import re
from datetime import UTC, datetime

import pytest

from postledger.alerts.detection import Cause
from postledger.alerts.models import Alert
from postledger.deliveries import entries, ledger
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.reasons import Reason
from tests import cast, round_trips
from tests.web.callers import Caller
from tests.web.dashboard.visitors import Person

pytestmark = pytest.mark.django_db


def show(visitor: Person, path: str = "") -> str:
    answer = visitor.client.get(visitor.url(path))
    assert answer.status_code == 200
    return str(answer.content.decode())


def read_books(page: str) -> dict[str, int]:
    """The terms of the balance, from its table."""
    rows = re.findall(r'<tr (?:class="total"|data-state="(\w+)") .*?</tr>', page)
    cells = re.findall(r'<tr (?:class="total"|data-state="\w+") (.*?)</tr>', page)
    numbers = [re.search(r'class="num"[^>]*>([\d,]+)<', cell) for cell in cells]
    return {
        name or "planned": int(number[1].replace(",", ""))
        for name, number in zip(rows, numbers, strict=True)
        if number
    }


def test_the_books_of_today_are_those_of_the_api_and_lead_to_their_lists(
    alice: Caller, olivia: Person
) -> None:
    stream_id = cast.stream(mails=30)
    cast.book(stream_id, lambda at: entries.accepted(at, message_id=f"m{at}"))
    cast.book(stream_id, lambda at: entries.refused(at, code="550"), size=4)

    page = show(olivia)

    books = read_books(page)
    told = alice.get("/v1/overview").body["day"]
    assert books == {"planned": told["planned"], **told["states"]}
    counted = [books[state] for state in ("planned", "accepted", "failed", "waiting")]
    assert counted == [30, 10, 4, 16]
    assert sum(books.values()) == 2 * books["planned"]
    assert "Balanced at" in page
    [accepted_url] = set(re.findall(r'href="([^"]*state=accepted)"', page))
    listed = olivia.client.get(accepted_url.replace("&amp;", "&")).content.decode()
    assert listed.count("<tr role") == 10


def test_books_that_a_recount_finds_wrong_are_said_to_be_wrong(olivia: Person) -> None:
    cast.stream(mails=1)
    now = datetime.now(UTC)
    Alert.objects.create(
        workspace_id=olivia.workspace_id,
        cause=Cause.BOOKS_UNBALANCED.value,
        first_at=now,
        last_at=now,
        opened_at=now,
        told_at=now,
        count=1,
    )

    page = show(olivia)

    assert "The books do not balance." in page
    assert "Balanced at" not in page
    assert 'class="balance-sum off"' in page


def test_what_needs_a_person_is_counted_once_for_the_page_and_the_frame(olivia: Person) -> None:
    stream_id = cast.stream(mails=5)
    cast.book(stream_id, lambda at: entries.in_doubt(at, detail="reset"), size=2)
    cast.book(stream_id, lambda at: entries.refused(at, code="550"), size=3)
    cast.block()

    page = show(olivia)

    for told in (
        "3 things need you.",
        f'href="{olivia.url("attention/")}#in-doubt">2 emails in doubt</a>',
        "3 failed emails, 1 cause</a>",
        "1 held sender</a>",
        'class="count">3<',
    ):
        assert told in page


def test_what_waits_says_why_with_the_words_of_the_api(alice: Caller, olivia: Person) -> None:
    stream_id = cast.stream(StreamKind.TRANSACTIONAL, mails=2)
    ledger.hold(stream_id, reason=Reason.PAUSED, actor="bob", detail="<b>the fair</b>", until=None)

    page = show(olivia)

    [cause] = alice.get(f"/v1/why/{stream_id}").body["causes"]
    assert "A person paused it (&lt;b&gt;the fair&lt;/b&gt;)." in page
    assert cause["resumed_by"] in page
    assert f'href="{olivia.url("messages/")}?stream={stream_id}&amp;state=waiting">2</a>' in page


def test_the_part_that_moves_is_refreshed_whole_and_alone(olivia: Person) -> None:
    cast.stream(mails=3)

    page, part = show(olivia), show(olivia, "live/")

    assert f'hx-get="{olivia.url("live/")}"' in page
    assert "<html" not in part
    assert read_books(part) == read_books(page)


def test_mail_of_another_workspace_is_nowhere_on_the_page(olivia: Person) -> None:
    stream_id = cast.stream(workspace="globex", mails=7)
    cast.book(stream_id, lambda at: entries.in_doubt(at, detail="reset"), size=2)
    cast.block("globex")

    page = show(olivia)

    assert read_books(page)["planned"] == 0
    assert "need you" not in page
    assert "globex" not in page


def test_the_page_needs_few_queries_however_much_is_held(olivia: Person) -> None:
    for _ in range(12):
        stream_id = cast.stream(mails=4)
        cast.book(stream_id, lambda at: entries.in_doubt(at, detail="reset"), size=1)
        cast.book(stream_id, lambda at: entries.refused(at, code="550"), size=1)
        ledger.hold(stream_id, reason=Reason.CONTENT_BROKEN, actor="dispatcher")
    cast.block()

    show(olivia)  # statements are prepared, and the session notes the workspace
    with round_trips.counted() as asked:
        show(olivia)

    assert 0 < asked() <= 30
