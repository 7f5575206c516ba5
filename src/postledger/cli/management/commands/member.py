"""`postledger member`: adds people to a workspace, and limits their runs."""

from collections.abc import Iterator
from typing import override

from django.db import transaction

from postledger.accounts import limits, members, queries
from postledger.accounts.members import Role
from postledger.accounts.models import Member, Workspace
from postledger.cli import base_command, pace_arguments
from postledger.deliveries import account_changes


class Command(base_command.NounCommand):
    help = "Adds people to a workspace, lists them, and limits the runs that they launch."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        add = verb("add", self._add, "Adds a member to a workspace.")
        limit = verb("limit", self._limit, "Sets how many mails the member's runs may send.")
        for parser in (add, limit):
            base_command.add_workspace(parser)
            parser.add_argument("email")
        add.add_argument("--role", choices=[role.value for role in Role], default=Role.MEMBER.value)
        add.add_argument("--name", default="", help="the person's name")
        limit.add_argument(
            "--per-day",
            required=True,
            type=pace_arguments.parse_count,
            metavar="N",
            help="the most mails in a day of the workspace's time zone; none for no limit",
        )
        base_command.add_workspace(verb("list", self._list, "Lists the members of a workspace."))

    def _add(self, *, workspace: Workspace, email: str, role: str, name: str, actor: str) -> None:
        members.add_member(workspace.id, email=email, role=Role(role), name=name, actor=actor)
        self.stdout.write(f'Added {email} to workspace "{workspace.name}" as {role}.')

    def _limit(self, *, workspace: Workspace, email: str, per_day: int | None, actor: str) -> None:
        member = base_command.member(workspace, email)
        with transaction.atomic():
            members.set_daily_limit(
                workspace.id, member_id=member.id, daily_limit=per_day, actor=actor
            )
            account_changes.limits_changed(queries.sender_ids(workspace.id))
        text = limits.describe(daily_limit=per_day) or "without a limit"
        self.stdout.write(f"Runs that {member.email} launches send {text}.")

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
