"""Reads what people give to a command: settings, secrets from files, and lengths of time."""

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable
from datetime import timedelta
from getpass import getpass
from pathlib import Path

from postledger.observability import masking

type Setting = tuple[str, str | None]

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"(?P<count>[0-9]{1,6})(?P<unit>[mhd])")


def add_settings(parser: ArgumentParser) -> None:
    """Whichever way a setting is given, it becomes one of `changes`.

    Not `settings`: that name is Django's own on every command line.
    """
    parser.add_argument(
        "--set",
        dest="changes",
        action="append",
        default=[],
        type=plain,
        metavar="NAME=VALUE",
        help="a setting of the provider",
    )
    parser.add_argument(
        "--secret",
        dest="changes",
        action="append",
        default=[],
        type=secret,
        metavar="NAME=FILE",
        help="a secret setting, read from a file, or from standard input when the file is -",
    )


def plain(text: str) -> Setting:
    name, value = _pair(text)
    # What the log takes for a secret by its name is one here too.
    if masking.REDACTED in masking.mask_mapping({name: ""}).values():
        raise ArgumentTypeError(
            f"{name} is a secret, and a command line is seen and remembered:"
            f" give it with --secret {name}=FILE, or {name}=- for standard input"
        )
    return name, value


def secret(text: str) -> Setting:
    name, file = _pair(text)
    try:
        return name, _read(name, file)
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentTypeError(
            f"the file for {name} cannot be read ({type(error).__name__}):"
            " give the path of a readable text file"
        ) from None


def removed(name: str) -> Setting:
    return name, None


def tree(settings: Iterable[Setting]) -> dict[str, object]:
    """The settings by name; a dot in a name leads into a group, as in timeouts.answer=300."""
    placed: dict[str, object] = {}
    for name, value in settings:
        *groups, last = name.split(".")
        place = placed
        for group in groups:
            inner = place.get(group)
            if not isinstance(inner, dict):
                inner = place[group] = {}
            place = inner
        place[last] = value
    return placed


def duration(text: str) -> timedelta:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is not a length of time: write it as 30m, 24h or 7d")
    return timedelta(**{_UNITS[found["unit"]]: int(found["count"])})


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        # The text is not repeated: it may be a secret in the wrong place.
        raise ArgumentTypeError("write a setting as NAME=VALUE, such as host=smtp.example.com")
    return name, value


def _read(name: str, file: str) -> str:
    if file != "-":
        text = Path(file).read_text(encoding="utf-8")
    elif sys.stdin.isatty():
        text = getpass(f"{name}: ")
    else:
        text = sys.stdin.read()
    # Editors and echo end a file with a line break that nobody means.
    return text.removesuffix("\n").removesuffix("\r")
