"""The paths under /_fake, and the command that starts the fake."""

import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli import installations
from tests.fakes import processes, ses
from tests.fakes.processes import FakeProcess
from tests.fakes.wire import PATIENCE
from tools.fakes.ses.server import FakeSes


def ask(fake: FakeSes | FakeProcess, method: str, path: str, body: object = None) -> Any:
    answer = httpx.request(
        method, f"{fake.endpoint}/_fake/{path}", json=body, timeout=PATIENCE, trust_env=False
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_accepted_mail_can_be_looked_at(fake: FakeSes, client: Any) -> None:
    id_ = client.send_email(**ses.mail())["MessageId"]

    [entry] = ask(fake, "GET", "messages")
    raw = httpx.get(f"{fake.endpoint}/_fake/messages/{id_}", timeout=PATIENCE, trust_env=False)

    assert (entry["message_id"], entry["destination"]) == (id_, [ses.RECIPIENT])
    assert raw.content == ses.RAW


@pytest.mark.slow
def test_the_command_needs_no_installation_and_no_database(tmp_path: Path) -> None:
    command = [
        *(str(installations.POSTLEDGER), "fake-ses", "--port", "0", "--sandbox"),
        *("--identity", ses.DOMAIN, "--configuration-set", "main"),
        *("--eml", str(tmp_path / "eml"), "--journal", str(tmp_path / "journal")),
    ]
    nothing = {
        "DATABASE_URL": f"postgresql://nobody@{installations.DEAD}/none",
        "REDIS_URL": f"redis://{installations.DEAD}/0",
        "SECRET_KEY": "",
        "POSTLEDGER_ENV": str(tmp_path / "missing.env"),
    }
    with processes.start(command, **nothing) as fake:
        client = ses.connect(fake.endpoint)
        sent = client.send_email(**ses.mail("a@acme.example", ConfigurationSetName="main"))
        quota = client.get_account()["SendQuota"]
        fake.process.send_signal(signal.SIGTERM)
        assert fake.process.wait(PATIENCE) == 0

    assert "us-east-1" in fake.introduction
    assert quota == {"Max24HourSend": 200, "MaxSendRate": 1, "SentLast24Hours": 1}
    assert (tmp_path / "eml" / f"{sent['MessageId']}.eml").read_bytes() == ses.RAW
    assert sent["MessageId"] in (tmp_path / "journal").read_text()
