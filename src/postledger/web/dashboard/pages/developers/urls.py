"""The pages for developers."""

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.pages.developers import keys, requests
from postledger.web.dashboard.routes import page

PAGES = [
    page("developers/", keys.show, Permission.SET_UP, name="developers"),
    page("developers/requests/", requests.show, Permission.SET_UP, name="requests"),
    page("developers/keys/new/", keys.create, Permission.SET_UP, name="new_key"),
    page(
        "developers/keys/<slug:prefix>/rotate/",
        keys.rotate,
        Permission.SET_UP,
        name="rotate_key",
    ),
    page(
        "developers/keys/<slug:prefix>/revoke/",
        keys.revoke,
        Permission.SET_UP,
        name="revoke_key",
    ),
]
