"""Creates and changes workspaces, and adds members to them."""

import re
from collections.abc import Mapping
from enum import StrEnum
from zoneinfo import available_timezones

from django.db import transaction

from postledger.accounts import constraints, trail
from postledger.accounts.models import Member, Workspace
from postledger.accounts.queries import NOBODY, Organisation
from postledger.accounts.senders import create_sender
from postledger.lib.errors import ConflictError, RefusedError
from postledger.providers import addresses

DEFAULT = "default"

_LONGEST_LINE = 200
_LONGEST_URL = 500
# Characters that need no encoding in a header; a query is appended. http is for development.
_PAGE_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?:/[A-Za-z0-9._~/-]*)?")


class Role(StrEnum):
    """The permissions of a member; a constraint of the table lists the same values."""

    OWNER = "owner"  # everything, adding members included
    MEMBER = "member"  # everything but adding members


class WorkspaceExistsError(ConflictError):
    code = "workspace_exists"


class MemberExistsError(ConflictError):
    code = "member_exists"


class InvalidOrganisationError(RefusedError):
    code = "invalid_organisation"


class InvalidTimeZoneError(RefusedError):
    code = "invalid_time_zone"


def create_workspace(name: str, *, actor: str) -> int:
    constraints.check_name("a workspace", name)
    taken = WorkspaceExistsError(
        f"There is already a workspace “{name}” (case is ignored): choose another name."
    )
    with constraints.refusing(accounts_workspace_once=taken):
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
    """Sets the texts of footers; mail that is already planned keeps its footer."""
    _check_organisation(organisation)
    columns = {
        "org_name": organisation.name,
        "org_address": organisation.address,
        "unsubscribe_base_url": organisation.unsubscribe_base_url,
    }
    data = {"name": organisation.name, "address": organisation.address}
    _update(workspace_id, columns, action="footer_changed", data=data, actor=actor)


def _check_organisation(organisation: Organisation) -> None:
    for text in (organisation.name, organisation.address):
        if not text.isprintable() or len(text) > _LONGEST_LINE or "{" in text:
            raise InvalidOrganisationError(
                f"{text[:_LONGEST_LINE]!r} cannot be used in a footer: use one line of at most"
                f" {_LONGEST_LINE} printable characters, without braces."
            )
    url = organisation.unsubscribe_base_url
    if url and (not _PAGE_URL.fullmatch(url) or len(url) > _LONGEST_URL):
        raise InvalidOrganisationError(
            f"{url[:200]!r} cannot be the base of unsubscribe links: use the https:// address of"
            " the page, without ? and #, at most 500 characters."
        )


def set_test_emails(workspace_id: int, written: str, *, actor: str) -> None:
    """Sets the recipients of test sends; a test send skips texts that are no address."""
    _update(workspace_id, {"test_emails": written}, action="tests_changed", data={}, actor=actor)


def set_time_zone(workspace_id: int, zone: str, *, actor: str) -> None:
    """Sets the time zone of contacts without one of their own."""
    if zone not in available_timezones():
        raise InvalidTimeZoneError(
            f"{zone[:64]!r} is not a time zone: use an IANA name such as Europe/Lisbon."
        )
    data = {"zone": zone}
    _update(workspace_id, {"time_zone": zone}, action="zone_changed", data=data, actor=actor)


def _update(
    workspace_id: int,
    columns: Mapping[str, str],
    *,
    action: str,
    data: Mapping[str, str],
    actor: str,
) -> None:
    subject = f"workspace {workspace_id}"
    with transaction.atomic():
        Workspace.objects.filter(pk=workspace_id).update(**columns)
        trail.note(
            workspace_id, actor=actor, action=f"workspace.{action}", subject=subject, data=data
        )


def add_member(workspace_id: int, *, email: str, role: Role, name: str = "", actor: str) -> int:
    email = addresses.canonical(email)
    if name:
        constraints.check_name("a member", name)
    exists = MemberExistsError(f"{email} is already a member of this workspace.")
    with constraints.refusing(accounts_member_once=exists):
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


def ensure_default_workspace(
    *,
    from_email: str,
    from_name: str,
    actor: str,
    organisation: Organisation = NOBODY,
    test_emails: str = "",
) -> int | None:
    """Creates the first workspace, with a sender if an address is given; None if one exists.

    The environment counts only here; afterwards the rows do.
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
    return workspace_id
