"""The `postledger` command: answers version and help before anything large is loaded."""

import sys

from postledger.config import overview

_VERSION = ("--version", "version")
_HELP = ("", "--help", "-h", "help")


def main() -> None:
    arguments = " ".join(sys.argv[1:])
    if arguments in _VERSION:
        from importlib.metadata import version

        sys.stdout.write(f"postledger {version('postledger')}\n")
    elif arguments in _HELP:
        sys.stdout.write(f"{overview.text()}\n")
    else:
        from postledger.config import command_line

        command_line.run()
