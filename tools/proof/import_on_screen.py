"""`python -m tools.proof.import_on_screen`: a large file is imported in Chromium, under kill -9.

A real web process and a worker on a private PostgreSQL. A person uploads the file, tries it and
starts it by screens; meanwhile the worker is killed, and the page is left and found again. Then the
contacts are counted.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tools.bench import cluster, work
from tools.drill.saying import say

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.journeys.rig import Process

_LEFT = 100  # people of the file who unsubscribed from the list before
_ROWS_OF_A_MOVE = 20_000  # at most: two chunks of an import
_PATIENCE = 900_000  # milliseconds: other work may run on the same machine
_OWNER = "owner@acme.example"
_SECRET = "a secret for a proof, long enough"


@dataclass(frozen=True, slots=True)
class Claim:
    text: str
    is_held: bool


@dataclass
class Watched:
    """What the page showed of an import, from its start to its end."""

    shown: list[int] = field(default_factory=list)  # rows that were done, each time they changed
    kills: int = 0
    returns: int = 0

    def note(self, done: int) -> None:
        if not self.shown or self.shown[-1] != done:
            self.shown.append(done)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.proof.import_on_screen")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=3, help="of the worker, by -9")
    options = parser.parse_args()
    with cluster.running() as address, tempfile.TemporaryDirectory() as folder:
        os.environ |= {"UNSUBSCRIBE_SECRET": _SECRET, "ALLOWED_HOSTS": "127.0.0.1"}
        work.connect(address)
        claims = list(_prove(address, Path(folder), options.rows, options.kills))
    for claim in claims:
        say(f"{'held' if claim.is_held else 'BROKEN'}: {claim.text}")
    return 0 if all(claim.is_held for claim in claims) else 1


def _prove(address: str, folder: Path, rows: int, kills: int) -> Iterator[Claim]:
    from tests.journeys import rig

    workspace_id = _furnish()
    file = folder / "people.csv"
    file.write_text(_write_file(rows))
    with rig.installation(folder, address, UNSUBSCRIBE_SECRET=_SECRET) as installed:
        port = rig.free_port()
        installed.web(port)
        worker = installed.worker("--beat")
        with _visitor(port) as page:
            import_id, tried = _try_file(page, workspace_id, file)
            watched = _import_file(page, workspace_id, import_id, worker, rows, kills)
            imported = _read_sum(page)
    yield from _judge_screens(watched, rows, kills, tried, imported)
    yield from _judge_contacts(workspace_id, rows)


def _furnish() -> int:
    """A workspace with an owner, a list, and people who have left it."""
    from django.core.management import call_command

    from postledger.accounts.people import first_run
    from tests.contacts import people
    from tests.web.dashboard import browser

    call_command("migrate", verbosity=0)
    workspace_id = people.workspace()
    code = first_run.issue_code()
    assert code is not None
    first_run.create_owner(code, email=_OWNER, name="Owner", password=browser.PASSWORD)
    people.news(workspace_id)
    for number in range(_LEFT):
        people.leave(workspace_id, f"r{number * 10 + 1}@example.com", "news")
    return workspace_id


def _write_file(rows: int) -> str:
    """One row of 1,000 is no address, another repeats the row before it."""
    lines = [
        f"nobody;Nobody {n};PT"
        if n % 1_000 == 7
        else f"R{n - 1}@Example.com;Again;PT"
        if n % 1_000 == 9
        else f"r{n}@example.com;Person {n};PT"
        for n in range(rows)
    ]
    return "Mail;Name;Land\n" + "\n".join(lines) + "\n"


@contextmanager
def _visitor(port: int) -> Iterator["Page"]:
    from tests.web.dashboard import browser

    with (
        browser.chromium() as chromium,
        browser.visitor(chromium, f"http://127.0.0.1:{port}") as (page, _watch),
    ):
        page.set_default_timeout(_PATIENCE)
        browser.sign_in(page, _OWNER)
        yield page


def _try_file(page: "Page", workspace_id: int, file: Path) -> tuple[int, list[int]]:
    """Uploads the file, maps a column and makes the dry run; its number, and what it would do."""
    page.goto(f"/w/{workspace_id}/imports/")
    page.set_input_files("input[name=file]", file)
    page.click("form[enctype] button[type=submit]")
    page.wait_for_selector("#columns")
    page.fill("input[name=key-2]", "country")
    page.select_option("select[name=list]", "news")
    started = time.monotonic()
    page.click("#columns button[type=submit]")
    page.wait_for_selector("#dry-run")
    say(f"the dry run took {time.monotonic() - started:.0f} s, watched in the page")
    return int(page.url.rstrip("/").rpartition("/")[2]), _read_sum(page)


def _import_file(
    page: "Page", workspace_id: int, import_id: int, worker: "Process", rows: int, kills: int
) -> Watched:
    """Starts it, watches it, kills its worker and leaves the page on the way."""
    watched, started = Watched(), time.monotonic()
    page.click(".dock button[type=submit]")
    while not _has_ended(page):
        done = _read_done(page)
        if done is not None:
            watched.note(done)
            if watched.kills < kills and done >= rows * (watched.kills + 1) // (kills + 2):
                _kill_child(worker)
                watched.kills += 1
                _leave_and_return(page, workspace_id, import_id)
                watched.returns += 1
        time.sleep(0.1)
    say(f"the import took {time.monotonic() - started:.0f} s with {watched.kills} kills")
    return watched


def _has_ended(page: "Page") -> bool:
    return page.locator(".badge[data-state=sent]").count() > 0


def _read_done(page: "Page") -> int | None:
    """The rows that the page shows as done; None while it shows no progress."""
    progress = page.evaluate("document.querySelector('#live progress')?.getAttribute('value')")
    return int(progress) if progress else None


def _kill_child(worker: "Process") -> None:
    """By -9, as the kernel does it for want of memory; the supervisor starts another."""
    from tests import children

    for pid in children.pids(worker.popen.pid):
        os.kill(pid, signal.SIGKILL)


def _leave_and_return(page: "Page", workspace_id: int, import_id: int) -> None:
    page.goto(f"/w/{workspace_id}/")
    page.click(".nav a[href$='/imports/']")
    page.click(f"main a[href$='/imports/{import_id}/'] >> nth=0")
    page.wait_for_selector("#live")


def _read_sum(page: "Page") -> list[int]:
    """The rows of the file and their kinds, as the page sums them up."""
    texts = page.locator(".balance-sum .num").all_inner_texts()
    return [int("".join(filter(str.isdecimal, text))) for text in texts]


def _judge_screens(
    watched: Watched, rows: int, kills: int, tried: list[int], imported: list[int]
) -> Iterator[Claim]:
    is_forward = watched.shown == sorted(watched.shown)
    yield Claim(
        f"the page showed {len(watched.shown)} numbers of done rows, each after the last",
        is_forward and len(watched.shown) >= rows // _ROWS_OF_A_MOVE,
    )
    yield Claim(
        f"its worker was killed {watched.kills} times, and each time the page was left for another"
        " and found again under Imports",
        watched.kills == watched.returns == kills,
    )
    yield Claim(
        f"the dry run told {tried}, and the import did {imported}: rows, new, changed, unchanged,"
        " repeated, refused, blank",
        tried == imported and tried[0] == rows == sum(tried[1:]),
    )


def _judge_contacts(workspace_id: int, rows: int) -> Iterator[Claim]:
    from postledger.contacts.models import ConsentEvent, Contact, Subscription

    wrong = 2 * sum(1 for n in range(rows) if n % 1_000 == 7)
    contacts = Contact.objects.filter(workspace_id=workspace_id)
    whole = contacts.filter(attributes={"country": "PT"}).count()
    yield Claim(
        f"{contacts.count():,} contacts, {whole:,} of them with their attribute, of"
        f" {rows - wrong:,} usable rows",
        contacts.count() == whole == rows - wrong,
    )
    subscribed = Subscription.objects.filter(contact__in=contacts, state="active").count()
    events = ConsentEvent.objects.filter(workspace_id=workspace_id, action="imported").count()
    yield Claim(
        f"{subscribed:,} subscribed, each with one proof of consent, and none of the {_LEFT} who"
        " had left",
        subscribed == events == rows - wrong - _LEFT,
    )


if __name__ == "__main__":
    sys.exit(main())
