"""The commands: Django's command line with our settings, help and error messages."""

import os
import sys
from typing import override

from django.core.management import BaseCommand, ManagementUtility
from django.db import DatabaseError, InterfaceError

from postledger.config import env, env_file, overview
from postledger.lib.check_results import SETTINGS_TAG
from postledger.observability import metrics_store

_NEED_NO_SETTINGS = (["init"],)


class CommandLine(ManagementUtility):
    """Names of commands may have hyphens, where their modules have underscores."""

    @override
    def fetch_command(self, subcommand: str) -> BaseCommand:
        command = super().fetch_command(subcommand.replace("-", "_"))
        is_ours = type(command).__module__.startswith("postledger.")
        if is_ours and command.requires_system_checks:
            # The settings are the installation's; checks of URLs and models are for who changes
            # the code, and load the whole application.
            command.requires_system_checks = (SETTINGS_TAG,)
        return command

    @override
    def main_help_text(self, commands_only: bool = False) -> str:
        return super().main_help_text(commands_only) if commands_only else overview.text()


def run() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    try:
        env_file.load(may_be_missing=sys.argv[1:2] in _NEED_NO_SETTINGS)
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
