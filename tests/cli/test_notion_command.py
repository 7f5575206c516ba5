"""`postledger notion` on a Notion that speaks the protocol, and the pictures it leaves behind."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from postledger.accounts import workspaces
from tests.campaigns import mailouts
from tests.content.notion.stage import PNG
from tests.fakes import notion
from tests.fakes import notion_pages as pages
from tests.fakes.notion import FakeNotion, File

pytestmark = pytest.mark.django_db


@pytest.fixture
def fake(settings: Settings) -> Iterator[FakeNotion]:
    """A Notion that the first workspace is connected to."""
    with notion.running() as running:
        mailouts.connect(settings, running, workspaces.create_workspace("acme", actor="alice"))
        yield running


def render(page_id: str, folder: Path, *more: str) -> list[str]:
    out = StringIO()
    call_command("notion", "render", page_id, "--to", str(folder), *more, stdout=out)
    return out.getvalue().splitlines()


def test_a_page_becomes_two_files_and_its_pictures_are_served(
    fake: FakeNotion, settings: Settings, tmp_path: Path
) -> None:
    settings.PICTURES_FOLDER = str(tmp_path / "pictures")
    settings.PICTURES_URL = "https://mail.example/pictures"
    fake.files["chart.png"] = File(PNG, "image/png")
    page_id = fake.add_page(
        pages.paragraph("Hello {{ name }}, see:"),
        pages.hosted("image", "chart.png", caption=["Figures"]),
        properties={"Name": pages.title("Weekly news")},
    )

    output = render(page_id, tmp_path / "drafts")

    html = (tmp_path / "drafts/page.html").read_text()
    [picture] = (tmp_path / "pictures").iterdir()
    shown = Client().get(f"/pictures/{picture.name}")
    assert output[0] == "Subject: Weekly news"
    assert "Hello {{ name }}, see:" in (tmp_path / "drafts/page.txt").read_text()
    assert f'src="https://mail.example/pictures/{picture.name}"' in html
    assert (shown.status_code, shown["Content-Type"]) == (200, "image/png")
    assert b"".join(shown) == PNG
    assert "immutable" in shown["Cache-Control"]


def test_without_a_place_for_pictures_their_words_are_shown(
    fake: FakeNotion, settings: Settings, tmp_path: Path
) -> None:
    settings.PICTURES_FOLDER = settings.PICTURES_URL = ""
    fake.files["chart.png"] = File(PNG, "image/png")
    page_id = fake.add_page(pages.hosted("image", "chart.png", caption=["Figures"]))

    output = render(page_id, tmp_path)

    assert any(line.startswith("picture_unavailable") for line in output)
    assert "Figures" in (tmp_path / "page.html").read_text()


def test_without_a_notion_the_command_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Run postledger setup"):
        render("a", tmp_path)
    workspaces.create_workspace("acme", actor="alice")

    with pytest.raises(CommandError, match="postledger integration set WORKSPACE notion"):
        render("a", tmp_path)


def test_a_page_of_another_workspace_is_shown_to_who_names_it(
    fake: FakeNotion, settings: Settings, tmp_path: Path
) -> None:
    theirs = fake.beside("ntn_of-globex")
    mailouts.connect(settings, theirs, workspaces.create_workspace("globex", actor="alice"))
    page_id = theirs.add_page(properties={"Name": pages.title("Their news")})

    with pytest.raises(CommandError, match="shared"):
        render(page_id, tmp_path)

    assert render(page_id, tmp_path, "--workspace", "globex")[0] == "Subject: Their news"


@pytest.mark.parametrize(
    "name", ["x.png", "../secret", "0" * 64 + ".svg", "0" * 64 + ".png", "..%2f..%2fetc%2fpasswd"]
)
def test_nothing_but_pictures_is_served(name: str, settings: Settings, tmp_path: Path) -> None:
    settings.PICTURES_FOLDER = str(tmp_path)
    (tmp_path / ("0" * 64 + ".svg")).write_text("<svg/>")

    assert Client().get(f"/pictures/{name}").status_code == 404
