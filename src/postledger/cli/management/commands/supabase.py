"""`postledger supabase`: syncs contacts with a Supabase project, and shows the sync's state."""

from typing import override

from postledger.cli import base_command
from postledger.supabase import errors, syncing
from postledger.supabase.models import Sync, SyncProblem

_MOST_ROWS = 50


class Command(base_command.NounCommand):
    help = "Syncs the first workspace's contacts with the subscribers of a Supabase project."

    @override
    def add_verbs(self, verb: base_command.Verb) -> None:
        sync = verb("sync", self._sync, "Syncs all subscribers now, or finishes the current pass.")
        sync.add_argument(
            "--accept-missing",
            action="store_true",
            help="delete the contacts of all missing rows, whatever their number",
        )
        status = verb("status", self._show_status, "Shows the last pass and rows with problems.")
        status.add_argument("--most", type=int, default=_MOST_ROWS, help="how many rows to show")

    def _sync(self, *, accept_missing: bool) -> None:
        syncing.sync_all(accepts_missing=accept_missing)
        self._show_status(most=_MOST_ROWS)

    def _show_status(self, *, most: int) -> None:
        if not syncing.is_set_up():
            self.stdout.write(f"No Supabase project is configured; use {errors.SET_KEY}.")
        status = syncing.read_status(most=max(most, 0))
        if status is None:
            self.stdout.write("Nothing has been synced yet.")
            return
        self._show_pass(status.sync)
        if not status.problem_count:
            self.stdout.write("No row has a problem.")
            return
        self.stdout.write(
            f"Rows that could not be applied, written or found: {status.problem_count}."
        )
        for problem in status.problems:
            self.stdout.write(_describe(problem))

    def _show_pass(self, sync: Sync) -> None:
        if sync.started_at is not None:
            self.stdout.write(
                f"A pass has been running since {sync.started_at:%Y-%m-%d %H:%M} UTC."
            )
        elif sync.finished_at is not None:
            self.stdout.write(f"The last pass ended at {sync.finished_at:%Y-%m-%d %H:%M} UTC.")
        self.stdout.write(
            f"{sync.read_count} subscribers read: {sync.created_count} new contacts,"
            f" {sync.renamed_count} new From names, {sync.ended_count} unsubscribed or bounced"
            f" there, {sync.written_count} written to Supabase, {sync.gone_count} deleted there,"
            f" {sync.returned_count} there again."
        )
        if sync.trouble is not None:
            what = "failed at" if sync.started_at is None else "has been interrupted since"
            self.stdout.write(f"The pass {what} {sync.troubled_at:%Y-%m-%d %H:%M} UTC:")
            self.stdout.write(f"  {sync.trouble}")


def _describe(problem: SyncProblem) -> str:
    since = f"{problem.since:%Y-%m-%d %H:%M}"
    failure = problem.failure.replace("_", " ")
    return f"  {problem.shown}  {failure} since {since} UTC  {problem.problem}"
