"""`postledger fence`: shows what a restore lost, reads evidence about it, and lifts the fence."""

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import override
from urllib.parse import unquote

from django.core.management.base import CommandError

from postledger.accounts import sealing
from postledger.cli import base_command
from postledger.contacts import unsubscribe_links
from postledger.contacts.actions import suppression
from postledger.contacts.consent import Origin
from postledger.deliveries import entries, ledger, provider_logs, queries
from postledger.deliveries.entries import Evidence
from postledger.deliveries.explanations.explain import format_time

_ONE_CLICK = re.compile(r"\bPOST [^\s\"]*?[?&]token=([^&\s\"]{1,4000})")
_CAUSES = {
    "identity": "this database was restored, promoted or copied",
    "witness": "this database went back in time: workers have recorded later numbers",
}


class Command(base_command.NounCommand):
    help = "Shows and lifts the fence that keeps a restored or copied database from sending."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        verb(
            "show",
            self._show,
            "Shows which streams are fenced, and why; first puts mail in doubt that the lost time"
            " may have sent.",
        )
        evidence = verb(
            "evidence",
            self._evidence,
            "Reads a provider's logs or events for mail that it accepted.",
        )
        unsubscribes = verb(
            "unsubscribes",
            self._unsubscribes,
            "Reads the web server's access logs for unsubscribes in the lost time.",
        )
        for parser in (evidence, unsubscribes):
            parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        lift = verb("lift", self._lift, "Lets streams send again.")
        lift.add_argument("streams", nargs="*", type=int, metavar="STREAM")
        lift.add_argument(
            "--all", dest="is_all", action="store_true", help="all streams, future ones too"
        )
        lift.add_argument(
            "--without-consent",
            action="store_true",
            help="campaigns too, without unsubscribes of the lost time",
        )

    def _show(self) -> None:
        epoch = ledger.current_epoch()
        if not epoch.is_fenced:
            self.stdout.write(f"Not fenced: mail is sent (epoch {epoch.number}).")
            return
        self.stdout.write(
            f"Fenced since {format_time(epoch.began_at)}: sending is blocked, because"
            f" {_CAUSES.get(epoch.cause, epoch.cause)} (epoch {epoch.number})."
        )
        if epoch.gap_from and epoch.gap_to:
            begin, end = format_time(epoch.gap_from), format_time(epoch.gap_to)
            self.stdout.write(f"Lost time: from {begin} to {end}.")
        fenced_streams = _put_in_doubt()
        for stream in queries.list_fenced_streams(fenced_streams):
            self.stdout.write(
                f"{stream.id}  {stream.kind}  “{stream.title}”  waiting: {stream.waiting_count}"
                f"  in doubt because of the lost time: {stream.lost_time_count}"
            )
        if unmatched := queries.count_unmatched():
            self.stdout.write(f"Evidence that matches no mail: {unmatched}.")
        self._show_steps(epoch)

    def _show_steps(self, epoch: ledger.Epoch) -> None:
        self.stdout.write("Next: postledger fence evidence FILE, with logs of the lost time; then")
        if epoch.consent_restored_at is None:
            self.stdout.write(
                "postledger fence unsubscribes FILE (without it campaigns stay fenced); then"
            )
        self.stdout.write(
            "postledger fence lift STREAM, or lift --all. See docs/runbook/restore.md."
        )

    def _evidence(self, *, files: list[Path]) -> None:
        _put_in_doubt()
        number = ledger.current_epoch().number
        mails: defaultdict[int, dict[int, Evidence]] = defaultdict(dict)
        for mention in provider_logs.mentions(_read_lines(files), sealing.reference_keys()):
            delivery = mention.delivery_id
            # A Message-ID names no epoch: it is evidence about the lost time only.
            epoch = number - 1 if mention.epoch is None else mention.epoch
            entry = entries.accepted(delivery.position, message_id=None)
            mails[delivery.stream_id][delivery.position] = Evidence(
                max(delivery.try_number, 1), entry, "provider's log", epoch
            )
        accepted = sum(
            ledger.record_log(stream_id, list(evidence.values()))
            for stream_id, evidence in mails.items()
        )
        mentioned = sum(map(len, mails.values()))
        self.stdout.write(
            f"The files mention {mentioned} mails; {accepted} of them were in doubt and are now"
            " accepted."
        )

    def _unsubscribes(self, *, files: list[Path]) -> None:
        count = sum(_unsubscribe(token) for token in dict.fromkeys(_find_tokens(files)))
        if not count:
            raise CommandError(
                "These files contain no unsubscribe of this installation. If there was none in the"
                " lost time, use postledger fence lift --without-consent."
            )
        ledger.note_consent_restored()
        self.stdout.write(f"Imported unsubscribes: {count}.")

    def _lift(self, *, streams: list[int], is_all: bool, without_consent: bool) -> None:
        if bool(streams) == is_all:
            raise CommandError("Name the streams, or use --all.")
        epoch = ledger.current_epoch()
        includes_campaigns = without_consent or epoch.consent_restored_at is not None
        if is_all:
            ledger.lift_all(campaigns=includes_campaigns, epoch=epoch.number)
            kept = (
                "" if includes_campaigns else " Campaigns stay fenced: see postledger fence show."
            )
            self.stdout.write(f"The fence is lifted.{kept}")
            return
        for number in streams:
            self._lift_one(number, epoch=epoch.number, includes_campaigns=includes_campaigns)
        self.stdout.write("New streams stay fenced until lift --all.")

    def _lift_one(self, number: int, *, epoch: int, includes_campaigns: bool) -> None:
        stream = base_command.stream(number)
        if stream.kind is entries.StreamKind.CAMPAIGN and not includes_campaigns:
            raise CommandError(
                f"Stream {number} is a campaign: it would mail people who unsubscribed in the lost"
                " time. Run postledger fence unsubscribes first, or use --without-consent."
            )
        ledger.lift_stream(number, epoch=epoch)
        self.stdout.write(f"Stream {number} sends again.")


def _put_in_doubt() -> list[int]:
    """Puts mail that may have been sent in the lost time in doubt; returns the fenced streams."""
    streams = ledger.fenced_streams()
    for stream_id in streams:
        ledger.put_all_in_doubt(stream_id)
    return streams


def _read_lines(files: list[Path]) -> Iterator[str]:
    for path in files:
        try:
            with path.open(errors="replace") as file:
                yield from file
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from None


def _find_tokens(files: list[Path]) -> Iterator[str]:
    for line in _read_lines(files):
        for token in _ONE_CLICK.findall(line):
            yield unquote(token)


def _unsubscribe(token: str) -> bool:
    """Unsubscribes the link's recipient; False if the link is not ours."""
    owner = unsubscribe_links.read_link(token)
    if owner is None:
        return False
    origin = Origin("access log", base_command.actor())
    suppression.unsubscribe(
        owner.workspace_id, request=owner.request, origin=origin, now=datetime.now(UTC)
    )
    return True
