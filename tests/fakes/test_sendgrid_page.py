"""The page about the fake SendGrid names what it has, and its examples work."""

import re
from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path

from pydantic import TypeAdapter

from tools.fakes.events.disturbances import Disturbances
from tools.fakes.http.faults import Rule
from tools.fakes.sendgrid import __main__ as process
from tools.fakes.sendgrid.control import AccountChanges, IdentityState, KeyState
from tools.fakes.sendgrid.errors import SendGridError
from tools.fakes.sendgrid.events.outcomes import WORDS, Shares
from tools.fakes.sendgrid.operations.table import SCOPES, TABLE
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import SENDING_KEY, Service

PAGE = (Path(__file__).parents[2] / "docs/reference/fake-sendgrid.md").read_text()
NAMED = set(re.findall(r"`(/?[\w.-]+)`", PAGE))


def test_every_option_field_error_and_key_is_on_the_page() -> None:
    parser = ArgumentParser(add_help=False)
    process.add_arguments(parser)
    classes = [AccountChanges, IdentityState, KeyState, Shares]

    assert {option for action in parser._actions for option in action.option_strings} <= NAMED
    assert {field.name for kind in classes for field in fields(kind)} <= NAMED
    assert set(SendGridError.known) <= NAMED
    assert SENDING_KEY in NAMED


def test_every_operation_and_its_scope_is_on_the_page() -> None:
    shown = set(re.findall(r"^\| `(\w+) (/v3/\S+)` \| `(\w+)` \| (\S+) \|$", PAGE, re.MULTILINE))
    scopes = {name: f"`{scope}`" for name, scope in SCOPES.items()}

    assert shown == {
        (
            route.method,
            f"/v3/{route.path}".replace("{id}", "ID"),
            route.name,
            scopes.get(route.name, "none"),
        )
        for route in TABLE.routes
    }


def test_every_word_of_an_address_and_every_path_is_on_the_page() -> None:
    assert set(WORDS) == set(re.findall(r"^\| `(\w+)@…`", PAGE, re.MULTILINE))
    assert set(re.findall(r"/_fake/([a-z-]+)", PAGE)) == set(FakeSendGrid.controls)


def test_the_examples_are_valid() -> None:
    [rules] = re.findall(r"/_fake/faults -d '(.*?)'\n", PAGE, re.DOTALL)
    [events], [reports] = (
        re.findall(rf"/_fake/{name} -d '(.*?)'\n", PAGE) for name in ("events", "reports")
    )

    assert len(Service().check_rules(TypeAdapter(list[Rule]).validate_json(rules))) == 3
    assert TypeAdapter(Disturbances).validate_json(events).loss == 0.01
    assert TypeAdapter(Shares).validate_json(reports).bounced == 0.06


def test_the_command_begins_as_the_page_shows() -> None:
    command = r"^\$ python -m tools.fakes.sendgrid (.*)\n((?:[A-Z].*\n)+)"
    [(arguments, shown)] = re.findall(command, PAGE, re.MULTILINE)
    parser = ArgumentParser()
    process.add_arguments(parser)
    options = parser.parse_args(arguments.replace(" --journal mails.jsonl", "").split())

    fake = FakeSendGrid(process.build_service(options), options.host, options.port)

    assert process.introduce(fake) == shown
