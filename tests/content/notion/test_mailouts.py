"""The row of a mailout: which property says what, and what may be missing."""

from datetime import UTC, datetime, timedelta, timezone

from postledger.content.notion import mailouts
from postledger.content.notion.mailouts import MailoutPage
from tests.fakes.notion_pages import checkbox, date, mention, number, rich_text, run, state, title

NINE = datetime(2026, 11, 15, 9, tzinfo=timezone(timedelta(hours=1)))


def parse(**properties: object) -> MailoutPage:
    return mailouts.parse({"object": "page", "id": "1", "properties": properties})


def test_a_row_is_read_by_the_names_of_its_properties_as_people_write_them() -> None:
    mailout = parse(
        subject=title("News ", run("of November", bold=True)),
        status=state("Send"),
        is_test=checkbox(checked=True),
        sent_at=date("2026-11-15T09:00:00.000+01:00"),
        sent_count=number(3),
    )
    assert mailout == MailoutPage("1", "News of November", "Send", is_test=True, sent_at=NINE)

    page = {"Status": state("Draft", kind="select"), "Is Test": checkbox(checked=True)}
    mailout = parse(**page, **{"Sent at": date("2026-11-15")})
    assert (mailout.status, mailout.is_test) == ("Draft", True)
    assert mailout.sent_at == datetime(2026, 11, 15, tzinfo=UTC)


def test_the_subject_is_the_property_of_this_name_or_the_title() -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"Name": title("Title")}, "Title"),
        ({"Name": title("Title"), "Subject": rich_text("Subject")}, "Subject"),
        ({"Name": title("Title"), "Subject": rich_text()}, "Title"),
        ({"Name": title("  two\nlines ")}, "two lines"),
        ({"Name": title("For ", mention("user", {}, text="@Bob"))}, "For @Bob"),
        ({"Name": title()}, ""),
        ({"Name": title(" \n")}, ""),
        ({}, ""),
    ]
    for properties, subject in cases:
        assert parse(**properties).subject == subject, properties


def test_what_is_missing_or_of_another_type_is_empty() -> None:
    cases: list[dict[str, object]] = [
        {},
        {"status": state(None), "is_test": checkbox(checked=False), "sent_at": date(None)},
        {"status": None, "is_test": "yes", "sent_at": date("soon")},
        {"status": number(1), "is_test": number(1), "sent_at": number(1)},
    ]
    for properties in cases:
        assert parse(**properties) == MailoutPage("1", "", "", is_test=False, sent_at=None), (
            properties
        )
