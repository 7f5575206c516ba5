"""The file `postledger.env`: settings for every command that is started in its folder."""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from tempfile import NamedTemporaryFile

from dotenv.parser import Binding, parse_stream

from postledger.config.env import BadEnvironmentError, variables

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
# Values that shells, systemd, Docker and python-dotenv read alike without quotes.
_PLAIN = re.compile(r"[\w@%+=:,./?&~-]*", re.ASCII)


def find_path() -> Path | None:
    """The file that POSTLEDGER_ENV names, or the one of this folder; None if it names none."""
    given = os.environ.get(VARIABLE, NAME)
    return Path(given) if given else None


def load(*, may_be_missing: bool) -> None:
    """Adds the variables of the file to the environment, which wins, also by a NAME_FILE."""
    path = find_path()
    text = None if path is None else _read(path)
    if path is None or text is None:
        if path is not None and VARIABLE in os.environ and not may_be_missing:
            raise BadEnvironmentError(
                f"{VARIABLE} names {path}, which does not exist."
                " Correct it, or let postledger init create the file."
            )
        return
    given = {_plain_name(name) for name in os.environ}
    for name, value in _parse(text, path):
        if _plain_name(name) not in given:
            os.environ[name] = value


def _plain_name(name: str) -> str:
    """The same for all names of one setting."""
    name = name.removesuffix("_FILE")
    return "UNSUBSCRIBE_SECRET" if name == "UNSUB_SECRET" else name


def create(path: Path, values: Mapping[str, str]) -> None:
    """Writes a new file that only its owner can read; an existing one is a FileExistsError.

    It appears as a whole: nobody reads half of it, also after a crash.
    """
    with NamedTemporaryFile("w", dir=path.parent, prefix=f".{NAME}-", encoding="utf-8") as file:
        file.write(render(values))
        file.flush()
        os.fsync(file.fileno())
        os.link(file.name, path)


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
            if VARIABLE not in os.environ:
                _refuse_foreign(path, os.fstat(file.fileno()))
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise BadEnvironmentError(
            f"{path} cannot be read ({type(error).__name__})."
            " Make it a text file that this user may read."
        ) from None


def _refuse_foreign(path: Path, status: os.stat_result) -> None:
    """The folder may be anybody's, and the variables decide which code is run."""
    if status.st_uid not in {0, os.geteuid()} or status.st_mode & stat.S_IWOTH:
        raise BadEnvironmentError(
            f"{path} in this folder belongs to another user, or every user may change it, so it is"
            f" not read. Change its owner or mode, or name it by {VARIABLE} if you trust it."
        )


def _parse(text: str, path: Path) -> Iterator[tuple[str, str]]:
    """Raises an error that names a bad line by its number: the line may hold a secret."""
    for binding in parse_stream(StringIO(text)):
        if binding.error or (binding.key is not None and binding.value is None):
            raise BadEnvironmentError(
                f"Line {_line_number(binding)} of {path} is not NAME=VALUE. Correct it."
            )
        if binding.key is not None and binding.value is not None:
            yield binding.key, binding.value


def _line_number(binding: Binding) -> int:
    """The parser counts the empty lines before a line as part of it."""
    text = binding.original.string
    return binding.original.line + text[: len(text) - len(text.lstrip())].count("\n")


def _quote(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
