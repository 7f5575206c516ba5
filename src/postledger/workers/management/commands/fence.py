"""`postledger fence`: what a restore lost, what is known of it elsewhere, and when to go on."""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import override
from urllib.parse import unquote

from django.conf import settings
from django.core.management.base import CommandError

from postledger.accounts import sealing
from postledger.contacts import actions, unsubscribe
from postledger.contacts import queries as contacts
from postledger.contacts.consent import Origin
from postledger.deliveries import entries, ledger, provider_logs, queries
from postledger.deliveries.entries import Evidence
from postledger.workers import nouns

_ONE_CLICK = re.compile(r"\bPOST [^\s\"]*?[?&]token=([^&\s\"]{1,4000})")
_CAUSES = {
    "identity": "this database is another one than before: restored, promoted or copied",
    "witness": "this database has gone back in time: workers have seen later numbers",
}


class Command(nouns.NounCommand):
    help = "Shows and lifts the fence that keeps a restored or copied database from sending."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        verb("show", self._show, "Shows what the fence keeps back, and why it fell.")
        evidence = verb(
            "evidence", self._evidence, "Reads logs or events of a provider for mail it has taken."
        )
        evidence.add_argument("files", nargs="+", type=Path, metavar="FILE")
        consent = verb(
            "unsubscribes",
            self._unsubscribes,
            "Reads access logs of the web server for people who unsubscribed meanwhile.",
        )
        consent.add_argument("files", nargs="+", type=Path, metavar="FILE")
        lift = verb("lift", self._lift, "Lets streams send again.")
        lift.add_argument("streams", nargs="*", type=int, metavar="STREAM")
        lift.add_argument(
            "--all", dest="is_all", action="store_true", help="every stream, also future ones"
        )
        lift.add_argument(
            "--without-consent",
            action="store_true",
            help="campaigns too, although unsubscribes of the lost time were not imported",
        )

    def _show(self, **_: object) -> None:
        epoch = ledger.current_epoch()
        if not epoch.is_fenced:
            self.stdout.write(f"The fence is up: mail is sent (epoch {epoch.number}).")
            return
        self.stdout.write(
            f"The fence has been down since {_time(epoch.began_at)}, because"
            f" {_CAUSES.get(epoch.cause, epoch.cause)} (epoch {epoch.number})."
        )
        if epoch.gap_from and epoch.gap_to:
            self.stdout.write(
                f"Lost: what happened from {_time(epoch.gap_from)} to {_time(epoch.gap_to)}."
            )
        self._show_streams()
        if unmatched := queries.unmatched_count():
            self.stdout.write(f"Evidence that names no mail it may act on: {unmatched}.")
        self._show_steps(epoch)

    def _show_streams(self) -> None:
        for stream in queries.fenced_streams(_put_in_doubt()):
            self.stdout.write(
                f"{stream.id}  {stream.kind}  “{stream.title}”  waiting: {stream.waiting_count}"
                f"  in doubt because of the lost time: {stream.lost_time_count}"
            )

    def _show_steps(self, epoch: ledger.Epoch) -> None:
        self.stdout.write("Next: postledger fence evidence FILE, with logs of the lost time; then")
        if epoch.consent_restored_at is None:
            self.stdout.write(
                "postledger fence unsubscribes FILE, without which campaigns stay fenced; then"
            )
        self.stdout.write("postledger fence lift STREAM, or lift --all. See the runbook: restore.")

    def _evidence(self, *, files: list[Path], **_: object) -> None:
        _put_in_doubt()
        number = ledger.current_epoch().number
        mails: defaultdict[int, dict[int, Evidence]] = defaultdict(dict)
        for mention in provider_logs.mentions(_lines(files), sealing.reference_keys()):
            delivery = mention.delivery_id
            # A Message-ID names no epoch: it may speak for what the lost time did, for no more.
            epoch = number - 1 if mention.epoch is None else mention.epoch
            entry = entries.accepted(delivery.position, message_id=None)
            mails[delivery.stream_id][delivery.position] = Evidence(
                max(delivery.try_number, 1), entry, "provider's log", epoch
            )
        accepted = sum(
            ledger.record_log(stream_id, list(found.values())) for stream_id, found in mails.items()
        )
        mentioned = sum(len(found) for found in mails.values())
        self.stdout.write(
            f"Mails that the files mention: {mentioned}; in doubt until now and accepted:"
            f" {accepted}."
        )

    def _unsubscribes(self, *, files: list[Path], **_: object) -> None:
        count = sum(_unsubscribe(token) for token in dict.fromkeys(_tokens(files)))
        if not count:
            raise CommandError(
                "These files have no unsubscribe of ours in them. If nobody unsubscribed in the"
                " lost time, say so with postledger fence lift --without-consent."
            )
        ledger.note_consent_restored()
        self.stdout.write(f"People who unsubscribed by these files: {count}.")

    def _lift(
        self,
        *,
        streams: list[int],
        is_all: bool,
        without_consent: bool,
        **_: object,
    ) -> None:
        if bool(streams) == is_all:
            raise CommandError("Name the streams, or say --all.")
        epoch = ledger.current_epoch()
        may_mail_lists = without_consent or epoch.consent_restored_at is not None
        if is_all:
            ledger.lift_all(campaigns=may_mail_lists, epoch=epoch.number)
            kept = "" if may_mail_lists else " Campaigns stay fenced: see postledger fence show."
            self.stdout.write(f"The fence is up.{kept}")
            return
        for number in streams:
            self._lift_one(number, epoch=epoch.number, may_mail_lists=may_mail_lists)
        self.stdout.write("Streams that are opened from now on stay fenced until lift --all.")

    def _lift_one(self, number: int, *, epoch: int, may_mail_lists: bool) -> None:
        stream = nouns.stream(number)
        if stream.kind is entries.Kind.CAMPAIGN and not may_mail_lists:
            raise CommandError(
                f"Stream {number} is a campaign: people who unsubscribed in the lost time would be"
                " mailed. Import them with postledger fence unsubscribes, or say --without-consent."
            )
        ledger.lift_stream(number, epoch=epoch)
        self.stdout.write(f"Stream {number} sends again.")


def _put_in_doubt() -> list[int]:
    """Puts what the lost time may have sent in doubt, and returns the fenced streams."""
    streams = ledger.fenced_streams()
    for stream_id in streams:
        while ledger.put_in_doubt(stream_id):
            pass
    return streams


def _lines(files: list[Path]) -> Iterator[str]:
    for path in files:
        try:
            with path.open(errors="replace") as file:
                yield from file
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None


def _tokens(files: list[Path]) -> Iterator[str]:
    for line in _lines(files):
        for token in _ONE_CLICK.findall(line):
            yield unquote(token)


def _unsubscribe(token: str) -> bool:
    """Does what the link's owner asked for; False for a link that is not ours."""
    known = (settings.UNSUBSCRIBE_SECRET, settings.UNSUBSCRIBE_SECRET_PREVIOUS)
    wish = unsubscribe.read(token, secrets=[secret.encode() for secret in known])
    workspace_id = None if wish is None else contacts.workspace_of(wish)
    if wish is None or workspace_id is None:
        return False
    origin = Origin("access log", nouns.actor())
    actions.unsubscribe(workspace_id, wish=wish, origin=origin, now=datetime.now(UTC))
    return True


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
