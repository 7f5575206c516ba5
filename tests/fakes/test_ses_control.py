"""The paths under /_fake, and the command that starts the fake."""

import signal
import sys
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


def test_faults_are_set_added_counted_and_removed(fake: FakeSes, client: Any) -> None:
    error = {"kind": "error", "name": "MessageRejected"}
    ask(fake, "PUT", "faults", [{"fault": error, "recipient": "bob@*", "times": 1}])
    ask(fake, "POST", "faults", [{"fault": {"kind": "delay_answer", "seconds": 0.01}}])

    client.send_email(**ses.mail("ann@example.com"))
    with pytest.raises(client.exceptions.MessageRejected):
        client.send_email(**ses.mail("bob@example.com"))

    shown = ask(fake, "GET", "faults")
    assert [(rule["fault"]["kind"], rule["strikes"]) for rule in shown] == [
        ("error", 1),
        ("delay_answer", 1),
    ]
    assert ask(fake, "DELETE", "faults") == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "faults", [{"fault": {"kind": "error", "name": "Nonsense"}}], 400),
        ("PUT", "faults", [{"fault": {"kind": "nonsense"}}], 400),
        ("PUT", "faults", [{"fault": {"kind": "reset_at_connect"}, "recipient": "a@*"}], 400),
        ("PATCH", "account", {"enforcement_status": "ILL"}, 400),
        ("PUT", "identities/acme.example", {"verification": "MAYBE"}, 400),
        ("GET", "nonsense", None, 404),
        ("GET", "messages/nonsense", None, 404),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(
    fake: FakeSes, method: str, path: str, body: object, status: int
) -> None:
    url = f"{fake.endpoint}/_fake/{path}"
    answer = httpx.request(method, url, json=body, timeout=PATIENCE, trust_env=False)

    assert answer.status_code == status
    assert answer.json()["message"]
    assert ask(fake, "GET", "faults") == []


def test_accepted_mail_can_be_looked_at(fake: FakeSes, client: Any) -> None:
    id_ = client.send_email(**ses.mail())["MessageId"]

    [entry] = ask(fake, "GET", "messages")
    raw = httpx.get(f"{fake.endpoint}/_fake/messages/{id_}", timeout=PATIENCE, trust_env=False)

    assert (entry["message_id"], entry["destination"]) == (id_, [ses.RECIPIENT])
    assert raw.content == ses.RAW


def test_the_account_and_its_identities_can_be_changed(fake: FakeSes, client: Any) -> None:
    ask(fake, "PATCH", "account", {"is_sending_enabled": False, "max_send_rate": 14})
    assert client.get_account()["SendingEnabled"] is False
    assert client.get_account()["SendQuota"]["MaxSendRate"] == 14
    ask(fake, "PATCH", "account", {"sent_by_others": 12, "report_lag": 60})
    assert client.get_account()["SendQuota"]["SentLast24Hours"] == 12

    state = {"verification": "FAILED", "dkim": "TEMPORARY_FAILURE"}
    shown = ask(fake, "PUT", "identities/Globex.example", state)
    assert shown["identities"][1]["name"] == "globex.example"
    identity = client.get_email_identity(EmailIdentity="globex.example")
    assert identity["DkimAttributes"]["Status"] == "TEMPORARY_FAILURE"
    ask(fake, "DELETE", "identities/globex.example")
    with pytest.raises(client.exceptions.NotFoundException):
        client.get_email_identity(EmailIdentity="globex.example")


def test_an_idle_limit_is_set_and_removed(fake: FakeSes) -> None:
    ask(fake, "PUT", "idle-limit", {"shortest": 0.3, "longest": 0.4})
    with ses.Wire(fake.port) as wire:
        assert wire.read_to_end() == b""

    assert ask(fake, "DELETE", "idle-limit") == {}
    assert fake.service.idle_limit is None


@pytest.mark.slow
def test_the_command_needs_no_installation_and_no_database(tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "tools.fakes.ses", "--port", "0", "--sandbox"),
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
