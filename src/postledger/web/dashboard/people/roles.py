"""The roles of members, as pages name them."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from postledger.accounts.people.roles import Role

ROLE_NAMES: Mapping[Role, Promise] = {
    Role.OWNER: gettext_lazy("Owner"),
    Role.MANAGER: gettext_lazy("Manager"),
    Role.DEVELOPER: gettext_lazy("Developer"),
    Role.VIEWER: gettext_lazy("Viewer"),
}
# One sentence each, of what `accounts.people.roles` allows.
_WORDS: Mapping[Role, Promise] = {
    Role.OWNER: gettext_lazy(
        "does everything, and alone invites and removes people, changes roles, and the settings of"
        " the workspace."
    ),
    Role.MANAGER: gettext_lazy(
        "reads everything, writes content, launches campaigns, manages contacts and lists, and"
        " decides what needs attention; not senders, API keys, integrations or members."
    ),
    Role.DEVELOPER: gettext_lazy(
        "reads everything, sets up senders, API keys and integrations, writes content, and decides"
        " what needs attention; not campaigns, contacts or members."
    ),
    Role.VIEWER: gettext_lazy(
        "reads every figure, contact and email; changes nothing, and exports no contacts."
    ),
}


def list_roles() -> list[tuple[Promise, Promise]]:
    """The name of each role, and what it may and may not do."""
    return [(ROLE_NAMES[role], _WORDS[role]) for role in Role]
