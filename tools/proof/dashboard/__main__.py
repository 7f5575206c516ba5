"""`python -m tools.proof.dashboard`: what the dashboard shows and costs beside a full ledger.

A ledger of millions of deliveries on a private PostgreSQL, a real web process and two workers. A
campaign that is launched by the API goes at its sender's rate, while its page is open in Chromium
and read five times a second. Then the pages that people open most are timed, and the questions of
every page to the database are counted.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tools.bench import cluster, pages, work
from tools.drill.saying import say

if TYPE_CHECKING:
    from uuid import UUID

    from playwright.sync_api import Page

    from tests.journeys.rig import Installation, Process
    from tools.proof.dashboard.stage import Stage

_MOST_STILL = 2.0  # seconds
_MOST_CPU = 50  # milliseconds of a refresh
_MOST_OVERVIEW, _MOST_SEARCH = 150, 300  # milliseconds
_MOST_QUERIES = 30
_SECRET = "a secret for a proof, long enough"


@dataclass(frozen=True, slots=True)
class Claim:
    text: str
    is_held: bool


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.proof.dashboard")
    parser.add_argument("--deliveries", type=int, default=5_000_000, help="in the ledger before")
    parser.add_argument("--mails", type=int, default=100_000, help="of the campaign")
    parser.add_argument("--rate", type=float, default=2_000, help="of its sender, a second")
    parser.add_argument("--visits", type=int, default=9, help="of each page that is timed")
    options = parser.parse_args()
    with cluster.running() as address, tempfile.TemporaryDirectory() as folder:
        os.environ |= {"UNSUBSCRIBE_SECRET": _SECRET, "ALLOWED_HOSTS": "127.0.0.1"}
        work.connect(address)
        claims = list(_prove(address, Path(folder), options))
    for claim in claims:
        say(f"{'held' if claim.is_held else 'BROKEN'}: {claim.text}")
    return 0 if all(claim.is_held for claim in claims) else 1


def _prove(address: str, folder: Path, options: argparse.Namespace) -> Iterator[Claim]:
    from tests.journeys import rig
    from tools.proof.dashboard import stage

    filled = pages.fill(options.deliveries, moving=0)
    made = stage.furnish(filled.workspace_id, folder, rate=options.rate, contacts=options.mails)
    with rig.installation(folder, address, UNSUBSCRIBE_SECRET=_SECRET) as installed:
        installed.two_workers()
        port = rig.free_port()
        web = _serve(installed, address, port)
        run_id = stage.launch(f"http://127.0.0.1:{port}", made)
        with _visitor(port) as page:
            yield from _watch(page, web, made, run_id, options)
            yield from _time_pages(page, web, made, options)
    yield from _count_queries(made, run_id)


def _serve(installed: "Installation", address: str, port: int) -> "Process":
    """The web process; its backends have a name, and do all their work themselves.

    Without helpers for one query, all that a page costs is on the account of its backend.
    """
    from tests.journeys.rig import COMMANDS
    from tools.proof.dashboard import cpu

    setting = quote("-c max_parallel_workers_per_gather=0")
    url = f"{address}&application_name={cpu.APPLICATION}&options={setting}"
    command = [str(COMMANDS / "postledger"), "serve", "--port", str(port)]
    return installed.serve(port, ["env", f"DATABASE_URL={url}", *command])


@contextmanager
def _visitor(port: int) -> "Iterator[Page]":
    from tests.web.dashboard import browser
    from tools.proof.dashboard import stage

    with (
        browser.chromium() as chromium,
        browser.visitor(chromium, f"http://127.0.0.1:{port}") as (page, watched),
    ):
        browser.sign_in(page, stage.OWNER)
        yield page
        assert not watched.complaints, watched.complaints
        assert not watched.strange_requests, watched.strange_requests


def _watch(
    page: "Page", web: "Process", made: "Stage", run_id: "UUID", options: argparse.Namespace
) -> Iterator[Claim]:
    from postledger.campaigns.models import Run
    from postledger.deliveries import queries
    from tools.proof.dashboard import cpu, live_page
    from tools.proof.dashboard.live_page import Changes
    from tools.proof.dashboard.server_log import ServerLog

    page.goto(f"/w/{made.workspace_id}/campaigns/runs/{run_id}/")
    meter, log = cpu.Meter(web.popen.pid), ServerLog(web.log)
    log.list_new("")
    ledger, stream_id = Changes(), Run.objects.get(pk=run_id).stream_id

    def look() -> None:
        meter.note()
        ledger.note(time.monotonic(), queries.read_books([stream_id])[stream_id])

    meter.start()
    patience = 60 + 10 * options.mails / options.rate
    seen = live_page.watch(page, mails=options.mails, patience=patience, meanwhile=look)
    refreshes = log.list_new("/live/")
    assert all(request.status == 200 for request in refreshes)
    say(
        f"{seen.readings[-1].planned:,} mails at {seen.pace:,.0f}/s; {len(seen.readings)} readings,"
        f" {len(seen.changes.moments) - 1} changes, {len(refreshes)} refreshes, no reload"
    )
    still = seen.changes.longest_gap
    yield Claim(
        f"the page stood still for {still:.2f} s at most (of {_MOST_STILL:.0f} s),"
        f" the ledger itself for {ledger.longest_gap:.2f} s",
        still <= _MOST_STILL,
    )
    wrong = f"{len(seen.wrong)} of {len(seen.readings)} readings do not add up"
    yield Claim(wrong, not seen.wrong)
    each, database = (1000 * used / len(refreshes) for used in (meter.used, meter.of_database))
    clock = statistics.median(request.milliseconds for request in refreshes)
    yield Claim(
        f"a refresh costs {each:.1f} ms of CPU, {database:.1f} ms of it in the database"
        f" (of {_MOST_CPU} ms), and takes {clock:.0f} ms in the web process",
        each <= _MOST_CPU,
    )


def _time_pages(
    page: "Page", web: "Process", made: "Stage", options: argparse.Namespace
) -> Iterator[Claim]:
    from tools.proof.dashboard.server_log import ServerLog

    log = ServerLog(web.log)
    start = f"/w/{made.workspace_id}/"
    searches = [f"{start}messages/?q={quote(who)}" for who in _list_addresses(options)]
    for name, urls, route, most in (
        ("Overview", [start] * options.visits, "/w/<int:workspace_id>/", _MOST_OVERVIEW),
        ("a search by address", searches, "/messages/", _MOST_SEARCH),
    ):
        log.list_new("")
        whole = [_time_visit(page, url) for url in urls]
        inside = statistics.median(request.milliseconds for request in log.list_new(route))
        median = statistics.median(whole)
        yield Claim(
            f"{name} takes {median:.0f} ms until its last byte, {inside:.0f} ms of it in the web"
            f" process (of {most} ms; medians of {len(whole)}, the slowest took {max(whole):.0f})",
            median <= most,
        )


def _list_addresses(options: argparse.Namespace) -> Iterator[str]:
    """Of people all over the ledger, each with mail of every run."""
    people = max(options.deliveries // (2 * pages.RUNS), options.visits)
    return (
        f"person-{number * people // options.visits}@example.com"
        for number in range(options.visits)
    )


def _time_visit(page: "Page", url: str) -> float:
    answer = page.goto(url)
    assert answer is not None
    assert answer.ok, answer.status
    return float(
        page.evaluate(
            "() => { const [n] = performance.getEntriesByType('navigation');"
            " return n.responseEnd - n.requestStart; }"
        )
    )


def _count_queries(made: "Stage", run_id: "UUID") -> Iterator[Claim]:
    from tools.proof.dashboard import queries, stage

    counted = list(queries.count(stage.name_examples(made, run_id), address=pages.NAMED))
    for one in sorted(counted, key=lambda one: -one.queries):
        say(f"{one.queries:>4} queries: {one.name} ({one.status})")
    most = max(counted, key=lambda one: one.queries)
    yield Claim(
        f"{len(counted)} pages need {most.queries} queries at most, {most.name} the most"
        f" (of {_MOST_QUERIES})",
        most.queries <= _MOST_QUERIES,
    )


if __name__ == "__main__":
    sys.exit(main())
