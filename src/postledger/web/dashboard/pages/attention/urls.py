"""The pages of what needs a person."""

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.pages.attention import decisions, listing
from postledger.web.dashboard.routes import page

PAGES = [
    page("attention/", listing.show, Permission.READ, name="attention"),
    page("attention/number/", listing.show_number, Permission.READ, name="attention_number"),
    page("attention/doubts/", listing.show_doubts, Permission.READ, name="doubts"),
    page(
        "attention/doubts/decide/", decisions.decide_doubts, Permission.DECIDE, name="decide_doubts"
    ),
    page(
        "attention/dead-letters/", listing.show_dead_letters, Permission.READ, name="dead_letters"
    ),
    page(
        "attention/dead-letters/decide/",
        decisions.decide_dead_letters,
        Permission.DECIDE,
        name="decide_dead_letters",
    ),
    page(
        "attention/senders/<number:sender_id>/release/",
        decisions.release_sender,
        Permission.DECIDE,
        name="release_sender",
    ),
    page(
        "attention/senders/<number:sender_id>/test/",
        decisions.test_sender,
        Permission.DECIDE,
        name="test_sender",
    ),
    page(
        "attention/streams/<number:stream_id>/release/",
        decisions.release_stream,
        Permission.DECIDE,
        name="release_stream",
    ),
    page("attention/alerts/", listing.show_alerts, Permission.READ, name="alerts"),
]
