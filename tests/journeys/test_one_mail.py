"""One mail all the way: a request, the ledger, a worker, a real SMTP server."""

import statistics
import subprocess
import time
from pathlib import Path

import pytest

from postledger.accounts import keys
from postledger.accounts.keys import Scope
from postledger.accounts.models import Sender
from postledger.deliveries import audit
from tests.journeys import post, rig, stage

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def client(installed: rig.Installation, owner: Sender) -> post.Client:
    port = rig.free_port()
    installed.web(port)
    made = keys.create_key(owner.workspace_id, name="shop", scopes=list(Scope), actor="test")
    return post.Client(f"http://127.0.0.1:{port}", made.token)


@pytest.mark.sample
def test_a_mail_sent_by_request_arrives_at_a_real_server_within_two_seconds(
    tmp_path: Path,
) -> None:
    with post.mailbox() as box, rig.installation(tmp_path, stage.database()) as installed:
        owner = stage.sender("acme", "smtp", host="127.0.0.1", port=box.port, tls="none")
        shop = client(installed, owner)
        installed.worker("--beat")

        answer, took = _arrives_after(
            shop,
            box,
            to={"email": "alice@example.com", "name": "Alice Ångström"},
            subject="Your order № 7 is on its way",
            html="<p>Hello Alice, <b>it left today</b>.</p>",
            text="Hello Alice, it left today.",
            reply_to="help@acme.example",
            tags=["order"],
            headers={"X-Order": "7"},
            attachments=[
                {"filename": "bill.txt", "content_type": "text/plain", "content": "NyBldXJv"}
            ],
        )
        # What the installation can do, not what the machine happened to do beside it.
        times = [took]
        for number in range(2):
            plain = {"to": f"r{number}@example.com", "subject": "Order", "html": "<p>Thanks</p>"}
            times.append(_arrives_after(shop, box, **plain)[1])

        id_ = str(answer.body["id"])
        rig.until(lambda: shop.ask(f"/v1/email/{id_}").body["state"] == "accepted", seconds=60)
        explanation = subprocess.run(
            [rig.COMMANDS / "postledger", "why", id_],
            env=installed.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    [(_, envelope), *_] = box.envelopes
    [mail, *_] = box.mails()
    assert answer.status == 202
    assert min(times) < 2, times
    assert len(box.envelopes) == 3
    assert envelope.rcpt_tos == ["alice@example.com"]
    assert mail["To"] == "Alice Ångström <alice@example.com>"
    assert mail["From"] == "news@acme.example"
    assert mail["Reply-To"] == "help@acme.example"
    assert mail["Subject"] == "Your order № 7 is on its way"
    assert mail["X-Order"] == "7"
    assert mail["Message-ID"] == f"<{id_}@acme.example>"
    assert mail.get_body(("html",)).get_content().strip() == (  # type: ignore[union-attr]
        "<p>Hello Alice, <b>it left today</b>.</p>"
    )
    assert mail.get_body(("plain",)).get_content().strip() == "Hello Alice, it left today."  # type: ignore[union-attr]
    assert [part.get_content() for part in mail.iter_attachments()] == ["7 euro"]
    assert "It was accepted as" in explanation


def _arrives_after(
    shop: post.Client, box: post.Mailbox, **mail: object
) -> tuple[post.Answer, float]:
    """The answer to a request, and seconds from it until the mail was at the server."""
    before, asked_at = len(box.envelopes), time.monotonic()
    answer = shop.send(**mail)
    rig.until(lambda: len(box.envelopes) > before, every=0.01)
    return answer, box.envelopes[-1][0] - asked_at


def test_a_bulk_stream_under_way_does_not_hold_up_another_workspaces_single_mails(
    tmp_path: Path,
) -> None:
    mails, journal = 200_000, tmp_path / "journal"
    bulk = stage.bulk(stage.sender("globex"), mails)

    with rig.installation(tmp_path, stage.database()) as installed:
        shop = client(installed, stage.sender("acme", journal=str(journal)))
        installed.worker("--beat")
        installed.worker()
        rig.until(lambda: stage.count(bulk) > 1000)
        waits = [_handed_over_after(shop, journal, number) for number in range(20)]
        still_busy = stage.count(bulk) < mails

    assert still_busy, "the bulk stream ended too early to prove anything"
    # Behind the bulk they would have waited for minutes.
    assert statistics.median(waits) < 2, sorted(waits)
    assert max(waits) < 20, sorted(waits)
    assert audit.audit(bulk).discrepancies == []


def _handed_over_after(shop: post.Client, journal: Path, number: int) -> float:
    """Seconds from the request until the provider had the mail."""
    asked_at = time.monotonic()
    answer = shop.send(to=f"s{number}@example.com", subject="Order", html="<p>Thanks</p>")
    assert answer.status == 202
    rig.until(
        lambda: journal.exists() and f" s{number}@example.com" in journal.read_text(), every=0.01
    )
    waited = time.monotonic() - asked_at
    time.sleep(0.1)
    return waited
