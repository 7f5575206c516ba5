"""The guides tell the truth: every command in them is run, and answers what they say."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection

from postledger.accounts import keys
from postledger.accounts.keys import Scope
from tests.fakes import notion
from tests.fakes import notion_pages as pages
from tests.journeys import rig, stage

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = sorted(path.stem for path in (DOCS / "guides").glob("*.md") if path.stem != "README")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What a reader copies from the mail: the links, by their variables.
LINKS = {"CONFIRM_LINK": "/confirm", "NEVER_AGAIN_LINK": "/never-again"}
FIELD = re.compile(r"<input [^>]*\bname=\"(\w+)\"")


# These wait for mail to go out; the others only for answers.
SENDING = {"campaign", "notifications", "sendgrid", "ses", "slices"}
FAKE_PORTS = ("8579", "8580")  # others may use those of the guides


def installation(
    folder: Path, fake: notion.FakeNotion, url: str
) -> AbstractContextManager[rig.Installation]:
    return rig.installation(
        folder,
        stage.database(),
        UNSUBSCRIBE_SECRET="only-for-tests, and long enough here",
        NOTION_URL=fake.url,
        PUBLIC_URL=url,
    )


@pytest.mark.parametrize("guide", GUIDES)
def test_every_command_of_a_guide_does_what_it_says(guide: str, tmp_path: Path) -> None:
    port = rig.free_port()
    url = f"http://127.0.0.1:{port}"
    with notion.running() as fake, installation(tmp_path, fake, url) as installed:
        installed.web(port)
        environment = {"URL": url, **_prepare_environment(installed, fake, tmp_path)}
        if guide in SENDING:
            installed.worker("--beat")
        output, is_problem = "", False
        for kind, text in BLOCK.findall(_read_guide(guide)):
            match kind:
                case "sh":
                    assert not is_problem, output
                    if any(name in text for name in LINKS):
                        environment |= _read_links(environment["EMAIL"])
                    output = _run(text, environment, installed)
                    is_problem = "urn:postledger:problem" in output
                case "json":
                    assert _is_part(json.loads(text), json.loads(output)), output
                    is_problem = is_problem and "status" not in text
                case "text":
                    assert text.strip() in output
                case "html":
                    # A form for another site: its fields are those of the page before it.
                    assert FIELD.findall(text)
                    assert set(FIELD.findall(text)) <= set(FIELD.findall(output))
                case _:
                    pytest.fail(f"a block of kind {kind!r} is not run")
        assert not is_problem, output


def _read_guide(guide: str) -> str:
    text = (DOCS / f"guides/{guide}.md").read_text()
    for port in FAKE_PORTS:
        text = text.replace(port, str(rig.free_port()))
    return text


def _prepare_environment(
    installed: rig.Installation, fake: notion.FakeNotion, folder: Path
) -> Mapping[str, str]:
    owner = stage.sender("default")
    key = keys.create_key(owner.workspace_id, name="guide", scopes=list(Scope), actor="test")
    page = fake.add_page(
        pages.heading(1, "This week"),
        pages.paragraph("Good morning, {{ name }}."),
        properties={"Name": pages.title("Weekly news")},
    )
    (folder / "token.txt").write_text(fake.token)
    test_page = fake.add_page(
        pages.paragraph("Good morning, {{ name }}."),
        properties={"Name": pages.title("Weekly news"), "Is test": pages.checkbox(checked=True)},
    )
    return {
        **installed.environment,
        "PATH": f"{rig.COMMANDS}:{os.environ['PATH']}",
        "KEY": key.token,
        # Mails to one address are counted for a day.
        "EMAIL": f"r{uuid4().hex}@example.com",
        "PAGE": page,
        "TEST_PAGE": test_page,
    }


def _read_links(address: str) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT text FROM deliveries_body"
            ' JOIN deliveries_delivery USING (stream_id, "position") WHERE address = %s',
            [address],
        )
        [(mail,)] = cursor.fetchall()
    return {name: re.findall(rf"http\S+{path}\?\S+", mail)[0] for name, path in LINKS.items()}


def _run(command: str, environment: Mapping[str, str], installed: rig.Installation) -> str:
    if command.endswith("&\n"):
        program, *arguments = shlex.split(command.removesuffix("&\n"))
        installed.start(program, [str(rig.COMMANDS / program), *arguments])
        return ""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        env=environment,
        cwd=installed.folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def _is_part(expected: object, actual: object) -> bool:
    """Whether everything that is expected was found; there may be more."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return all(
            name in actual and _is_part(value, actual[name]) for name, value in expected.items()
        )
    return expected == actual
