"""A worker that is still being loaded ends at a signal, and says nothing."""

import signal
import subprocess
import sys

import pytest

PATIENCE = 120


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_worker_that_is_being_loaded(number: signal.Signals) -> None:
    command = [sys.executable, "-X", "importtime", "-P", "-m", "postledger.config.worker_process"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        # Celery is being loaded, and its worker was not yet.
        assert any("celery.local" in line for line in process.stderr)
        process.send_signal(number)
        _, rest = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert "Traceback" not in rest
