"""`python -m tools.proof.costly`: one tenant sends the costliest content that the tests know.

Four requests at a time, for five minutes: hostile templates, wide tables, long lists, patterns'
attacks, previews, checks, mails and campaigns. Meanwhile `/live` is asked five times a second, and
another tenant sends a mail every second and looks when it was handed over. On loopback alone.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx

from tools.bench import cluster, work
from tools.drill.saying import say
from tools.proof.flood import make_key

if TYPE_CHECKING:
    from tests.journeys.rig import Installation

MOST_LIVE = 0.5  # seconds, for an answer of /live
MOST_HAND_OVER = 2.0  # seconds, from the request of a mail to its acceptance
_AT_ONCE = 4
_UNHURRIED = 120.0

type Request = tuple[str, dict[str, Any]]


@dataclass
class Seen:
    answers: Counter[int] = field(default_factory=Counter)
    launches: int = 0
    live: list[float] = field(default_factory=list)
    hand_over: list[float] = field(default_factory=list)
    naps: list[float] = field(default_factory=list)  # how much too long, of an idle process
    lock: Lock = field(default_factory=Lock)

    def is_within_limits(self) -> bool:
        """False also where one of the jobs has failed."""
        seen = self.launches and self.live and self.hand_over
        return bool(seen and max(self.live) < MOST_LIVE and max(self.hand_over) < MOST_HAND_OVER)


def list_requests() -> list[Request]:
    """Each content as a check, a preview and a mail."""
    from tests.content.rendering import hostile
    from tests.content.rendering.test_rendering_costs import ENDLESS
    from tests.content.rendering.test_source_costs import WIDE_TABLE

    values: dict[str, object] = {"name": "Alice", "items": ["a", "b"], "a": "1,2,3" * 10_000}
    bodies = [
        *(("html", template) for template in hostile.TEMPLATES),
        ("html", f"{{% if {ENDLESS} contains 'x' %}}y{{% endif %}}"),
        ("html", "{{ a | split: ',' | uniq | sort | join: 'x' }}" * 3),
        ("html", "{% for i in (1..9999) %}{{ i | times: 3 }}{% endfor %}"),
        ("html", "<p>x</p>" + '"on' * 60_000),
        ("html", "<a>" * 30_000 + "srcdoc"),
        ("html", "<a=" * 60_000),
        ("markdown", WIDE_TABLE),
        ("markdown", "- a\n" * 10_000),
        ("markdown", "*" * 60_000),
        ("markdown", "[" * 60_000),
        ("mjml", _make_mjml(800)),
        ("mjml", f"<mjml><mj-body>{'<mj-text>' * 5_000}</mj-body></mjml>"),
    ]
    requests = list[Request]()
    for kind, body in bodies:
        content = {"format": kind, "subject": "Costly", "body": body, "values": values}
        content |= {"optional": ["name", "items", "a", "order"]}
        requests += [("/v1/content/check", content), ("/v1/content/preview", content)]
        mail = {"to": "r1@example.com", "subject": "Costly", "html": body}
        requests.append(("/v1/email/send", mail))
    return requests


def _make_mjml(count: int) -> str:
    section = "<mj-section><mj-column><mj-text>a</mj-text></mj-column></mj-section>"
    return f"<mjml><mj-body>{section * count}</mj-body></mjml>"


def attack(client: httpx.Client, requests: Iterator[Request], seen: Seen, ended: Event) -> None:
    while not ended.is_set():
        with seen.lock:
            path, payload = next(requests)
        status = client.post(path, json=payload).status_code
        with seen.lock:
            seen.answers[status] += 1


def launch_campaigns(client: httpx.Client, seen: Seen, ended: Event) -> None:
    """Letters whose cost the worker bears: every contact's values are filled in there."""
    bodies = (
        "{{ score | floor }}",
        "{% for i in (1..9999) %}{{ score | append: i | size }}{% endfor %}",
        "{{ score | split: '' | uniq | sort | join: ',' }}",
    )
    for number in range(20):
        attributes = {"score": "nan" if number % 2 else "x" * 500}
        contact = {"address": f"reader{number}@example.com", "attributes": attributes}
        client.post("/v1/contacts", json=contact).raise_for_status()
    for body in cycle(bodies):
        if ended.wait(5):
            return
        campaign = {
            "tag": f"costly-{uuid4().hex}",
            "name": "Costly",
            "content": {
                "kind": "inline",
                "subject": "Costly",
                "format": "html",
                "body": f"<p>{body}</p>",
                "optional": ["score"],
            },
        }
        made = client.post("/v1/campaigns", json=campaign).raise_for_status()
        launched = client.post(f"/v1/campaigns/{made.json()['id']}/launch")
        if launched.status_code != httpx.codes.TOO_MANY_REQUESTS:  # its own previews are in its way
            launched.raise_for_status()
            seen.launches += 1


# An idle process: how late it wakes is the machine's own delay.
_NAP = """
import time
while True:
    began = time.monotonic()
    time.sleep(0.05)
    print(time.monotonic() - began - 0.05, flush=True)
"""


def watch_machine(seen: Seen, ended: Event) -> None:
    command = [sys.executable, "-c", _NAP]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sleeper:
        for line in sleeper.stdout or ():
            seen.naps.append(float(line))
            if ended.is_set():
                sleeper.kill()
                return


def watch_live(client: httpx.Client, seen: Seen, ended: Event) -> None:
    while not ended.wait(0.2):
        began = time.monotonic()
        client.get("/live")
        seen.live.append(time.monotonic() - began)


def send_mails(client: httpx.Client, seen: Seen, ended: Event) -> None:
    """The other tenant."""
    while not ended.wait(1):
        began = time.monotonic()
        mail = {"to": "r1@example.com", "subject": "Receipt", "html": f"<p>{uuid4()}</p>"}
        path = f"/v1/email/{client.post('/v1/email/send', json=mail).json()['id']}"
        while client.get(path).json()["state"] != "accepted":
            time.sleep(0.05)
        seen.hand_over.append(time.monotonic() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    options = parser.parse_args()
    with cluster.running() as database, tempfile.TemporaryDirectory() as folder:
        work.connect(database)
        from django.core.management import call_command

        from tests.journeys import rig

        call_command("migrate", verbosity=0)
        call_command("setup", verbosity=0)
        extra = {"API_RATE": "1000000/second", "UNSUBSCRIBE_SECRET": "only-for-this-proof" * 2}
        with rig.installation(Path(folder), database, **extra) as installed:
            return 0 if prove(installed, options.seconds) else 1


def prove(installed: "Installation", seconds: int) -> bool:
    from postledger.accounts import workspaces
    from postledger.accounts.queries import Organisation
    from tests.journeys import rig, stage

    port = rig.free_port()
    installed.web(port)
    installed.worker("--beat")
    owners = [stage.sender(name).workspace_id for name in ("globex", "acme")]
    for owner in owners:
        footer = Organisation("Acme", "1 Road", "https://acme.example/unsubscribe")
        workspaces.set_organisation(owner, footer, actor="proof")
    hostile, innocent = (_connect(port, make_key(owner)) for owner in owners)
    seen, ended, requests = Seen(), Event(), cycle(list_requests())
    jobs: list[Callable[[], None]] = [
        *([lambda: attack(hostile, requests, seen, ended)] * _AT_ONCE),
        lambda: launch_campaigns(hostile, seen, ended),
        lambda: watch_machine(seen, ended),
        lambda: watch_live(innocent, seen, ended),
        lambda: send_mails(innocent, seen, ended),
    ]
    threads = [Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    ended.set()
    for thread in threads:
        thread.join()
    say(_describe(seen, seconds))
    return seen.is_within_limits()


def _connect(port: int, token: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=_UNHURRIED)


def _describe(seen: Seen, seconds: int) -> str:
    answers = ", ".join(f"{status}: {count}" for status, count in sorted(seen.answers.items()))
    waits = sorted(seen.hand_over)
    return (
        f"{seconds} s, {seen.answers.total()} costly requests ({answers}),"
        f" {seen.launches} campaigns;"
        f" /live asked {len(seen.live)} times, slowest {max(seen.live):.3f} s;"
        f" {len(waits)} mails of another tenant, hand-over within {waits[-1]:.2f} s, median"
        f" {waits[len(waits) // 2]:.2f} s, the longest {[round(wait, 2) for wait in waits[-3:]]};"
        f" an idle process woke up to {max(seen.naps):.3f} s late"
    )


if __name__ == "__main__":
    sys.exit(main())
