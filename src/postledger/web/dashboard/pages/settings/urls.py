"""The pages of a workspace's settings."""

from functools import partial

from postledger.accounts.integrations import IntegrationKind
from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.pages.settings import audit, integrations, members, workspace
from postledger.web.dashboard.routes import page
from postledger.web.dashboard.settings.integration_forms import FORMS, find_permission

PAGES = [
    page("settings/", workspace.show, Permission.MANAGE_MEMBERS, name="settings"),
    page("settings/audit/", audit.show, Permission.READ, name="audit"),
    page("settings/integrations/", integrations.show, Permission.SET_UP, name="integrations"),
    *(
        page(
            f"settings/integrations/{kind.value}/",
            partial(integrations.change, kind=kind),
            find_permission(kind),
            name=f"integration_{kind.value}",
        )
        for kind in FORMS
    ),
    *(
        page(
            f"settings/integrations/{kind.value}/remove/",
            partial(integrations.remove, kind=kind),
            find_permission(kind),
            name=f"remove_{kind.value}",
        )
        for kind in IntegrationKind
    ),
    page("members/", members.show, Permission.MANAGE_MEMBERS, name="members"),
    page("members/invite/", members.invite, Permission.MANAGE_MEMBERS, name="invite_member"),
    page("members/<number:member_id>/", members.change, Permission.MANAGE_MEMBERS, name="member"),
    page(
        "members/<number:member_id>/invite/",
        members.invite_again,
        Permission.MANAGE_MEMBERS,
        name="invite_again",
    ),
    page(
        "members/<number:member_id>/remove/",
        members.remove,
        Permission.MANAGE_MEMBERS,
        name="remove_member",
    ),
]
