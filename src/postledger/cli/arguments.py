"""Parses arguments of commands: settings, secrets from files, durations and moments."""

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from getpass import getpass
from pathlib import Path

from postledger.observability import masking

type Setting = tuple[str, str | None]

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"(?P<count>[0-9]{1,6})(?P<unit>[mhd])")


def add_settings(parser: ArgumentParser) -> None:
    """Collects --set and --secret in `changes`; Django itself uses the name `settings`."""
    for flag, parse, metavar, help_ in (
        ("--set", parse_setting, "NAME=VALUE", "a setting"),
        (
            "--secret",
            read_secret,
            "NAME=FILE",
            "a secret setting from a file, or from standard input if the file is -",
        ),
    ):
        parser.add_argument(
            flag,
            dest="changes",
            action="append",
            default=[],
            type=parse,
            metavar=metavar,
            help=help_,
        )


def add_setting_changes(parser: ArgumentParser) -> None:
    add_settings(parser)
    parser.add_argument(
        "--unset", dest="changes", action="append", type=lambda name: (name, None), metavar="NAME"
    )
    parser.add_argument("--anew", action="store_true", help="drop all stored settings first")


def parse_setting(text: str) -> Setting:
    name, value = _split_pair(text)
    # The log masks secrets by their names; the same names are secret here.
    if masking.REDACTED in masking.mask_mapping({name: ""}).values():
        raise ArgumentTypeError(
            f"{name} is a secret, and other users can see a command line:"
            f" use --secret {name}=FILE, or {name}=- for standard input"
        )
    return name, value


def read_secret(text: str) -> Setting:
    name, file = _split_pair(text)
    try:
        return name, _read(name, file)
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentTypeError(
            f"the file for {name} cannot be read ({type(error).__name__}):"
            " use the path of a readable text file"
        ) from None


def nest_settings(settings: Iterable[Setting]) -> dict[str, object]:
    """The settings by name; a dot in a name opens a group, as in timeouts.answer=300."""
    nested: dict[str, object] = {}
    for name, value in settings:
        *groups, last = name.split(".")
        current = nested
        for group in groups:
            inner = current.get(group)
            if not isinstance(inner, dict):
                inner = current[group] = {}
            current = inner
        current[last] = value
    return nested


def parse_duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a duration: use the form 30m, 24h or 7d")
    return timedelta(**{_UNITS[match["unit"]]: int(match["count"])})


def parse_moment(text: str) -> datetime:
    """A date and time, or a duration from now."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        return datetime.now(UTC) + parse_duration(text)
    except ArgumentTypeError:
        raise ArgumentTypeError(
            f"{text!r} is not a time: use the form 2026-11-16T08:00, or 30m, 2h or 7d from now"
        ) from None


def _split_pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        # The text is not repeated: it may be a misplaced secret.
        raise ArgumentTypeError("use the form NAME=VALUE, such as host=smtp.example.com")
    return name, value


def _read(name: str, file: str) -> str:
    if file != "-":
        text = Path(file).read_text(encoding="utf-8")
    elif sys.stdin.isatty():
        text = getpass(f"{name}: ")
    else:
        text = sys.stdin.read()
    # Editors and echo end a file with a line break.
    return text.removesuffix("\n").removesuffix("\r")
