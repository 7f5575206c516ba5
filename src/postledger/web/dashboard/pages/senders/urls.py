"""The pages of senders: all of them, and one with its limits, its DNS and its feedback."""

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.pages.senders import (
    connect,
    feedback_test,
    hold,
    identity,
    listing,
    reports,
    sender,
)
from postledger.web.dashboard.routes import page

_SENDER = "senders/<number:sender_id>"

PAGES = [
    page("senders/", listing.show, Permission.READ, name="senders"),
    page("senders/connect/", connect.connect, Permission.SET_UP, name="connect_sender"),
    page(f"{_SENDER}/", sender.show, Permission.READ, name="sender"),
    page(f"{_SENDER}/dns/", sender.show_dns, Permission.READ, name="sender_dns"),
    page(f"{_SENDER}/selector/", sender.change_selector, Permission.SET_UP, name="sender_selector"),
    page(f"{_SENDER}/limits/", sender.change_limits, Permission.SET_UP, name="sender_limits"),
    page(f"{_SENDER}/edit/", identity.edit, Permission.SET_UP, name="sender_edit"),
    page(f"{_SENDER}/default/", identity.make_default, Permission.SET_UP, name="sender_default"),
    page(f"{_SENDER}/archive/", identity.archive, Permission.SET_UP, name="sender_archive"),
    page(f"{_SENDER}/restore/", identity.restore, Permission.SET_UP, name="sender_restore"),
    page(f"{_SENDER}/hold/", hold.hold, Permission.DECIDE, name="hold_sender"),
    page(f"{_SENDER}/reports/", reports.connect, Permission.SET_UP, name="sender_reports"),
    page(f"{_SENDER}/test/", feedback_test.start, Permission.SET_UP, name="start_feedback_test"),
    page(
        f"{_SENDER}/test/<number:stream_id>/",
        feedback_test.follow,
        Permission.READ,
        name="feedback_test",
    ),
]
