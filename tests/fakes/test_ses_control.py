"""The mail that the fake has taken can be looked at, over HTTP and on a disk."""

import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes import ses
from tests.fakes.wire import PATIENCE
from tools.fakes.ses.server import FakeSes


def test_accepted_mail_can_be_looked_at(fake: FakeSes, client: Any) -> None:
    id_ = client.send_email(**ses.mail())["MessageId"]

    url = f"{fake.endpoint}/_fake/messages"
    [entry] = httpx.get(url, timeout=PATIENCE, trust_env=False).json()
    raw = httpx.get(f"{url}/{id_}", timeout=PATIENCE, trust_env=False)

    assert (entry["message_id"], entry["destination"]) == (id_, [ses.RECIPIENT])
    assert raw.content == ses.RAW


@pytest.mark.slow
def test_as_a_program_it_stores_what_it_takes_and_ends_when_it_is_told(tmp_path: Path) -> None:
    options = ["--sandbox", "--configuration-set", "main", "--eml", str(tmp_path / "eml")]
    with ses.running(*options, journal=tmp_path / "journal") as fake:
        client = ses.connect(fake.endpoint)
        sent = client.send_email(**ses.mail("a@acme.example", ConfigurationSetName="main"))
        quota = client.get_account()["SendQuota"]
        fake.process.send_signal(signal.SIGTERM)
        assert fake.process.wait(PATIENCE) == 0

    assert "us-east-1" in fake.introduction
    assert quota == {"Max24HourSend": 200, "MaxSendRate": 1, "SentLast24Hours": 1}
    assert (tmp_path / "eml" / f"{sent['MessageId']}.eml").read_bytes() == ses.RAW
    assert sent["MessageId"] in (tmp_path / "journal").read_text()
