"""Writes an event as SES does; the same mail and report always give the same text.

So an event that is published again after a crash is the same fact, not another one.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import assert_never
from uuid import UUID

from tools.fakes.ses.events.outcomes import Event, Outcome, Report
from tools.fakes.ses.events.reported_mail import ReportedMail
from tools.fakes.ses.sns.envelopes import format_time
from tools.fakes.ses.sns.topics import ACCOUNT_ID

SUBJECT = "Amazon SES Email Event Notification"
_EXPIRY = timedelta(hours=12)

type _Detail = Mapping[str, object]


def write(mail: ReportedMail, report: Report, region: str) -> str:
    at = mail.at + report.delay
    name, detail = _describe(mail, report, at, region)
    document = {
        "eventType": report.event.value,
        name: detail,
        "mail": _describe_mail(mail, report, region),
    }
    return json.dumps(document, separators=(",", ":"))


def _describe_mail(mail: ReportedMail, report: Report, region: str) -> _Detail:
    headers = mail.parse_headers()
    domain = mail.sender.rpartition("@")[2]
    common = {name.lower(): value for name, value in reversed(headers)}  # the first one counts
    tags = {
        "ses:operation": ["SendEmail"],
        "ses:configuration-set": [mail.configuration_set],
        "ses:source-ip": ["127.0.0.1"],
        "ses:from-domain": [domain],
        "ses:caller-identity": ["fake"],
        **{name: [value] for name, value in mail.tags},
    }
    if report.event is Event.DELIVERY:
        tags["ses:outgoing-ip"] = ["192.0.2.200"]
    return {
        "timestamp": format_time(mail.at),
        "source": common.get("from", mail.sender),
        "sourceArn": f"arn:aws:ses:{region}:{ACCOUNT_ID}:identity/{domain}",
        "sendingAccountId": ACCOUNT_ID,
        "messageId": mail.message_id,
        "destination": mail.recipients,
        "headersTruncated": mail.is_head_cut,
        "headers": [{"name": name, "value": value} for name, value in headers],
        "commonHeaders": {
            "from": [common.get("from", mail.sender)],
            "to": [common["to"]] if "to" in common else list(mail.recipients),
            "messageId": mail.message_id,
            **({"subject": common["subject"]} if "subject" in common else {}),
        },
        "tags": tags,
    }


def _describe(mail: ReportedMail, report: Report, at: datetime, region: str) -> tuple[str, _Detail]:
    match report.event:
        case Event.SEND:
            return "send", {}
        case Event.DELIVERY:
            return "delivery", {
                "timestamp": format_time(at),
                "processingTimeMillis": int(report.delay.total_seconds() * 1000),
                "recipients": report.recipients,
                "smtpResponse": "250 2.6.0 Message received",
                "reportingMTA": f"a7-10.smtp-out.{region}.amazonses.com",
            }
        case Event.BOUNCE:
            return "bounce", _describe_bounce(mail, report, at)
        case Event.COMPLAINT:
            return "complaint", _describe_complaint(mail, report, at)
        case Event.REJECT:
            return "reject", {"reason": "Bad content"}
        case Event.DELIVERY_DELAY:
            return "deliveryDelay", _describe_delay(mail, report, at)
        case other:
            assert_never(other)


def _describe_bounce(mail: ReportedMail, report: Report, at: datetime) -> _Detail:
    status, diagnosis, bounce_type, subtype = _BOUNCES[report.outcome or Outcome.BOUNCED]
    details = {"action": "failed", "status": status, "diagnosticCode": diagnosis} if status else {}
    return {
        "feedbackId": _feedback_id(mail, report, at),
        "bounceType": bounce_type,
        "bounceSubType": subtype,
        "bouncedRecipients": [{"emailAddress": name, **details} for name in report.recipients],
        "timestamp": format_time(at),
        **({"reportingMTA": "dns; mx.fake.example"} if status and subtype != _LISTED else {}),
    }


_LISTED = "OnAccountSuppressionList"
_WHY_LISTED = (
    "Amazon SES did not send the message to this address because it is on the suppression list for"
    " your account."
)
_BOUNCES: dict[Outcome, tuple[str, str, str, str]] = {
    Outcome.BOUNCED: ("5.1.1", "smtp; 550 5.1.1 user unknown", "Permanent", "General"),
    Outcome.MAILBOX_FULL: ("4.2.2", "smtp; 452 4.2.2 mailbox full", "Transient", "MailboxFull"),
    Outcome.OUT_OF_OFFICE: ("", "", "Transient", "General"),
    Outcome.SUPPRESSED: ("5.1.1", _WHY_LISTED, "Permanent", _LISTED),
}


def _describe_complaint(mail: ReportedMail, report: Report, at: datetime) -> _Detail:
    return {
        "feedbackId": _feedback_id(mail, report, at),
        "complaintSubType": None,
        "complainedRecipients": [{"emailAddress": name} for name in report.recipients],
        "timestamp": format_time(at),
        "userAgent": "Fake feedback loop/1.0",
        "complaintFeedbackType": "not-spam" if report.outcome is Outcome.NOT_SPAM else "abuse",
        "arrivalDate": format_time(at),
    }


def _describe_delay(mail: ReportedMail, report: Report, at: datetime) -> _Detail:
    diagnosis = "smtp; 421 4.4.1 Unable to connect to remote host"
    return {
        "timestamp": format_time(at),
        "delayType": "TransientCommunicationFailure",
        "expirationTime": format_time(mail.at + _EXPIRY),
        "delayedRecipients": [
            {"emailAddress": name, "status": "4.4.1", "diagnosticCode": diagnosis}
            for name in report.recipients
        ],
    }


def _feedback_id(mail: ReportedMail, report: Report, at: datetime) -> str:
    digest = blake2b(f"{mail.message_id} {report.key}".encode(), digest_size=16).digest()
    return f"0100{int(at.timestamp() * 1000):012x}-{UUID(bytes=digest)}-000000"
