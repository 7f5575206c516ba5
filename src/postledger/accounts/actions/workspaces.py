"""Makes workspaces and lets people into them."""

import re
from dataclasses import dataclass
from enum import StrEnum
from zoneinfo import available_timezones

from django.db import transaction

from postledger.accounts import constraints, names, trail
from postledger.accounts.actions.senders import create_sender
from postledger.accounts.models import Member, Workspace
from postledger.accounts.queries import NOBODY, Organisation
from postledger.lib.errors import RefusedError
from postledger.providers import addresses

DEFAULT = "default"

_LONGEST_LINE = 200
_LONGEST_URL = 500
# Signs that need no encoding in a header; a query is put behind it. http is for trying things out.
_PAGE = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?:/[A-Za-z0-9._~/-]*)?")


class Role(StrEnum):
    """What a member may do; the table lets in no other word."""

    OWNER = "owner"  # everything, and letting others in
    MEMBER = "member"  # everything but that


class WorkspaceExistsError(RefusedError):
    code = "workspace_exists"


class MemberExistsError(RefusedError):
    code = "member_exists"


class InvalidOrganisationError(RefusedError):
    code = "invalid_organisation"


class InvalidTimeZoneError(RefusedError):
    code = "invalid_time_zone"


def create_workspace(name: str, *, actor: str) -> int:
    names.check("a workspace", name)
    taken = WorkspaceExistsError(
        f"There is a workspace “{name}” already, and capitals make no difference:"
        " choose another name."
    )
    with constraints.kept(accounts_workspace_once=taken):
        workspace = Workspace.objects.create(name=name)
        trail.note(
            workspace.pk,
            actor=actor,
            action="workspace.created",
            subject=f"workspace {workspace.pk}",
            data={"name": name},
        )
    return workspace.pk


def set_organisation(workspace_id: int, organisation: Organisation, *, actor: str) -> None:
    """Says what the footers of a workspace's mail say; mails planned before keep theirs."""
    _check_organisation(organisation)
    with transaction.atomic():
        Workspace.objects.filter(pk=workspace_id).update(
            org_name=organisation.name,
            org_address=organisation.address,
            unsubscribe_base_url=organisation.unsubscribe_base_url,
        )
        trail.note(
            workspace_id,
            actor=actor,
            action="workspace.footer_changed",
            subject=f"workspace {workspace_id}",
            data={"name": organisation.name, "address": organisation.address},
        )


def _check_organisation(organisation: Organisation) -> None:
    for text in (organisation.name, organisation.address):
        if not text.isprintable() or len(text) > _LONGEST_LINE or "{" in text:
            raise InvalidOrganisationError(
                f"{text[:_LONGEST_LINE]!r} cannot stand in a footer: write one line of at most"
                f" {_LONGEST_LINE} visible characters, without braces."
            )
    url = organisation.unsubscribe_base_url
    if url and (not _PAGE.fullmatch(url) or len(url) > _LONGEST_URL):
        raise InvalidOrganisationError(
            f"{url[:200]!r} cannot begin an unsubscribe link: write the https:// address of the"
            " page, without ? and #, at most 500 characters."
        )


def set_test_emails(workspace_id: int, written: str, *, actor: str) -> None:
    """Says whom tests of campaigns go to; what is no address is left out when one is made."""
    with transaction.atomic():
        Workspace.objects.filter(pk=workspace_id).update(test_emails=written)
        trail.note(
            workspace_id,
            actor=actor,
            action="workspace.tests_changed",
            subject=f"workspace {workspace_id}",
        )


def set_time_zone(workspace_id: int, zone: str, *, actor: str) -> None:
    """Says which clock is that of contacts of whom nobody knows theirs."""
    if zone not in available_timezones():
        raise InvalidTimeZoneError(
            f"{zone[:64]!r} is no time zone: write one as the IANA names it, like Europe/Lisbon."
        )
    with transaction.atomic():
        Workspace.objects.filter(pk=workspace_id).update(time_zone=zone)
        trail.note(
            workspace_id,
            actor=actor,
            action="workspace.zone_changed",
            subject=f"workspace {workspace_id}",
            data={"zone": zone},
        )


def add_member(workspace_id: int, *, email: str, role: Role, name: str = "", actor: str) -> int:
    email = addresses.canonical(email)
    if name:
        names.check("a member", name)
    known = MemberExistsError(f"{email} is a member of this workspace already.")
    with constraints.kept(accounts_member_once=known):
        member = Member.objects.create(
            workspace_id=workspace_id, email=email, role=role.value, name=name
        )
        trail.note(
            workspace_id,
            actor=actor,
            action="member.added",
            subject=f"member {member.pk}",
            data={"email": email, "role": role.value},
        )
    return member.pk


@dataclass(frozen=True, slots=True)
class FirstWorkspace:
    workspace_id: int
    sender_address: str | None


def ensure_default_workspace(
    *,
    from_email: str,
    from_name: str,
    actor: str,
    organisation: Organisation = NOBODY,
    test_emails: str = "",
) -> FirstWorkspace | None:
    """Makes the first workspace, with a sender when one is named; None once there is any.

    The environment speaks only here: from then on the rows are what counts.
    """
    try:
        with transaction.atomic():
            if Workspace.objects.exists():
                return None
            workspace_id = create_workspace(DEFAULT, actor=actor)
            if organisation != NOBODY:
                set_organisation(workspace_id, organisation, actor=actor)
            if test_emails:
                set_test_emails(workspace_id, test_emails, actor=actor)
            if from_email:
                create_sender(workspace_id, address=from_email, name=from_name, actor=actor)
    except WorkspaceExistsError:  # another process was faster
        return None
    return FirstWorkspace(workspace_id, from_email or None)
