"""Our mails in what providers write: references that are ours, and Message-IDs."""

import json

from postledger.deliveries import provider_logs
from postledger.deliveries.provider_logs import Mention
from postledger.lib import references
from postledger.lib.ids import DeliveryId

KEYS = references.derive_keys(["a secret of the tests, long enough"])
OTHER_KEYS = references.derive_keys(["somebody else's secret"])
MAIL = DeliveryId(1382979469313, 7)
TRY = DeliveryId(1382979469313, 7, 3)


def read_mentions(*lines: str) -> list[Mention]:
    return list(provider_logs.mentions(lines, KEYS))


def test_a_signed_reference_is_found_wherever_it_stands() -> None:
    reference = references.write(TRY.text(), 4, KEYS[0])
    event = {"eventType": "Delivery", "mail": {"tags": {"postledger_id": [reference]}}}

    assert read_mentions(f"X-Postledger-Id: {reference}\r\n") == [Mention(TRY, 4)]
    assert read_mentions(json.dumps(event)) == [Mention(TRY, 4)]


def test_a_forged_reference_is_passed_over() -> None:
    assert read_mentions(references.write(TRY.text(), 4, OTHER_KEYS[0])) == []


CLEANUP = f"mx postfix/cleanup[1]: 4B21F: message-id=<{MAIL.text()}@acme.example>\n"


def test_a_message_id_is_found_if_postfix_queued_it() -> None:
    for line in (
        "mx postfix/qmgr[2]: 4B21F: from=<news@acme.example>, size=900, nrcpt=1 (queue active)\n",
        "mx postfix/smtp[3]: 4B21F: to=<a@b.example>, relay=none, delay=1, status=deferred (x)\n",
    ):
        assert read_mentions(CLEANUP, line) == [Mention(MAIL, None)]
    for line in (
        "mx postfix/cleanup[1]: 4B21F: milter-reject: END-OF-MESSAGE from x[1.2.3.4]: 5.7.1 no\n",
        "mx postfix/smtpd[4]: lost connection after DATA (12 bytes) from x[1.2.3.4]\n",
        "mx postfix/qmgr[2]: 9C00A: from=<news@acme.example>, size=900, nrcpt=1 (queue active)\n",
    ):
        assert read_mentions(CLEANUP, line) == [], line


def test_a_mail_that_the_provider_could_not_render_was_not_taken() -> None:
    reference = references.write(TRY.text(), 4, KEYS[0])

    assert read_mentions(json.dumps({"eventType": "Rendering Failure", "id": reference})) == []


def test_other_text_mentions_nothing() -> None:
    assert read_mentions("message-id=<1234@example.com>", MAIL.text(), "x" * 2_000_000) == []
