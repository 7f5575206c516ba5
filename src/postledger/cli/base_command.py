"""Base classes of the commands, and lookups of what their arguments name."""

import os
import pwd
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any, override

from django.core.management.base import BaseCommand, CommandError

from postledger.accounts import queries
from postledger.accounts.models import Member, ProviderAccount, Sender, Workspace
from postledger.deliveries import queries as mail_queries
from postledger.deliveries.queries import StreamFacts
from postledger.lib.errors import ConflictError, RefusedError

type Run = Callable[..., None]
type Verb = Callable[[str, Run, str], ArgumentParser]

_STREAM_LIMIT = 1 << 48  # delivery ids have room for smaller stream numbers only


class RefusableCommand(BaseCommand):
    """A refusal ends the command with the refusal's message."""

    @override
    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except RefusedError as refused:
            raise CommandError(str(refused)) from None


class NounCommand(RefusableCommand):
    """`postledger NOUN VERB …`: runs the method of a verb with the arguments that it declares.

    `actor` is always available; `workspace` is, where the parser has a workspace argument.
    """

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(required=True, metavar="VERB")

        def add_verb(name: str, run: Run, help_: str) -> ArgumentParser:
            verb_parser = verbs.add_parser(name, help=help_, description=help_)
            verb_parser.set_defaults(run=run)
            return verb_parser

        self.add_verbs(add_verb)

    def add_verbs(self, verb: Verb) -> None:
        raise NotImplementedError

    @override
    def handle(self, *args: object, run: Run, **options: Any) -> None:
        options["actor"] = actor(options.get("actor", ""))
        if "workspace_name" in options:
            name = options["workspace_name"]
            options["workspace"] = None if name is None else workspace(name)
        declared = signature(run).parameters
        run(**{name: value for name, value in options.items() if name in declared})


def add_workspace(parser: ArgumentParser) -> None:
    parser.add_argument("workspace_name", metavar="workspace")


def add_workspace_option(parser: ArgumentParser, help_: str = "only this workspace") -> None:
    parser.add_argument("--workspace", dest="workspace_name", metavar="NAME", help=help_)


def add_actor_option(parser: ArgumentParser) -> None:
    parser.add_argument("--actor", default="", metavar="NAME", help="recorded as who decided")


def actor(given_name: str = "") -> str:
    """The user who runs the process; environment variables could be forged.

    A given name is added: where several people share a user, it tells them apart.
    """
    number = os.getuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:  # usual in containers
        name = f"uid {number}"
    user = f"command line ({name})"
    return f"{given_name} by {user}" if given_name else user


def workspace(name: str) -> Workspace:
    row = queries.workspace_named(name)
    if row is None:
        raise CommandError(f"There is no workspace “{name}”; see postledger workspace list.")
    return row


def account(owner: Workspace, name: str) -> ProviderAccount:
    row = queries.account_named(owner.id, name=name)
    if row is None:
        raise CommandError(
            f"{owner.name} has no account “{name}”; see postledger account list {owner.name}."
        )
    return row


def sender(owner: Workspace, address: str) -> Sender:
    row = queries.sender_by_address(owner.id, address=address)
    if row is None:
        raise CommandError(
            f"{owner.name} has no sender {address}; see postledger sender list {owner.name}."
        )
    return row


def member(owner: Workspace, email: str) -> Member:
    row = queries.member_by_email(owner.id, email=email)
    if row is None:
        raise CommandError(
            f"{owner.name} has no member {email}; see postledger member list {owner.name}."
        )
    return row


@contextmanager
def asking_for_yes() -> Iterator[None]:
    """Says how to archive something although mail waits for it."""
    try:
        yield
    except ConflictError as refused:
        if refused.code != "mail_waits":
            raise
        reason = str(refused).partition(".")[0]
        raise CommandError(
            f"{reason}. Archive it when they are sent; or cancel their"
            " streams (postledger stream list, postledger stream cancel NUMBER); or add --yes: then"
            " it takes no new mail, and what waits is still sent."
        ) from None


def stream(number: int, owner: Workspace | None = None) -> StreamFacts:
    """A stream by its number; with an owner, only one of its streams."""
    facts = mail_queries.find_stream(number) if 0 <= number < _STREAM_LIMIT else None
    if facts is None:
        raise CommandError(f"There is no stream {number}; see postledger stream list.")
    if owner is not None and facts.workspace_id != owner.id:
        raise CommandError(
            f"{owner.name} has no stream {number};"
            f" see postledger stream list --workspace {owner.name}."
        )
    return facts
