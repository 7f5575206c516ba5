"""A Notion with a table of mailouts and one of errors, and programs that mail its pages."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pytest_django import Settings

from postledger.accounts import integrations
from postledger.accounts.integrations import IntegrationKind
from postledger.campaigns.models import Run
from tests.campaigns import press
from tests.fakes import notion_pages as pages
from tests.fakes.notion import FakeNotion, text_of
from tests.fakes.notion_pages import Node, Schema
from tests.web.callers import Caller, Reply

MAILOUTS = Schema(
    database_id="aaaaaaaa-0000-4000-8000-000000000001",
    data_source_id="bbbbbbbb-0000-4000-8000-000000000001",
)
ERRORS = Schema(
    database_id="aaaaaaaa-0000-4000-8000-000000000002",
    data_source_id="bbbbbbbb-0000-4000-8000-000000000002",
    properties={
        "Name": "title",
        "Type": "select",
        "Email": "email",
        "Error message": "rich_text",
        "Mailout": "rich_text",
        "At": "date",
    },
)


def connect(settings: Settings, fake: FakeNotion, workspace_id: int) -> None:
    """Gives a workspace a token of this Notion, and the table of errors."""
    settings.NOTION_URL = fake.url
    change(workspace_id, token=fake.token, errors=ERRORS.database_id)
    for table in (MAILOUTS, ERRORS):
        fake.add_database(table)


def change(workspace_id: int, **changes: str | None) -> None:
    integrations.set_integration(
        workspace_id, IntegrationKind.NOTION, changes=changes, actor="alice"
    )


def row(subject: str = "Weekly news", *, is_test: bool = False) -> dict[str, object]:
    """A row of the table of mailouts before it is sent."""
    return {
        "Subject": pages.title(subject),
        "Status": pages.state("Ready"),
        "Is test": pages.checkbox(checked=is_test),
        "Sent at": pages.date(None),
        "Sent count": pages.number(None),
        "Failed count": pages.number(None),
    }


def page(fake: FakeNotion, *nodes: Node, properties: Mapping[str, object] | None = None) -> str:
    written = nodes or (pages.paragraph("Good morning, {{ name }}."),)
    return fake.add_page(*written, properties=dict(properties or row()), table=MAILOUTS)


def send(who: Caller, page_id: str, **more: str) -> Reply:
    return who.post("/send-mailout", {"page_id": page_id, **more})


def send_and_plan(who: Caller, page_id: str) -> Run:
    """A page that was mailed, its audience planned."""
    reply = send(who, page_id)
    assert reply.status == 202, reply.body
    return press.planned(UUID(reply.body["run_id"]))


def read_page_row(fake: FakeNotion, page_id: str) -> dict[str, Any]:
    """What stands in the row of a page: status, counts, and whether there is a time."""
    properties: Any = fake.pages[page_id]["properties"]
    return {
        "status": properties["Status"]["status"]["name"],
        "sent": properties["Sent count"]["number"],
        "failed": properties["Failed count"]["number"],
        "has_time": properties["Sent at"]["date"] is not None,
    }


def errors(fake: FakeNotion) -> list[tuple[str, str | None]]:
    """The type and the address of every row in the table of errors."""
    properties: list[Any] = [error["properties"] for error in fake.rows(ERRORS.data_source_id)]
    return [
        (values["Type"]["select"]["name"], values.get("Email", {}).get("email"))
        for values in properties
    ]


def titles(fake: FakeNotion) -> list[str]:
    return [text_of(error["properties"], "Name") for error in fake.rows(ERRORS.data_source_id)]


def reads(fake: FakeNotion, page_id: str) -> int:
    return sum(
        seen.method == "GET" and seen.path == f"/v1/pages/{page_id}" for seen in fake.requests
    )
