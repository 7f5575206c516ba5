"""Creates and changes workspaces."""

import re
from collections.abc import Mapping

from django.db import transaction
from django.db.models.functions import Now

from postledger.accounts import constraints, queries, trail, working_hours
from postledger.accounts.models import Member, Sender, Workspace
from postledger.accounts.queries import NOBODY, Organisation
from postledger.accounts.senders import create_sender, set_limits
from postledger.accounts.trail import Action
from postledger.accounts.working_hours import Hours
from postledger.lib.errors import ConflictError, RefusedError
from postledger.lib.sentences import say

FIRST_NAME = "default"  # of the first workspace, until a person renames it

_LONGEST_LINE = 200
_LONGEST_URL = 500
# Characters that need no encoding in a header; a query is appended. http is for development.
_PAGE_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(?:/[A-Za-z0-9._~/-]*)?")


class WorkspaceExistsError(ConflictError):
    code = "workspace_exists"


class InvalidOrganisationError(RefusedError):
    code = "invalid_organisation"


def create_workspace(name: str, *, actor: str) -> int:
    constraints.check_name("a workspace", name)
    with constraints.refusing(accounts_workspace_once=_taken(name)):
        workspace = Workspace.objects.create(name=name)
        trail.note(
            workspace.pk,
            actor=actor,
            action="workspace.created",
            subject=f"workspace {workspace.pk}",
            data={"name": name},
        )
    return workspace.pk


def lock_workspace(workspace_id: int) -> Workspace:
    """The workspace as it is until the transaction ends; its changes wait for it."""
    return Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)


def rename_workspace(workspace_id: int, name: str, *, actor: str) -> None:
    constraints.check_name("a workspace", name)
    with constraints.refusing(accounts_workspace_once=_taken(name)):
        _update(
            workspace_id,
            {"name": name},
            action="workspace.renamed",
            data={"name": name},
            actor=actor,
        )


def _taken(name: str) -> WorkspaceExistsError:
    return WorkspaceExistsError(
        say(
            "There is already a workspace “%(name)s” (case is ignored): choose another name.",
            name=name,
        )
    )


def set_organisation(workspace_id: int, organisation: Organisation, *, actor: str) -> None:
    """Sets the organisation that footers name; mail that is already planned keeps its footer."""
    _check_organisation(organisation)
    columns = {
        "org_name": organisation.name,
        "org_address": organisation.address,
        "unsubscribe_base_url": organisation.unsubscribe_base_url,
    }
    data = {"name": organisation.name, "address": organisation.address}
    _update(workspace_id, columns, action="workspace.organisation_changed", data=data, actor=actor)


def set_footer(workspace_id: int, *, name: str, address: str, actor: str) -> None:
    """Sets what footers say of the organisation, and leaves the unsubscribe page as it is."""
    check_footer_line(name)
    check_footer_line(address)
    _update(
        workspace_id,
        {"org_name": name, "org_address": address},
        action="workspace.organisation_changed",
        data={"name": name, "address": address},
        actor=actor,
    )


def set_unsubscribe_page(workspace_id: int, url: str, *, actor: str) -> None:
    """Sets the page that unsubscribe links lead to; empty: that of this installation."""
    check_unsubscribe_url(url)
    columns = {"unsubscribe_base_url": url}
    action: Action = "workspace.unsubscribe_page_changed"
    _update(workspace_id, columns, action=action, data={"page": url}, actor=actor)


def _check_organisation(organisation: Organisation) -> None:
    check_footer_line(organisation.name)
    check_footer_line(organisation.address)
    check_unsubscribe_url(organisation.unsubscribe_base_url)


def check_footer_line(text: str) -> None:
    if not text.isprintable() or len(text) > _LONGEST_LINE or set(text) & set("{}"):
        raise InvalidOrganisationError(
            say(
                "'%(text)s' cannot be the name or address of an organisation: use one line of at"
                " most %(longest)s printable characters, without braces.",
                text=text[:_LONGEST_LINE],
                longest=_LONGEST_LINE,
            )
        )


def check_unsubscribe_url(url: str) -> None:
    if url and (not _PAGE_URL.fullmatch(url) or len(url) > _LONGEST_URL):
        raise InvalidOrganisationError(
            say(
                "'%(url)s' cannot be the base of unsubscribe links: use the https:// address of"
                " the page, without ? and #, at most %(longest)s characters.",
                url=url[:200],
                longest=_LONGEST_URL,
            )
        )


def set_test_emails(workspace_id: int, emails: str, *, actor: str) -> None:
    """Sets the recipients of test sends; a test send skips texts that are no address."""
    _update(
        workspace_id,
        {"test_emails": emails},
        action="workspace.tests_changed",
        data={},
        actor=actor,
    )


def set_time_zone(workspace_id: int, zone: str, *, actor: str) -> None:
    """Sets the zone of daily limits, and of contacts and working hours without one of their own."""
    working_hours.check_zone(zone)
    data = {"zone": zone}
    with transaction.atomic():
        _update(
            workspace_id,
            {"time_zone": zone},
            action="workspace.zone_changed",
            data=data,
            actor=actor,
        )
        # Their days are other ones from now on, and are counted anew.
        for limited in (Sender.objects, Member.objects):
            own = limited.filter(workspace_id=workspace_id, daily_limit__isnull=False)
            own.update(counted_since=Now())


def set_hours(workspace_id: int, hours: Hours | None, *, actor: str) -> None:
    """Sets when bulk mail of a workspace may go; None: always."""
    stored = text = None
    if hours is not None:
        stored = working_hours.to_json(hours)
        text = working_hours.describe(stored, zone=queries.time_zone(workspace_id))
    columns = {"working_hours": stored}
    _update(
        workspace_id, columns, action="workspace.hours_changed", data={"hours": text}, actor=actor
    )


def _update(
    workspace_id: int,
    columns: Mapping[str, object],
    *,
    action: Action,
    data: Mapping[str, trail.Fact],
    actor: str,
) -> None:
    subject = f"workspace {workspace_id}"
    with transaction.atomic():
        if not Workspace.objects.filter(pk=workspace_id).update(**columns):
            raise Workspace.DoesNotExist
        trail.note(workspace_id, actor=actor, action=action, subject=subject, data=data)


def ensure_first_workspace(  # noqa: PLR0913  what the environment has, each by its name
    *,
    from_email: str,
    from_name: str,
    rate_per_second: float,
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
            workspace_id = create_workspace(FIRST_NAME, actor=actor)
            if organisation != NOBODY:
                set_organisation(workspace_id, organisation, actor=actor)
            if test_emails:
                set_test_emails(workspace_id, test_emails, actor=actor)
            if from_email:
                sender_id = create_sender(
                    workspace_id, address=from_email, name=from_name, actor=actor
                )
                set_limits(
                    workspace_id, sender_id=sender_id, rate_per_second=rate_per_second, actor=actor
                )
    except WorkspaceExistsError:  # another process created it meanwhile
        return None
    return workspace_id
