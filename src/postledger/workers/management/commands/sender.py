"""`postledger sender`: From identities, and the accounts that take their mail."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never, override

from django.core.management.base import CommandError
from django.db import transaction

from postledger.accounts import actions, queries, trail
from postledger.accounts.queries import SenderFacts, WorkspaceFacts
from postledger.deliveries import ledger
from postledger.workers import nouns


@dataclass(frozen=True, slots=True)
class Server:
    """An SMTP server, for which an account is made."""

    host: str
    port: str


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The workspace's account in the sandbox."""


type Way = str | Server | Sandbox | None  # the text is the name of an account


class Command(nouns.NounCommand):
    help = "Makes and lists senders, and attaches them to accounts."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        create = verb("create", self._create, "Makes a sender, with its account when you say so.")
        create.add_argument("workspace")
        create.add_argument("address")
        create.add_argument("--name", default="", help="shown beside the address")
        _add_ways(create)

        attach = verb("attach", self._attach, "Lets another account take the sender's mail.")
        attach.add_argument("workspace")
        attach.add_argument("address")
        attach.add_argument("--account", required=True, metavar="NAME")

        release = verb("release", self._release, "Ends the hold of a sender that was mended.")
        release.add_argument("workspace")
        release.add_argument("address")

        verb("list", self._list, "Lists the senders of a workspace.").add_argument("workspace")

    def _create(
        self, *, workspace: str, address: str, name: str, way: Way, tls: str | None, **_: object
    ) -> None:
        if tls and not isinstance(way, Server):
            raise CommandError("--tls belongs to --smtp HOST:PORT: give both, or neither.")
        found = nouns.workspace(workspace)
        # An account that is made on the way is not left behind when the sender is refused.
        with transaction.atomic():
            account_id = _account(found, way, tls)
            actions.create_sender(
                found.id, address=address, name=name, account_id=account_id, actor=nouns.actor()
            )
        self.stdout.write(f"Created the sender {address} of {found.name}.")
        if account_id is None:
            self.stdout.write(
                "Its mail waits until it has an account:"
                f" postledger sender attach {found.name} {address} --account NAME."
            )

    def _attach(self, *, workspace: str, address: str, account: str, **_: object) -> None:
        found = nouns.workspace(workspace)
        sender = nouns.sender(found, address)
        taker = nouns.account(found, account)
        actions.attach_sender(
            found.id, sender_id=sender.id, account_id=taker.id, actor=nouns.actor()
        )
        self.stdout.write(f"The mail of {sender.address} now goes through {taker.name}.")

    def _release(self, *, workspace: str, address: str, **_: object) -> None:
        found = nouns.workspace(workspace)
        sender = nouns.sender(found, address)
        with transaction.atomic():
            if not ledger.release_sender(sender.id):
                self.stdout.write(f"{sender.address} is not held: its mail goes.")
                return
            trail.note(
                found.id,
                actor=nouns.actor(),
                action="sender.released",
                subject=f"sender {sender.id}",
            )
        self.stdout.write(f"The mail of {sender.address} goes on.")

    def _list(self, *, workspace: str, **_: object) -> None:
        found = nouns.workspace(workspace)
        senders = queries.senders(found.id)
        if not senders:
            self.stdout.write(f"{found.name} has no sender; postledger sender create makes one.")
        for sender in senders:
            self.stdout.write(_line(sender))


def server(text: str) -> Server:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not HOST:PORT; write it as 127.0.0.1:2525")
    return Server(host, port)


def _add_ways(parser: ArgumentParser) -> None:
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--account", dest="way", metavar="NAME", help="an account that is there")
    ways.add_argument(
        "--smtp",
        dest="way",
        type=server,
        metavar="HOST:PORT",
        help="makes an account at a server that asks for no password",
    )
    ways.add_argument(
        "--sandbox",
        dest="way",
        action="store_const",
        const=Sandbox(),
        help="the account that sends to nobody; made when it is missing",
    )
    parser.add_argument("--tls", choices=["none", "starttls", "implicit"], help="with --smtp")


def _account(workspace: WorkspaceFacts, way: Way, tls: str | None) -> int | None:
    match way:
        case None:
            return None
        case str():
            return nouns.account(workspace, way).id
        case Server(host, port):
            settings = {"host": host, "port": port} | ({"tls": tls} if tls else {})
            return _create(workspace, name=f"{host}:{port}", kind="smtp", settings=settings)
        case Sandbox():
            found = queries.account_named(workspace.id, name="sandbox")
            if found is not None and found.kind == "sandbox":
                return found.id
            return _create(workspace, name="sandbox", kind="sandbox", settings={})
        case _:
            assert_never(way)


def _create(
    workspace: WorkspaceFacts, *, name: str, kind: str, settings: Mapping[str, object]
) -> int:
    return actions.create_account(
        workspace.id, name=name, kind=kind, settings=settings, actor=nouns.actor()
    )


def _line(sender: SenderFacts) -> str:
    name = f"  “{sender.name}”" if sender.name else ""
    way = f"through {sender.account_name}" if sender.account_name else "no account: its mail waits"
    return f"{sender.address}{name}  {way}"
