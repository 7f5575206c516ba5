"""The page about the commands shows commands that work, in the order in which it shows them."""

import re
import shlex
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from pydantic import BaseModel

from postledger.accounts import queries
from postledger.accounts.keys import Scope
from postledger.deliveries import entries
from postledger.lib.ids import DeliveryId
from postledger.providers import registry
from tests import cast

SOURCE = Path(__file__).parents[2] / "src/postledger"
PAGE = (Path(__file__).parents[2] / "docs/reference/commands.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = [line for block in BLOCKS for line in block.splitlines()]
# Looks at servers that tests of commands do not need; its own tests run it.
ELSEWHERE = {
    "contacts",
    "doctor",
    "feedback-test",
    "notion",
    "sendgrid",
    "ses",
    "supabase",
}
# They run until they are stopped.
ENDLESS = {"serve", "up", "worker"}


def run(line: str) -> str:
    program, command, *arguments = shlex.split(line)
    assert program == "postledger"
    out = StringIO()
    if command not in ELSEWHERE:
        call_command(command.replace("-", "_"), *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def known_mails() -> dict[str, str]:
    """What the page names, and what is called so here: mails that wait, are in doubt, or failed."""
    held, doubtful = (cast.stream(mails=3, workspace="globex") for _ in range(2))
    failed = cast.stream(mails=2, workspace="globex")
    cast.lose(doubtful)
    cast.pass_grace(doubtful)
    cast.book(failed, lambda position: entries.refused(position, code="550 5.1.1"))
    return {
        "01a2b3c4-d5e6-4f00-8000-000000000000": str(DeliveryId(held, 0).uuid()),
        "01420000-0001-8000-8000-000000000001": str(DeliveryId(doubtful, 0).uuid()),
        "01420000-0001-8000-8000-000000000002": str(DeliveryId(doubtful, 1).uuid()),
        "01420000-0001-8000-8000-000000000009": str(DeliveryId(failed, 0).uuid()),
        "1382979469313": str(held),
        "1382979469314": str(doubtful),
        "1382979469315": str(failed),
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_every_example_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for secret in ("password.txt", "token.txt", "key.txt"):
        Path(secret).write_text("hunter2\n")
    really = known_mails()

    for line in EXAMPLES:
        # In one pass: a number that is meant may be another one that is written.
        written = re.compile("|".join(map(re.escape, really)))
        output = run(written.sub(lambda match: really[match[0]], line))
        if line.startswith("postledger key create acme --name shop"):
            really["pl_live_3kq81xvn"] = output.partition(".")[0]

    acme = queries.workspace_named("acme")
    assert acme
    assert {sender.account and sender.account.name for sender in queries.senders(acme.id)} == {
        "relay",
        "127.0.0.1:2525",
    }
    now = datetime.now(UTC)
    revoked = [key.name for key in queries.keys(acme.id) if key.revoked_at and key.revoked_at < now]
    assert revoked == ["shop"]


def test_every_command_has_an_example() -> None:
    folders = (SOURCE / package / "management/commands" for package in ("cli", "config"))
    commands = {path.stem for folder in folders for path in folder.glob("[a-z]*.py")}

    examples = {line.split()[1].replace("-", "_") for line in EXAMPLES}
    assert examples == commands - ENDLESS


def test_every_kind_setting_and_scope_is_on_the_page() -> None:
    named = set(re.findall(r"`([a-z_:.]+)`", PAGE))

    assert set(registry.KINDS) | {scope.value for scope in Scope} <= named
    for kind in registry.KINDS:
        assert settings_class(kind).model_fields.keys() - {"timeouts"} <= named, kind


def settings_class(kind: str) -> type[BaseModel]:
    """The settings that the provider module of a kind reads."""
    classes: set[type[BaseModel]] = {
        value
        for name, value in vars(registry.load_module(kind)).items()
        if name.endswith("Settings") and issubclass(value, BaseModel)
    }
    [settings] = classes
    return settings
