"""`postledger member`: adds people to a workspace, limits their runs, and helps them to sign in."""

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import override

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction
from django.urls import reverse

from postledger.accounts import limits, queries
from postledger.accounts.models import Member, User, Workspace
from postledger.accounts.people import address_changes, invitations, members, password_resets
from postledger.accounts.people.roles import Role
from postledger.cli import base_command, pace_arguments
from postledger.deliveries import account_changes
from postledger.providers import addresses


class Command(base_command.NounCommand):
    help = (
        "Adds people to a workspace, lists them, limits the runs that they launch, prints links to"
        " join and for new passwords, and changes addresses."
    )

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        add = verb("add", self._add, "Adds a member to a workspace.")
        limit = verb("limit", self._limit, "Sets how many mails the member's runs may send.")
        invite = verb(
            "invite",
            self._print_invitation,
            "Prints a link with which a member joins; it works once, for seven days.",
        )
        for parser in (add, limit, invite):
            base_command.add_workspace(parser)
            parser.add_argument("email")
        add.add_argument(
            "--role", choices=[role.value for role in Role], default=Role.MANAGER.value
        )
        add.add_argument("--name", default="", help="the person's name")
        limit.add_argument(
            "--per-day",
            required=True,
            type=pace_arguments.parse_count,
            metavar="N",
            help="the most mails in a day of the workspace's time zone; none for no limit",
        )
        link = verb(
            "reset-link",
            self._print_reset_link,
            "Prints a link with which a person chooses a new password; it works once, for an hour.",
        )
        link.add_argument("email")
        address = verb(
            "address",
            self._change_address,
            "Changes the address with which a person signs in, at once and in all workspaces.",
        )
        address.add_argument("old")
        address.add_argument("new")
        base_command.add_workspace(verb("list", self._list, "Lists the members of a workspace."))

    def _add(self, *, workspace: Workspace, email: str, role: str, name: str, actor: str) -> None:
        members.add_member(workspace.id, email=email, role=Role(role), name=name, actor=actor)
        self.stdout.write(f'Added {email} to workspace "{workspace.name}" as {role}.')
        self.stdout.write(f"{_name_invite_command(workspace, email)} prints a link to join with.")

    def _limit(self, *, workspace: Workspace, email: str, per_day: int | None, actor: str) -> None:
        member = base_command.member(workspace, email)
        account_changes.set_member_limit(
            workspace.id, member_id=member.id, daily_limit=per_day, actor=actor
        )
        text = limits.describe(daily_limit=per_day) or "without a limit"
        self.stdout.write(f"Runs that {member.email} launches send {text}.")

    def _print_invitation(self, *, workspace: Workspace, email: str, actor: str) -> None:
        member = base_command.member(workspace, addresses.canonical(email))
        invitation = invitations.invite_member(
            workspace.id, member_id=member.id, now=datetime.now(UTC), actor=actor
        )
        self._print_link(reverse("join", args=[invitation.token]))

    def _print_reset_link(self, *, email: str, actor: str) -> None:
        user = _find_person(email)
        link = password_resets.print_reset_link(user, now=datetime.now(UTC), actor=actor)
        self._print_link(link.path)

    def _change_address(self, *, old: str, new: str, actor: str) -> None:
        from postledger.transactional import address_letters  # with all that renders letters

        user, now = _find_person(old), datetime.now(UTC)
        with transaction.atomic():
            change = address_changes.change_address(user, address=new, now=now, actor=actor)
            is_told = address_letters.tell_former(change, now=now)
        self.stdout.write(f"{change.former} signs in with {change.address} from now on.")
        if is_told:
            self.stdout.write(f"A letter tells {change.former} so.")
        else:
            self.stdout.write(f"No letter can tell {change.former} so: do it yourself.")

    def _print_link(self, path: str) -> None:
        self.stdout.write(settings.PUBLIC_URL.rstrip("/") + path)
        if not settings.PUBLIC_URL:
            self.stderr.write(
                "PUBLIC_URL is empty: put the address of this installation before it."
            )

    def _list(self, *, workspace: Workspace) -> None:
        rows = queries.members(workspace.id)
        if not rows:
            self.stdout.write(f"{workspace.name} has no member; see postledger member add.")
        for member in rows:
            self.stdout.write("  ".join(_describe(member)))


def _describe(member: Member) -> Iterator[str]:
    yield member.email
    yield member.role
    if member.name:
        yield f"“{member.name}”"
    if member.daily_limit is not None:
        yield limits.describe(daily_limit=member.daily_limit)


def _find_person(email: str) -> User:
    email = addresses.canonical(email)
    user = User.objects.filter(email=email.lower()).first()
    if user is None:
        raise CommandError(_explain_stranger(email))
    return user


def _explain_stranger(email: str) -> str:
    """Why there is nobody who signs in with an address, and what lets them in."""
    added = Member.objects.filter(email__iexact=email, user=None, removed_at=None)
    member = added.select_related("workspace").order_by("pk").first()
    if member is None:
        return f"Nobody signs in with {email}. postledger member list shows who was invited."
    command = _name_invite_command(member.workspace, member.email)
    return f"{member.email} has not joined yet: {command} prints a link to join with."


def _name_invite_command(workspace: Workspace, email: str) -> str:
    return shlex.join(["postledger", "member", "invite", workspace.name, email])
