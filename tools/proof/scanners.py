"""`python -m tools.proof.scanners`: programs that open unsubscribe links unsubscribe nobody.

Every behaviour meets every link at a real server, and Chromium keeps each page open for ten
seconds; after each of them, all consent is compared with what it was before.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, override

import httpx

from tools.bench import cluster, work
from tools.drill.saying import say
from tools.proof import chromium
from tools.proof.behaviours import PLAIN, Behaviour, Visitor

if TYPE_CHECKING:
    from tests.journeys.rig import Installation

SECRET = "a secret of the proof, long enough"
TABS = 50
OPEN_FOR = 10.0
_THREADS = 4


@dataclass(frozen=True)
class Finding:
    """What came of one behaviour; an answer of 0 was not waited for."""

    name: str
    answers: Counter[int]
    changes: int

    @override
    def __str__(self) -> str:
        answers = ", ".join(
            f"{number}: {count:,}" for number, count in sorted(self.answers.items())
        )
        return f"| {self.name} | {self.answers.total():,} | {answers} | {self.changes:,} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only behaviours with one of these in their name")
    parser.add_argument("--links", type=int, default=1_000)
    options = parser.parse_args()
    began = time.monotonic()
    with cluster.running() as database, tempfile.TemporaryDirectory() as folder:
        work.connect(database)
        from django.core.management import call_command

        from tests.journeys import rig

        call_command("migrate", verbosity=0)
        with rig.installation(Path(folder), database, **settings()) as installed:
            findings = list(
                _say_each(prove(serving(installed), options.links, words=options.words))
            )
    changes = sum(finding.changes for finding in findings)
    requests = sum(finding.answers.total() for finding in findings)
    say(
        f"{len(findings)} behaviours, {options.links:,} links, {requests:,} requests, {changes:,}"
        f" changes of consent, {time.monotonic() - began:.0f} s"
    )
    return 1 if changes else 0


def settings() -> dict[str, str]:
    # All requests come from one address here, and none may be turned away for that.
    rates = dict.fromkeys(("PUBLIC_RATE", "ONE_CLICK_RATE"), "1000000/second")
    return {"UNSUBSCRIBE_SECRET": SECRET, "UNSUBSCRIBE_SECRET_PREVIOUS": "", **rates}


def serving(installed: "Installation") -> str:
    from tests.journeys import rig

    port = rig.free_port()
    installed.web(port)
    return f"http://127.0.0.1:{port}"


def _say_each(findings: Iterator[Finding]) -> Iterator[Finding]:
    say("| behaviour | requests | answers | changes |\n|---|---|---|---|")
    for finding in findings:
        say(str(finding))
        yield finding


type Scan = Callable[[Sequence[str]], Counter[int]]


def _plainly(behaviour: Behaviour) -> Scan:
    def scan(links: Sequence[str]) -> Counter[int]:
        with (
            httpx.Client(timeout=30, follow_redirects=True, trust_env=False) as http,
            ThreadPoolExecutor(_THREADS) as pool,
        ):
            visitor = Visitor(http)
            list(pool.map(lambda url: behaviour(visitor, url), links))
        return Counter(visitor.answers)

    return scan


def browse(links: Sequence[str]) -> Counter[int]:
    """Opens every link in a browser that runs scripts; a page that has its title was answered."""
    with chromium.running() as browser:
        for first in range(0, len(links), TABS):
            some = links[first : first + TABS]
            tabs = browser.open(some, is_loaded=lambda title: " · acme-" in title)
            time.sleep(OPEN_FOR)
            browser.close(tabs)
    return Counter({200: len(links)})


SCANS: Mapping[str, Scan] = {
    **{name: _plainly(behaviour) for name, behaviour in PLAIN.items()},
    f"Chromium, each page open for {OPEN_FOR:.0f} s": browse,
}


def prove(server: str, size: int, *, words: Sequence[str] = ()) -> Iterator[Finding]:
    links = invite(server, size)
    for name, scan in SCANS.items():
        if words and not any(word in name for word in words):
            continue
        finding = _compare(name, scan, links)
        yield finding
        if finding.changes:
            # The next one gets people of its own: who left cannot be made to leave again.
            links = invite(server, size)


def _compare(name: str, scan: Scan, links: Sequence[str]) -> Finding:
    from tests.web.public import visiting

    before = visiting.everything()
    answers = scan(links)
    time.sleep(0.2)  # whoever did not wait for an answer may still be served
    after = visiting.everything()
    changes = sum(len(set(was) ^ set(is_now)) for was, is_now in zip(before, after, strict=True))
    return Finding(name, answers, changes)


def invite(server: str, size: int) -> list[str]:
    """People of a new workspace, and one link for each: of all mail, of a list, of none there is.

    Every tenth has left before, so that an undo would show too.
    """
    from tests.contacts import people
    from tests.web.public import visiting

    workspace_id = people.workspace(f"acme-{os.urandom(4).hex()}")
    visiting.public_list(workspace_id)
    links = []
    for number in range(size):
        address = f"r{number}@example.com"
        people.member(workspace_id, address)
        key = ("general", "news", "never-made")[number % 3]
        if number % 10 == 0:
            people.leave(workspace_id, address, key)
        path = visiting.link(address, key, workspace_id=workspace_id, secret=SECRET)
        links.append(server + path)
    return links


if __name__ == "__main__":
    sys.exit(main())
