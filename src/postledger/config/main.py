"""The `postledger` command: Django's command line with our settings, help and error messages."""

import os
import sys
from importlib.metadata import version
from typing import override

from django.core.management import BaseCommand, ManagementUtility, get_commands, load_command_class
from django.db import DatabaseError, InterfaceError

from postledger.config import env, env_file
from postledger.lib.check_results import SETTINGS_TAG
from postledger.observability import metrics_store

_NEED_NO_SETTINGS = (["init"],)


class CommandLine(ManagementUtility):
    """Names of commands may have hyphens, where their modules have underscores."""

    @override
    def fetch_command(self, subcommand: str) -> BaseCommand:
        command = super().fetch_command(subcommand.replace("-", "_"))
        if _is_ours(type(command).__module__) and command.requires_system_checks:
            # The settings are the installation's; checks of URLs and models are for who changes
            # the code, and load the whole application.
            command.requires_system_checks = (SETTINGS_TAG,)
        return command

    @override
    def main_help_text(self, commands_only: bool = False) -> str:
        """Our commands with one line each; Django's own by name only."""
        if commands_only:
            return super().main_help_text(commands_only)
        apps = get_commands()
        ours = sorted(name for name, app in apps.items() if _is_ours(app))
        lines = {name.replace("_", "-"): load_command_class(apps[name], name).help for name in ours}
        return "\n".join(
            [
                f"Usage: {self.prog_name} COMMAND [OPTIONS]",
                f"       {self.prog_name} COMMAND --help",
                "",
                "Commands:",
                *(f"  {name:<14}{help_}" for name, help_ in lines.items()),
                "",
                f"Django's own commands: {', '.join(sorted(set(apps) - set(ours)))}.",
            ]
        )


def _is_ours(module: str) -> bool:
    return module.startswith("postledger.")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["version"]):
        sys.stdout.write(f"postledger {version('postledger')}\n")
        return
    try:
        env_file.load(may_be_missing=arguments[:1] in _NEED_NO_SETTINGS)
        CommandLine(sys.argv).execute()
    except env.BadEnvironmentError as error:
        sys.exit(str(error))
    except (DatabaseError, InterfaceError) as error:
        message = _explain(error)
        if message is None:
            raise
        sys.exit(message)
    finally:
        metrics_store.flush()  # what a command decided is counted too


def _explain(error: DatabaseError | InterfaceError) -> str | None:
    from postledger.cli import database_errors  # after the settings, which it needs

    return database_errors.explain(error)
