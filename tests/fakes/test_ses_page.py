"""The page about the fake names what it has, and its examples work."""

import re
from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter

from tools.fakes.events.disturbances import Disturbances
from tools.fakes.http import faults
from tools.fakes.http.faults import Rule
from tools.fakes.ses import __main__ as process
from tools.fakes.ses.control import AccountChanges, IdentityState
from tools.fakes.ses.events.outcomes import WORDS, Shares
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import SESSION_KEY_ID, SESSION_TOKEN
from tools.fakes.ses.sns import operations as sns_operations

PAGE = (Path(__file__).parents[2] / "docs/reference/fake-ses.md").read_text()
NAMED = set(re.findall(r"`(/?[\w-]+)`", PAGE))


def test_every_option_is_on_the_page() -> None:
    parser = ArgumentParser(add_help=False)
    process.add_arguments(parser)

    assert {option for action in parser._actions for option in action.option_strings} <= NAMED


def test_every_fault_and_field_is_on_the_page() -> None:
    kinds = get_args(get_args(faults.Fault.__value__)[0])
    classes = [*kinds, Rule, AccountChanges, IdentityState, Disturbances, Shares]

    assert {field.name for kind in classes for field in fields(kind)} - {"fault"} <= NAMED
    assert {kind.kind for kind in (fault(*_required(fault)) for fault in kinds)} <= NAMED


def _required(fault: type) -> list[str]:
    return ["MessageRejected"] if fault is faults.AnswerError else []


def test_the_rules_of_the_example_are_valid() -> None:
    [example] = re.findall(r"/_fake/faults -d '(.*?)'\n", PAGE, re.DOTALL)

    assert len(TypeAdapter(list[Rule]).validate_json(example)) == 3


def test_the_settings_of_events_in_the_examples_are_valid() -> None:
    [events], [reports] = (
        re.findall(rf"/_fake/{name} -d '(.*?)'\n", PAGE) for name in ("events", "reports")
    )

    assert TypeAdapter(Disturbances).validate_json(events).loss == 0.01
    assert TypeAdapter(Shares).validate_json(reports).bounced == 0.06


def test_every_operation_of_sns_and_every_word_of_an_address_is_on_the_page() -> None:
    assert set(re.findall(r"\b[A-Z]\w+", PAGE)) >= sns_operations.NAMES
    assert set(WORDS) == set(re.findall(r"^\| `(\w+)@…`", PAGE, re.MULTILINE))


def test_the_command_begins_as_the_page_shows() -> None:
    command = r"^\$ python -m tools.fakes.ses (.*)\n((?:[A-Z].*\n)+)"
    [(arguments, shown)] = re.findall(command, PAGE, re.MULTILINE)
    parser = ArgumentParser()
    process.add_arguments(parser)
    options = parser.parse_args(arguments.replace(" --journal mails.jsonl", "").split())

    fake = FakeSes(process.build_service(options), options.host, options.port)

    assert process.introduce(fake) == shown
    assert {SESSION_KEY_ID, SESSION_TOKEN} <= NAMED
