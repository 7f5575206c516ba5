"""A web server ends at every signal, however early it comes."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

from tests.cli import installations
from tests.journeys import rig

PATIENCE = 600

# Granian registers its handlers, and the event loop does not run yet: the signal comes between.
EARLY_SIGNAL = """
import os, signal, sys
from granian import _signals

register, number = _signals.set_loop_signals, sys.argv.pop()

def register_and_be_told_to_end(loop):
    event = register(loop)
    os.kill(os.getpid(), getattr(signal, number))
    return event

_signals.set_loop_signals = register_and_be_told_to_end

from postledger.config import web_process
web_process.main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_between_granians_handlers_and_its_event_loop_is_not_lost(number: str) -> None:
    port = str(rig.free_port())
    done = subprocess.run(
        [sys.executable, "-P", "-c", EARLY_SIGNAL, "--port", port, number],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "postledger.config.settings",
            "DATABASE_URL": installations.database_url(),
            "SECRET_KEY": settings.SECRET_KEY,
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    # One of its processes ended, and the server ends with it.
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
