"""`postledger key`: API keys; standard output shows a token once, and nothing else."""

from datetime import UTC, datetime, timedelta
from typing import override

from django.core.management.base import CommandError

from postledger.accounts import keys, queries
from postledger.accounts.keys import Scope
from postledger.accounts.models import ApiKey, Workspace
from postledger.cli import arguments, base_command


class Command(base_command.NounCommand):
    help = "Creates, lists, rotates and revokes API keys."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        create = verb("create", self._create, "Creates a key and prints its token once.")
        base_command.add_workspace(create)
        create.add_argument("--name", required=True, help="the program that uses the key")
        create.add_argument("--test", action="store_true", help="its mail goes to the sandbox")
        create.add_argument(
            "--member", metavar="EMAIL", help="whose daily limit counts the runs that it launches"
        )
        create.add_argument(
            "--scope",
            action="append",
            choices=[scope.value for scope in Scope],
            help="may be repeated; default: all of mail, content, contacts and campaigns",
        )
        rotate = verb("rotate", self._rotate, "Creates a successor; the old key expires later.")
        rotate.add_argument(
            "--overlap",
            type=arguments.parse_duration,
            default=timedelta(hours=24),
            help="how long the old key stays valid: 30m, 24h (default) or 7d",
        )
        revoke = verb("revoke", self._revoke, "Ends a key at once.")
        for parser in (rotate, revoke):
            parser.add_argument("prefix", help="the part of the token before the dot")
        base_command.add_workspace(verb("list", self._list, "Lists the keys of a workspace."))

    def _create(  # noqa: PLR0913  one parameter for each option
        self,
        *,
        workspace: Workspace,
        name: str,
        test: bool,
        member: str | None,
        scope: list[str] | None,
        actor: str,
    ) -> None:
        scopes = [Scope(value) for value in scope or sorted(keys.USUAL_SCOPES)]
        key = keys.create_key(
            workspace.id,
            name=name,
            scopes=scopes,
            is_test=test,
            member_id=None if member is None else base_command.member(workspace, member).id,
            actor=actor,
        )
        self._show(
            key.token,
            f'Created API key "{name}" in workspace "{workspace.name}": {", ".join(scopes)}.',
        )

    def _rotate(self, *, prefix: str, overlap: timedelta, actor: str) -> None:
        now = datetime.now(UTC)
        old = _find_key(prefix)
        new = keys.rotate_key(
            old.workspace_id, prefix=old.prefix, overlap=overlap, actor=actor, now=now
        )
        self._show(new.token, f"{old.prefix} is valid until {now + overlap:%Y-%m-%d %H:%M} UTC.")

    def _revoke(self, *, prefix: str, actor: str) -> None:
        key, now = _find_key(prefix), datetime.now(UTC)
        if keys.revoke_key(key.workspace_id, prefix=key.prefix, actor=actor, now=now):
            self.stdout.write(f"Revoked API key {key.prefix}.")
        else:
            self.stdout.write(f"API key {key.prefix} was already revoked.")

    def _list(self, *, workspace: Workspace) -> None:
        rows = queries.keys(workspace.id)
        if not rows:
            self.stdout.write(f"{workspace.name} has no API key; see postledger key create.")
        now = datetime.now(UTC)
        for key in rows:
            used = f"used {key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never used"
            scopes = " ".join(key.scopes)
            member = f"  launches for {key.member.email}" if key.member else ""
            self.stdout.write(
                f"{key.prefix}  {key.name}  {scopes}  {describe_validity(key, now)}  {used}{member}"
            )

    def _show(self, token: str, message: str) -> None:
        """The message goes to standard error, so that a script can store the token."""
        self.stderr.write(f"{message} Store the token: it is shown only once.", self.style.SUCCESS)
        self.stdout.write(token)


def describe_validity(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d %H:%M}"
    if key.expires_at is None:
        return "valid"
    validity = "expired" if key.expires_at <= now else "valid until"
    return f"{validity} {key.expires_at:%Y-%m-%d %H:%M}"


def _find_key(token: str) -> ApiKey:
    """Accepts a full token too, but uses and repeats only its prefix."""
    prefix = token.partition(".")[0]
    key = queries.key_by_prefix(prefix)
    if key is None:
        raise CommandError(
            f"There is no API key {prefix[:40]!r}; see postledger key list WORKSPACE."
        )
    return key
