"""Writes an event as SendGrid does; the same mail and report always give the same text.

So an event that is posted again after a crash is the same fact, not another one.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import blake2b

from tools.fakes.sendgrid.events.outcomes import Event, Outcome, Report
from tools.fakes.sendgrid.events.reported_mail import ReportedMail

type _Detail = Mapping[str, object]

_IP = "192.0.2.50"
_BROWSER = {"useragent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64)", "ip": "198.51.100.7"}
_GROUP = {**_BROWSER, "url": "https://www.acme.example/", "asm_group_id": 10}
_TAKEN = {"response": "250 2.0.0 OK", "ip": _IP, "tls": 1}
_DETAILS: Mapping[Event, _Detail] = {
    Event.PROCESSED: {},
    Event.DEFERRED: {"response": "421 4.7.0 try again later", "attempt": "1", "ip": _IP},
    Event.DELIVERED: _TAKEN,
    Event.OPEN: {**_BROWSER, "sg_machine_open": False, "sg_content_type": "html"},
    Event.CLICK: {
        **_BROWSER,
        "url": "https://www.acme.example/offer",
        "url_offset": {"index": 0, "type": "html"},
    },
    Event.SPAM_REPORT: {},
    Event.UNSUBSCRIBE: {},
    Event.GROUP_UNSUBSCRIBE: _GROUP,
    Event.GROUP_RESUBSCRIBE: _GROUP,
}
# Of events that differ by what became of the mail.
_BY_OUTCOME: Mapping[Outcome, _Detail] = {
    Outcome.BOUNCED: {
        "reason": "550 5.1.1 unknown recipient",
        "status": "5.1.1",
        "type": "bounce",
        "bounce_classification": "Invalid Address",
        "ip": _IP,
        "tls": 1,
    },
    Outcome.BLOCKED: {
        "reason": "550 5.7.1 blocked",
        "status": "5.7.1",
        "type": "blocked",
        "bounce_classification": "Reputation",
    },
    Outcome.DROPPED: {"reason": "Bounced Address", "status": "5.0.0"},
    Outcome.SPAM_CONTENT: {"reason": "Spam Content", "status": "5.0.0"},
}
# Only what is said before a mail is delivered, or with that, names it by its SMTP id.
_WITH_SMTP_ID = frozenset(
    (Event.PROCESSED, Event.DROPPED, Event.DEFERRED, Event.DELIVERED, Event.BOUNCE)
)


def write(mail: ReportedMail, report: Report, *, is_repetition: bool = False) -> bytes:
    """One element of a post; a repetition has another `sg_event_id`."""
    is_by_outcome = report.event in {Event.BOUNCE, Event.DROPPED}
    detail = _BY_OUTCOME[report.outcome] if is_by_outcome else _DETAILS[report.event]
    smtp_id = {"smtp-id": f"<{mail.message_id}@geopod-ismtpd-1>"}
    document = {
        "email": report.recipient,
        "timestamp": int((mail.at + report.delay).timestamp()),
        **(smtp_id if report.event in _WITH_SMTP_ID else {}),
        "event": report.event.value,
        **({"category": mail.categories} if mail.categories else {}),
        "sg_event_id": _write_event_id(mail, report, is_repetition=is_repetition),
        "sg_message_id": f"{mail.message_id}.recvd-5d8c7b6f9-abcde-1-6633F1A8-1B.{report.place}",
        **detail,
        # Last: one with the name of a field of SendGrid's own takes its place.
        **mail.custom_args[report.place],
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _write_event_id(mail: ReportedMail, report: Report, *, is_repetition: bool) -> str:
    fact = f"{mail.message_id} {report.place} {report.event} {is_repetition}"
    digest = blake2b(fact.encode(), digest_size=16).digest()
    return f"{report.event.value}-{urlsafe_b64encode(digest).decode().rstrip('=')}"
