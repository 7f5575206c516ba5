"""`postledger key`: API keys; a token is shown once, on standard output and alone."""

from datetime import UTC, datetime, timedelta
from typing import override

from django.core.management.base import CommandError

from postledger.accounts import actions, queries
from postledger.accounts.keys import Scope
from postledger.accounts.queries import KeyFacts
from postledger.workers import given, nouns


class Command(nouns.NounCommand):
    help = "Makes, lists, rotates and revokes API keys."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        scopes = [scope.value for scope in Scope]
        create = verb("create", self._create, "Makes a key and prints its token, this once.")
        create.add_argument("workspace")
        create.add_argument("--name", required=True, help="what uses the key")
        create.add_argument("--test", action="store_true", help="its mail goes to the sandbox")
        create.add_argument(
            "--scope", action="append", choices=scopes, help="may be repeated; all when left out"
        )
        rotate = verb("rotate", self._rotate, "Makes a successor; the old key ends later.")
        rotate.add_argument("prefix", help="the part of the token before its dot")
        rotate.add_argument(
            "--overlap",
            type=given.duration,
            default=timedelta(hours=24),
            help="how long the old key works on: 30m, 24h (when left out) or 7d",
        )
        revoke = verb("revoke", self._revoke, "Ends a key at once.")
        revoke.add_argument("prefix", help="the part of the token before its dot")
        verb("list", self._list, "Lists the keys of a workspace.").add_argument("workspace")

    def _create(
        self, *, workspace: str, name: str, test: bool, scope: list[str] | None, **_: object
    ) -> None:
        found = nouns.workspace(workspace)
        scopes = [Scope(word) for word in scope or Scope]
        key = actions.create_key(
            found.id, name=name, scopes=scopes, is_test=test, actor=nouns.actor()
        )
        self._show(key.token, f"Created a key of {found.name} for {name}: {', '.join(scopes)}.")

    def _rotate(self, *, prefix: str, overlap: timedelta, **_: object) -> None:
        now = datetime.now(UTC)
        old = _known(prefix)
        new = actions.rotate_key(
            old.workspace_id, prefix=old.prefix, overlap=overlap, actor=nouns.actor(), now=now
        )
        until = now + overlap
        self._show(new.token, f"{old.prefix} works on until {until:%Y-%m-%d %H:%M} UTC.")

    def _revoke(self, *, prefix: str, **_: object) -> None:
        key = _known(prefix)
        ended = actions.revoke_key(
            key.workspace_id, prefix=key.prefix, actor=nouns.actor(), now=datetime.now(UTC)
        )
        self.stdout.write(
            f"Revoked {key.prefix}; it is refused from now on."
            if ended
            else f"{key.prefix} was revoked before."
        )

    def _list(self, *, workspace: str, **_: object) -> None:
        found = nouns.workspace(workspace)
        keys = queries.keys(found.id)
        if not keys:
            self.stdout.write(f"{found.name} has no key; postledger key create makes one.")
        now = datetime.now(UTC)
        for key in keys:
            used = f"used {key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never used"
            scopes = " ".join(key.scopes)
            self.stdout.write(f"{key.prefix}  {key.name}  {scopes}  {standing(key, now)}  {used}")

    def _show(self, token: str, sentence: str) -> None:
        """The words go to standard error, so that a script can keep the token by itself."""
        self.stderr.write(f"{sentence} Keep the token: it is shown this once.", self.style.SUCCESS)
        self.stdout.write(token)


def standing(key: KeyFacts, now: datetime) -> str:
    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d %H:%M}"
    if key.expires_at is None:
        return "works"
    ended = "ended" if key.expires_at <= now else "works until"
    return f"{ended} {key.expires_at:%Y-%m-%d %H:%M}"


def _known(token: str) -> KeyFacts:
    """A whole token is taken as well, but only its prefix is looked at and repeated."""
    prefix = token.partition(".")[0]
    found = queries.key_by_prefix(prefix)
    if found is None:
        raise CommandError(
            f"There is no key {prefix[:40]!r}; postledger key list WORKSPACE shows a workspace's."
        )
    return found
