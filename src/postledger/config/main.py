"""The `postledger` command: Django's command line, with the settings already named."""

import os
import sys

from django.core.management import execute_from_command_line

from postledger.config import env
from postledger.observability import metrics_store


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    try:
        execute_from_command_line(sys.argv)
    except env.BadEnvironmentError as error:
        sys.exit(str(error))
    finally:
        metrics_store.flush()  # what a command decided is counted too
