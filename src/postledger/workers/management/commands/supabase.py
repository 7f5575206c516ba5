"""`postledger supabase`: syncs contacts with a Supabase project, and shows how that goes."""

from typing import override

from postledger.contacts.supabase import overview, refusals, syncing
from postledger.contacts.supabase.models import SupabaseProblem, SupabaseSync
from postledger.contacts.supabase.overview import Overview
from postledger.workers import nouns

_MOST = 50


class Command(nouns.NounCommand):
    help = "Syncs the first workspace's contacts with the subscribers of a Supabase project."

    @override
    def add_verbs(self, verb: nouns.Verb) -> None:
        synced = verb("sync", self._sync, "Goes through all subscribers now, or to a pass's end.")
        synced.add_argument(
            "--accept-missing",
            action="store_true",
            help="delete the contacts of all rows that are gone, however many they are",
        )
        shown = verb("status", self._show, "Shows the last pass, and what went wrong with rows.")
        shown.add_argument("--most", type=int, default=_MOST, help="how many rows to show")

    def _sync(self, *, accept_missing: bool, **_: object) -> None:
        syncing.sync_all(accepts_missing=accept_missing)
        self._show(most=_MOST)

    def _show(self, *, most: int, **_: object) -> None:
        if not syncing.is_set_up():
            self.stdout.write(f"No Supabase project is set up; {refusals.SET_KEY} does it.")
        found = overview.overview(most=max(most, 0))
        if found is None:
            self.stdout.write("Nothing was synced yet.")
            return
        self._tell(found.sync)
        self._list(found)

    def _tell(self, sync: SupabaseSync) -> None:
        if sync.started_at is not None:
            self.stdout.write(f"A pass is under way since {sync.started_at:%Y-%m-%d %H:%M} UTC.")
        elif sync.finished_at is not None:
            self.stdout.write(f"The last pass ended at {sync.finished_at:%Y-%m-%d %H:%M} UTC.")
        self.stdout.write(
            f"{sync.read_count} subscribers read: {sync.created_count} new contacts,"
            f" {sync.renamed_count} new From names, {sync.ended_count} left or bounced there,"
            f" {sync.written_count} written to Supabase, {sync.gone_count} deleted there,"
            f" {sync.returned_count} there again."
        )
        if sync.trouble is not None:
            what = "did not end as it should" if sync.started_at is None else "does not go on"
            self.stdout.write(f"It {what} since {sync.troubled_at:%Y-%m-%d %H:%M} UTC:")
            self.stdout.write(f"  {sync.trouble}")

    def _list(self, found: Overview) -> None:
        if not found.problem_count:
            self.stdout.write("No row needs to be looked at.")
            return
        self.stdout.write(f"Rows that could not be taken, written or found: {found.problem_count}.")
        for problem in found.problems:
            self.stdout.write(_line(problem))


def _line(problem: SupabaseProblem) -> str:
    since = f"{problem.since:%Y-%m-%d %H:%M}"
    return f"  {problem.shown}  not {problem.way} since {since} UTC  {problem.problem}"
