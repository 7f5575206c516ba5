"""Requests for mail, sound unless a test changes something."""

from dataclasses import replace
from typing import Any

from postledger.transactional.requests import MailRequest

SOUND = MailRequest(to="alice@example.com", subject="Your receipt", html="<p>Thank you.</p>")


def mail(**changes: Any) -> MailRequest:
    return replace(SOUND, **changes)
