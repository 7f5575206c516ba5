"""What the commands that read `postledger NOUN VERB …` have in common."""

import os
import pwd
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any, override

from django.core.management.base import BaseCommand, CommandError

from postledger.accounts import queries
from postledger.accounts.queries import AccountFacts, SenderFacts, WorkspaceFacts
from postledger.deliveries import queries as mail_queries
from postledger.deliveries.queries import StreamFacts
from postledger.lib.errors import RefusedError

type Run = Callable[..., None]
type Verb = Callable[[str, Run, str], ArgumentParser]

_NO_STREAM = 1 << 48  # ids of deliveries have room for smaller numbers only


class NounCommand(BaseCommand):
    """A command with verbs; a refusal ends it with the refusal's own sentence."""

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(required=True, metavar="VERB")

        def verb(name: str, run: Run, help_: str) -> ArgumentParser:
            made = verbs.add_parser(name, help=help_, description=help_)
            made.set_defaults(run=run)
            return made

        self.add_verbs(verb)

    def add_verbs(self, verb: Verb) -> None:
        raise NotImplementedError

    @override
    def handle(self, *args: object, run: Run, **options: Any) -> None:
        try:
            run(**options)
        except RefusedError as refused:
            raise CommandError(str(refused)) from None


def actor(named: str = "") -> str:
    """Who types: by the process, not by an environment variable that anybody can set.

    A name that was given stands beside it: where all work as one, it says which of them.
    """
    number = os.getuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:  # usual in containers
        name = f"uid {number}"
    typed = f"command line ({name})"
    return f"{named} by {typed}" if named else typed


def workspace(name: str) -> WorkspaceFacts:
    found = queries.workspace_named(name)
    if found is None:
        raise CommandError(f"There is no workspace “{name}”; postledger workspace list shows them.")
    return found


def account(of: WorkspaceFacts, name: str) -> AccountFacts:
    found = queries.account_named(of.id, name=name)
    if found is None:
        raise CommandError(
            f"{of.name} has no account “{name}”; postledger account list {of.name} shows them."
        )
    return found


def sender(of: WorkspaceFacts, address: str) -> SenderFacts:
    found = queries.sender_by_address(of.id, address=address)
    if found is None:
        raise CommandError(
            f"{of.name} has no sender {address}; postledger sender list {of.name} shows them."
        )
    return found


def stream(number: int, of: WorkspaceFacts | None = None) -> StreamFacts:
    """A stream by its number; of a workspace that was named, its own streams only."""
    found = mail_queries.stream(number) if 0 <= number < _NO_STREAM else None
    if found is None:
        raise CommandError(f"There is no stream {number}; postledger stream list shows the newest.")
    if of is not None and found.workspace_id != of.id:
        raise CommandError(
            f"{of.name} has no stream {number};"
            f" postledger stream list --workspace {of.name} shows its newest."
        )
    return found
