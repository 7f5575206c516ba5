"""The roles of members, as pages name them."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from postledger.accounts.people.roles import Role

ROLES: Mapping[Role, Promise] = {
    Role.OWNER: gettext_lazy("Owner: everything, members included"),
    Role.MANAGER: gettext_lazy("Manager: runs campaigns and decides"),
    Role.DEVELOPER: gettext_lazy("Developer: decides, and sets up senders and keys"),
    Role.VIEWER: gettext_lazy("Viewer: reads everything"),
}
ROLE_NAMES: Mapping[Role, Promise] = {
    Role.OWNER: gettext_lazy("Owner"),
    Role.MANAGER: gettext_lazy("Manager"),
    Role.DEVELOPER: gettext_lazy("Developer"),
    Role.VIEWER: gettext_lazy("Viewer"),
}
