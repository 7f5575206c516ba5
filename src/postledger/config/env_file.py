"""The file `postledger.env`: settings for every command that is started in its folder."""

import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path

from dotenv.parser import Binding, parse_stream

from postledger.config.env import BadEnvironmentError, is_secret, variables

NAME = "postledger.env"
VARIABLE = "POSTLEDGER_ENV"

_INTRODUCTION = """\
# Settings of this installation; docs/reference/settings.md lists all of them.
# Every postledger command that is started in this folder reads this file; the environment wins.
#
# Keep a copy of both secrets, apart from the backups of the database.
# Without SECRET_KEY a restored database sends nothing; without UNSUBSCRIBE_SECRET the unsubscribe
# links in mail that was sent stop working.
"""
# Two names of one setting.
_SAME = {"UNSUB_SECRET": "UNSUBSCRIBE_SECRET"}
# Values that shells, systemd, Docker and python-dotenv read alike without quotes.
_PLAIN = re.compile(r"[\w@%+=:,./?&~-]*", re.ASCII)


def find_path() -> Path | None:
    """The file that POSTLEDGER_ENV names, or the one of this folder; None if it names none."""
    given = os.environ.get(VARIABLE, NAME)
    return Path(given) if given else None


def load(*, may_be_missing: bool) -> None:
    """Adds the settings of the file to the environment, which wins, also by another name.

    The folder may be anybody's, and variables such as PYTHONPATH run code: the file has to be the
    caller's or root's, and it sets nothing but settings.
    """
    path = find_path()
    text = None if path is None else _read(path)
    if path is None or text is None:
        if path is not None and VARIABLE in os.environ and not may_be_missing:
            raise BadEnvironmentError(
                f"{VARIABLE} names {path}, which does not exist."
                " Correct it, or let postledger init create the file."
            )
        return
    given = set(map(_setting, os.environ))
    for name, value in list(_parse(text, path)):
        if _setting(name) not in given:
            os.environ[name] = value


def _setting(name: str) -> str:
    """The setting that a variable is about: NAME_FILE is about NAME."""
    plain = name.removesuffix("_FILE")
    return _SAME.get(plain, plain)


def create(path: Path, values: Mapping[str, str]) -> None:
    """Writes a new file that only its owner can read; an existing one is a FileExistsError.

    It is written beside and then linked: whatever interrupts this, no half of a file is left.
    """
    descriptor, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(render(values))
            file.flush()
            os.fsync(file.fileno())
        os.link(beside, path)
    finally:
        Path(beside).unlink()


def render(values: Mapping[str, str]) -> str:
    """Each variable with its description; one without a value is commented out."""
    described = variables()
    blocks = [
        f"\n# {' '.join(str(described[name].description).split())}\n"
        f"{'' if value else '# '}{name}={_quote(value)}\n"
        for name, value in values.items()
    ]
    return _INTRODUCTION + "".join(blocks)


def _read(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8") as file:
            _check_access(path, os.fstat(file.fileno()))
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadEnvironmentError(
            f"{path} cannot be read ({type(error).__name__})."
            " Make it a text file that this user may read."
        ) from None


def _check_access(path: Path, status: os.stat_result) -> None:
    risk = find_risk(path, owner=status.st_uid, mode=status.st_mode, caller=os.geteuid())
    if risk:
        raise BadEnvironmentError(risk)
    if status.st_mode & stat.S_IROTH:
        sys.stderr.write(
            f"Other users of this machine can read {path}, which has secrets."
            f" Run chmod o= {path}.\n"
        )


def find_risk(path: Path, *, owner: int, mode: int, caller: int) -> str:
    """Why the caller must not obey a file of this owner and mode; empty if it may."""
    if owner not in {caller, 0}:
        return (
            f"{path} belongs to another user, whose settings are not used."
            f" If they are yours, run chown {caller} {path}, or start this as its owner."
        )
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{path} is not used, because others may write it. Run chmod 600 {path}."
    return ""


def _parse(text: str, path: Path) -> Iterator[tuple[str, str]]:
    """Raises an error that names a bad line by its number: the line may hold a secret."""
    known = _list_names()
    for binding in parse_stream(StringIO(text)):
        if binding.error or (binding.key is not None and binding.value is None):
            raise BadEnvironmentError(
                f"Line {_line_number(binding)} of {path} is not NAME=VALUE. Correct it."
            )
        if binding.key is not None and binding.value is not None:
            if binding.key not in known:
                raise BadEnvironmentError(
                    f"Line {_line_number(binding)} of {path} names no setting of Postledger."
                    " Correct the name, or delete the line."
                )
            yield binding.key, binding.value


def _list_names() -> set[str]:
    described = variables()
    return {*described, *(f"{name}_FILE" for name, info in described.items() if is_secret(info))}


def _line_number(binding: Binding) -> int:
    """The parser counts the empty lines before a line as part of it."""
    text = binding.original.string
    return binding.original.line + text[: len(text) - len(text.lstrip())].count("\n")


def _quote(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
