"""An operator's desk: commands as they are typed, and what they leave behind."""

import os
import pwd
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from postledger.accounts.models import AuditEntry

ME = f"command line ({pwd.getpwuid(os.getuid()).pw_name})"
# Moments differ from run to run.
_MOMENT = re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC")


def run(*arguments: str) -> list[str]:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return timeless(out.getvalue()).splitlines()


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    return timeless(str(refused.value))


def timeless(text: str) -> str:
    return _MOMENT.sub("NOW", text)


def trail() -> list[tuple[str, str, str, str, dict[str, object]]]:
    entries = AuditEntry.objects.order_by("pk")
    return list(entries.values_list("workspace__name", "actor", "action", "subject", "data"))
