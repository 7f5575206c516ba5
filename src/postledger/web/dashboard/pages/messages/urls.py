"""The pages of emails."""

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.pages.messages import listing, message
from postledger.web.dashboard.routes import page

PAGES = [
    page("messages/", listing.show, Permission.READ, name="messages"),
    page("messages/<uuid:mail_id>/", message.show, Permission.READ, name="message"),
    page(
        "messages/<uuid:mail_id>/letter/",
        message.show_letter,
        Permission.READ,
        name="message_letter",
    ),
    page(
        "messages/<uuid:mail_id>/requeue/",
        message.requeue,
        Permission.DECIDE,
        name="message_requeue",
    ),
]
