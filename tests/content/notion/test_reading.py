"""How pages are read over the wire: in parts, at a pace, again after trouble, and no further."""

import logging
import traceback

import pytest

from postledger.content.notion import api, as_text, blocks
from postledger.lib.errors import RefusedError
from tests.content.notion.stage import Time, reading
from tests.fakes.notion import TOKEN, FakeNotion, Fault
from tests.fakes.notion_pages import (
    Node,
    bare,
    bullet,
    paragraph,
    synced,
    synced_copy,
    title,
)

NO_PAGE = "99999999-9999-4999-8999-999999999999"
ORIGINAL = "11111111-2222-4333-8444-555555555555"


def refusal(fake: FakeNotion, page_id: str, *, token: str = TOKEN) -> RefusedError:
    with pytest.raises(RefusedError) as caught, reading(fake, token=token) as reader:
        reader.blocks(page_id)
    return caught.value


def nested(levels: int) -> Node:
    node = bullet("deepest")
    for _ in range(levels - 1):
        node = bullet("x", inside=[node])
    return node


def test_a_page_is_read_with_a_version_and_the_token(fake: FakeNotion) -> None:
    page_id = fake.add_page(paragraph("x"), properties={"Name": title("Hello")})

    with reading(fake, token=f"{TOKEN}\n") as reader:  # as somebody pasted it
        mailout = reader.mailout(page_id.replace("-", "").upper())

    [seen] = fake.requests
    assert (mailout.page_id, mailout.subject) == (page_id, "Hello")
    assert (seen.method, seen.path) == ("GET", f"/v1/pages/{page_id}")
    assert seen.headers["notion-version"] == "2026-03-11"
    assert seen.headers["authorization"] == f"Bearer {TOKEN}"


def test_children_are_read_in_parts_at_every_level(fake: FakeNotion) -> None:
    page_id = fake.add_page(bullet("outer", inside=[bullet(str(n)) for n in range(205)]))

    with reading(fake) as reader:
        [outer] = reader.blocks(page_id)

    assert isinstance(outer, blocks.Bullet)
    assert as_text.render(outer.children) == "\n".join(f"- {n}" for n in range(205))
    assert len(fake.requests) == 1 + 3


def test_a_copy_shows_what_its_original_holds_which_must_be_shared_too(fake: FakeNotion) -> None:
    lonely = fake.add_page(synced_copy(ORIGINAL))
    assert refusal(fake, lonely).code == "notion_page_not_found"

    page_id = fake.add_page(synced_copy(ORIGINAL), synced(paragraph("once"), block_id=ORIGINAL))
    with reading(fake) as reader:
        assert as_text.render(reader.blocks(page_id)) == "once\n\nonce"


def test_other_pages_and_hidden_blocks_are_not_entered(fake: FakeNotion) -> None:
    inside = paragraph("x")
    kinds = ("child_page", "child_database", "unsupported", "meeting_notes", "template")
    page_id = fake.add_page(*(bare(kind, inside) for kind in kinds))

    with reading(fake) as reader:
        page_blocks = reader.blocks(page_id)

    assert len(page_blocks) == len(kinds)
    assert len(fake.requests) == 1


@pytest.mark.slow
def test_fifty_levels_and_ten_thousand_blocks_are_read_and_no_more(fake: FakeNotion) -> None:
    deep, deeper = fake.add_page(nested(50)), fake.add_page(nested(51))
    endless = fake.add_page(synced(synced_copy(ORIGINAL), block_id=ORIGINAL))
    long = fake.add_page(*[bare("divider")] * 10_000)
    longer = fake.add_page(*[bare("divider")] * 9_999, bullet("x", inside=[paragraph("y")]))

    with reading(fake) as reader:
        assert as_text.render(reader.blocks(deep)).endswith("deepest")
        assert len(reader.blocks(long)) == 10_000
    for page_id in (deeper, endless, longer):
        assert refusal(fake, page_id).code == "notion_page_too_large"


def test_at_most_three_requests_are_made_in_a_second(fake: FakeNotion) -> None:
    page_id = fake.add_page(*[paragraph("x", inside=[paragraph("y")])] * 9)
    time = Time()

    with reading(fake, time=time) as reader:
        reader.blocks(page_id)

    assert len(fake.requests) == 10
    assert time.now - 1000.0 == pytest.approx(9 / 3)


@pytest.mark.parametrize("fault", [Fault(503, "internal_server_error"), None])
def test_a_reader_with_a_deadline_gives_up_before_it(fake: FakeNotion, fault: Fault | None) -> None:
    page_id = fake.add_page(*[paragraph("x", inside=[paragraph("y")])] * 9)
    fake.faults.extend([fault] * 9 if fault else ())
    time = Time()

    with (
        reading(fake, time=time, patience=2.0) as reader,
        pytest.raises(api.NotionTooSlowError, match="within 2 seconds") as refused,
    ):
        reader.blocks(page_id)

    assert time.now < 1002.0
    assert 1 < len(fake.requests) < 9
    assert refused.value.code == "notion_too_slow"


def test_a_wait_that_notion_asks_for_is_kept_and_others_grow(fake: FakeNotion) -> None:
    page_id = fake.add_page(paragraph("x"))
    cases: list[tuple[str | None, list[float]]] = [
        ("7", [7.0, 7.0, 7.0]),
        *((strange, [1.0, 2.0, 4.0]) for strange in (None, "soon", "-5", "1.5", "²")),
    ]
    for retry_after, slept in cases:
        fake.faults.extend([Fault(429, "rate_limited", retry_after=retry_after)] * 3)
        time = Time()

        with reading(fake, time=time) as reader:
            assert len(reader.blocks(page_id)) == 1

        assert time.slept == slept, retry_after


def test_a_limit_that_lasts_is_refused(fake: FakeNotion) -> None:
    page_id = fake.add_page(paragraph("x"))
    for count, retry_after, request_count in [(5, "2", 5), (1, "61", 1), (1, "9" * 400, 1)]:
        fake.limit_rate(count, retry_after=retry_after)
        fake.requests.clear()

        error = refusal(fake, page_id)

        assert isinstance(error, api.NotionRateLimitedError)
        assert error.code == "notion_rate_limited"
        assert len(fake.requests) == request_count, retry_after


def test_trouble_of_the_server_is_tried_again(fake: FakeNotion) -> None:
    page_id = fake.add_page(paragraph("x"))
    for status in (409, 500, 502, 503, 504, 529):
        fake.faults.extend([Fault(status), Fault(status, "internal_server_error")])
        time = Time()

        with reading(fake, time=time) as reader:
            page_blocks = reader.blocks(page_id)

        assert len(page_blocks) == 1
        assert time.slept == [1.0, 2.0], status

    fake.faults.append(Fault(500, stall=1.0))  # an answer that does not come in time
    time = Time()
    with reading(fake, time=time, seconds=0.5) as reader:
        assert len(reader.blocks(page_id)) == 1
    assert time.slept[0] == 1.0


def test_trouble_of_the_server_that_lasts_is_refused(fake: FakeNotion) -> None:
    page_id = fake.add_page(paragraph("x"))
    fake.fail(5)
    assert refusal(fake, page_id).code == "notion_unreachable"
    assert len(fake.requests) == 5

    gone = FakeNotion("http://127.0.0.1:1")
    assert refusal(gone, NO_PAGE).code == "notion_unreachable"

    fake.faults.extend([Fault(200)] * 100)  # what is no JSON
    assert refusal(fake, page_id).code == "notion_unreachable"


def test_a_refusal_of_notion_is_not_tried_again(fake: FakeNotion) -> None:
    page_id = fake.add_page(paragraph("x"))
    for fault, code in [
        (Fault(401, "unauthorized"), "notion_unauthorized"),
        (Fault(403, "restricted_resource"), "notion_unauthorized"),
        (Fault(404, "object_not_found"), "notion_page_not_found"),
        (Fault(400, "validation_error"), "notion_request_refused"),
        (Fault(302), "notion_request_refused"),
    ]:
        fake.faults.append(fault)
        fake.requests.clear()

        assert refusal(fake, page_id).code == code
        assert len(fake.requests) == 1, fault


def test_what_is_no_id_is_refused_without_a_request(fake: FakeNotion) -> None:
    for page_id in ("", "News", "../users/me", f"{NO_PAGE}x", "1" * 31):
        assert refusal(fake, page_id).code == "notion_page_not_found", page_id
    assert fake.requests == []
    assert refusal(fake, NO_PAGE).code == "notion_page_not_found"  # an id, and no page's


def test_what_cannot_be_a_token_is_refused_without_being_shown(fake: FakeNotion) -> None:
    for token in ("", " ", "ntn_a\nb", "ntn_a b", "ntn_ä", "ntn_\x00", f"Bearer {TOKEN}"):
        error = refusal(fake, NO_PAGE, token=token)

        assert error.code == "notion_unauthorized"
        assert "ntn_" not in "".join(traceback.format_exception(error))
    assert fake.requests == []


def test_the_token_is_in_no_log_and_in_no_error(
    fake: FakeNotion, caplog: pytest.LogCaptureFixture
) -> None:
    codes = {400: "validation_error", 401: "unauthorized", 429: "rate_limited"}
    page_id = fake.add_page(paragraph("x"))
    caplog.set_level(logging.DEBUG)
    for status in (400, 401, 403, 404, 429, 500):
        code = codes.get(status, "internal_server_error")
        fake.faults.clear()
        fake.faults.extend([Fault(status, code, f"You sent Bearer {TOKEN}.")] * 9)

        error = refusal(fake, page_id)

        output = "".join(traceback.format_exception(error)) + repr(error.__dict__) + caplog.text
        assert "httpcore" in caplog.text
        assert TOKEN not in output, status
        assert TOKEN[4:] not in output, status
