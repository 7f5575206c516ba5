"""`python -m tools.proof.feedback_intake`: signed messages of SNS a second, and none is lost.

wrk posts 50,000 distinct messages, each signed with a key of 2,048 bits, to a web process as
`postledger serve` starts it, and to a bare Django view with one INSERT, in turn. Both commit
durably into the same PostgreSQL. Afterwards the inbox has a row for every answer of 2xx.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from tools.bench import cluster, work

if TYPE_CHECKING:
    from tests.journeys.rig import Installation

BODIES = 50_000
CONNECTIONS = 16
ROUNDS = 2
SHARE = 0.5  # of the bare view's rate, at the least
HERE = Path(__file__).parent
ARN = "arn:aws:sns:eu-west-1:123456789012:proof"
EVENTS = HERE.parents[1] / "tests/feedback/send_event.json"


@dataclass(frozen=True, slots=True)
class Measured:
    rate: float
    p99: str
    answers: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="of each run of wrk")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("Install Debian's package wrk first.")
    with cluster.running() as address, tempfile.TemporaryDirectory() as folder:
        work.connect(address)
        work.prepare(1)
        from tests.journeys import rig

        with (
            listening() as certificate_url,
            rig.installation(Path(folder), address, prefix=f"proof-{os.getpid()}") as installed,
        ):
            bodies = write_bodies(Path(folder), certificate_url)
            ok = Proof(installed, bodies, options.seconds).run()
    sys.exit(0 if ok else 1)


@contextmanager
def listening() -> Iterator[str]:
    """An account that listens to the topic, its SNS, and a table for the bare view."""
    from django.db import connection

    from tests.feedback.sns import SnsServer
    from tests.feedback.topics import listen

    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE bench_event (id bigserial PRIMARY KEY, message_id text NOT NULL UNIQUE,"
            " body text NOT NULL)"
        )
    with SnsServer().running() as server:
        listen(ARN, endpoint=server.origin)
        yield server.certificate_url


def write_bodies(folder: Path, certificate_url: str) -> Path:
    from tests.feedback import sns

    key = sns.private_key_pem()
    path = folder / "bodies"
    share = BODIES // 2
    with ProcessPoolExecutor(2) as pool, path.open("w") as file:
        for lines in pool.map(partial(sign_share, key, certificate_url), [share, BODIES - share]):
            file.write(lines)
    return path


def sign_share(key: bytes, certificate_url: str, count: int) -> str:
    from tests.feedback import sns

    sns.use_private_key(key)
    event = EVENTS.read_text()
    signed = (
        sns.notification(ARN, certificate_url, Message=event, Subject="Amazon SES Email Event")
        for _ in range(count)
    )
    return "".join(f"{json.dumps(fields)}\n" for fields in signed)


class Proof:
    def __init__(self, installed: "Installation", bodies: Path, seconds: int) -> None:
        self.installed = installed
        self.bodies = bodies
        self.seconds = seconds

    def run(self) -> bool:
        ours, bare = self.serve(), self.serve_bare()
        self.fetch_certificate(ours)
        share = BODIES // ROUNDS
        rounds = [
            (
                self.measure(f"{ours}/ses-events", first),
                self.measure(f"{bare}/event", first),
            )
            for first in range(1, BODIES, share)
        ]
        for mine, other in rounds:
            print(f"ours: {mine.rate:,.0f}/s, p99 {mine.p99}", end="; ")  # noqa: T201
            print(f"one INSERT: {other.rate:,.0f}/s, p99 {other.p99}", flush=True)  # noqa: T201
        ratio = statistics.median(mine.rate / other.rate for mine, other in rounds)
        print(f"ratio {ratio:.2f}, at least {SHARE}")  # noqa: T201
        return self.is_complete(sum(mine.answers for mine, _ in rounds)) and ratio >= SHARE

    def fetch_certificate(self, url: str) -> None:
        """Once a day one request waits for it: the first one, which wrk leaves out."""
        with self.bodies.open("rb") as file:
            body = file.readline()
        request = urllib.request.Request(f"{url}/ses-events", body)  # noqa: S310  our own server
        with urllib.request.urlopen(request) as answer:  # noqa: S310  the same
            assert answer.status == HTTPStatus.OK

    def is_complete(self, answers: int) -> bool:
        """Beyond wrk's answers are those that it did not wait for at its end, and the first."""
        from postledger.feedback.models import InboxMessage

        rows = InboxMessage.objects.count()
        most = answers + ROUNDS * CONNECTIONS + 1
        print(f"{answers:,} answers of 2xx, {rows:,} rows, at most {most:,}")  # noqa: T201
        return answers <= rows <= most

    def serve(self) -> str:
        from tests.journeys import rig

        port = rig.free_port()
        self.installed.web(port, "--processes", "1", "--threads", "4")
        return f"http://127.0.0.1:{port}"

    def serve_bare(self) -> str:
        from tests.journeys import rig

        port = rig.free_port()
        command = [
            *(str(rig.COMMANDS / "granian"), "--interface", "wsgi", "--port", str(port)),
            *("--workers", "1", "--blocking-threads", "4", "tools.bench.bare_view:application"),
        ]
        self.installed.serve(port, command)
        return f"http://127.0.0.1:{port}"

    def measure(self, url: str, first: int) -> Measured:
        command = [
            *("wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{self.seconds}s", "--latency"),
            *("-s", str(HERE / "feedback_intake.lua"), url),
        ]
        environment = {
            **os.environ,
            "BODIES": str(self.bodies),
            "FIRST": str(first),
            "COUNT": str(BODIES // ROUNDS),
        }
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        assert "Non-2xx" not in done.stdout, done.stdout
        [rate] = re.findall(r"Requests/sec:\s+([\d.]+)", done.stdout)
        [p99] = re.findall(r"99%\s+(\S+)", done.stdout)
        [answers] = re.findall(r"(\d+) requests in", done.stdout)
        return Measured(float(rate), p99, int(answers))


if __name__ == "__main__":
    main()
