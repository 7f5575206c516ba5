"""`postledger fence`, as an operator types it after a restore."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from postledger.accounts import sealing
from postledger.contacts import unsubscribe_links
from postledger.contacts.models import Contact
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from postledger.deliveries import ledger
from postledger.deliveries.entries import StreamKind
from postledger.deliveries.states import State
from postledger.lib import references
from postledger.lib.ids import DeliveryId
from tests import cast, epochs
from tests.cli.command_line import refusal, run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _own_epoch() -> Iterator[None]:
    yield from epochs.kept()


def test_show_tells_what_is_lost_and_what_to_do() -> None:
    stream_id = cast.stream(mails=3)
    before = run("fence", "show")
    epochs.fall()

    output = run("fence", "show")

    assert before == ["Not fenced: mail is sent (epoch 1)."]
    assert output[0].startswith("Fenced since ")
    assert "this database was restored, promoted or copied" in output[0]
    assert output[1].startswith("Lost time: from ")
    assert output[2] == (
        f"{stream_id}  campaign  “News”  waiting: 0  in doubt because of the lost time: 3"
    )
    assert output[-1] == "postledger fence lift STREAM, or lift --all. See docs/runbook/restore.md."


def test_logs_of_the_lost_time_end_doubts(tmp_path: Path) -> None:
    stream_id = cast.stream(mails=3)
    epochs.fall()
    key, *_ = sealing.reference_keys()
    (tmp_path / "events").write_text(
        references.write(DeliveryId(stream_id, 0, 1).text(), 1, key) + "\n"
    )
    (tmp_path / "mail.log").write_text(
        f"postfix/cleanup[9]: A1B2: message-id=<{DeliveryId(stream_id, 2).text()}@acme.example>\n"
        "postfix/qmgr[8]: A1B2: from=<news@acme.example>, size=900, nrcpt=1 (queue active)\n"
    )

    output = run("fence", "evidence", str(tmp_path / "events"), str(tmp_path / "mail.log"))

    assert output == ["The files mention 2 mails; 2 of them were in doubt and are now accepted."]
    assert cast.states(stream_id) == {0: State.ACCEPTED, 1: State.IN_DOUBT, 2: State.ACCEPTED}


def test_campaigns_are_lifted_after_unsubscribes_were_imported(
    tmp_path: Path, settings: LazySettings
) -> None:
    settings.UNSUBSCRIBE_SECRET = "a secret of the tests, long enough"
    stream_id = cast.stream(mails=1)
    owner = cast.sender().workspace_id
    contact = Contact.objects.create(workspace_id=owner, address="alice@example.com")
    wish = UnsubscribeRequest("alice@example.com", workspace_id=owner)
    token = unsubscribe_links.sign_token(wish, secret=settings.UNSUBSCRIBE_SECRET.encode())
    log = tmp_path / "access.log"
    log.write_text(
        f'9.9.9.9 - - [16/Nov/2026] "POST /unsubscribe?token={token} HTTP/1.1" 200 11\n'
        '9.9.9.9 - - [16/Nov/2026] "POST /unsubscribe?token=forged.word HTTP/1.1" 400 11\n'
    )
    epochs.fall()

    refused = refusal("fence", "lift", str(stream_id))
    output = run("fence", "unsubscribes", str(log))
    lifted = run("fence", "lift", str(stream_id))

    assert "it would mail people who unsubscribed in the lost time" in refused
    assert output == ["Imported unsubscribes: 1."]
    assert lifted == [
        f"Stream {stream_id} sends again.",
        "New streams stay fenced until lift --all.",
    ]
    contact.refresh_from_db()
    assert contact.state == "unsubscribed"


def test_lifting_all_leaves_campaigns_fenced_unless_that_is_said() -> None:
    campaign, single = cast.stream(), cast.stream(StreamKind.TRANSACTIONAL)
    epochs.fall()

    output = run("fence", "lift", "--all")
    cast.enqueue(single, [1])
    kept = ledger.fenced_streams()
    everything = run("fence", "lift", "--all", "--without-consent")

    assert output == ["The fence is lifted. Campaigns stay fenced: see postledger fence show."]
    assert kept == [campaign]
    assert everything == ["The fence is lifted."]
    assert not ledger.current_epoch().is_fenced


def test_files_without_an_unsubscribe_restore_no_consent(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    epochs.fall()

    refused = refusal("fence", "unsubscribes", str(tmp_path / "empty"))

    assert refused.startswith("These files contain no unsubscribe of this installation.")
    assert ledger.current_epoch().consent_restored_at is None


def test_lifting_needs_streams_or_all() -> None:
    assert refusal("fence", "lift") == "Name the streams, or use --all."


def test_a_file_that_cannot_be_read_is_named() -> None:
    assert "/nowhere cannot be read" in refusal("fence", "evidence", "/nowhere")
