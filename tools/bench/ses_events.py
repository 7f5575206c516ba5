"""What events cost the fake SES: `just bench ses_events`.

Mails a second that it takes while nobody, an endpoint of HTTP or a queue of moto gets their
events, and the events a second that arrive there until the last one. The queue gets few: each
message that moto takes costs it a look at all that wait there.
"""

import argparse
import asyncio
import logging
import multiprocessing
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection

import httpx
import uvloop

from postledger.lib.clock import boottime
from postledger.providers.base import Accepted
from postledger.providers.ses.provider import Ses
from tools.bench import ses
from tools.bench.fake_ses import read_seconds
from tools.fakes.http.server import serving
from tools.fakes.ses import set_up
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.sns.topics import ACCOUNT_ID

SIZE = 5_000
QUEUE = "events"


def serve_moto(pipe: Connection) -> None:
    from moto.server import ThreadedMotoServer  # it takes a second

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    pipe.send(server.get_host_and_port()[1])
    pipe.recv()


def serve_fake(pipe: Connection, endpoint: str, sqs_endpoint: str) -> None:
    """Publishes the events of its mail to the endpoint, if there is one."""

    async def run() -> None:
        fake = FakeSes()
        account = fake.service.account
        account.add_identities("news@acme.example")
        account.add_configuration_sets("main")
        fake.service.publisher.fanout.sqs_endpoint = sqs_endpoint
        if endpoint:
            set_up.connect(account, "events", ["main"], [endpoint])
        async with serving(fake):
            pipe.send(fake.port)
            await asyncio.Event().wait()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


@dataclass(frozen=True, slots=True)
class Server:
    """In a process of its own, which ends with this one."""

    port: int
    pid: int
    pipe: Connection


def start(target: Callable[..., None], *arguments: str) -> Server:
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    assert process.pid is not None
    return Server(int(ours.recv()), process.pid, ours)


async def send(port: int, count: int) -> None:
    settings = ses.settings(port).model_copy(update={"configuration_set": "main"})
    provider = Ses(settings)
    await provider.open()
    window = ses.make_window(SIZE, count)
    outcomes = [pair async for pair in provider.send(window, boottime() + 3600)]
    await provider.close()
    assert all(isinstance(outcome, Accepted) for _, outcome in outcomes)


def count_events(port: int) -> tuple[int, int]:
    """How many have arrived, and how many have not ended."""
    url = f"http://127.0.0.1:{port}/_fake/events"
    counts = httpx.get(url, trust_env=False, timeout=60).json()["counts"]
    return counts.get("delivered", 0), counts["waiting"]


def measure(server: Server, count: int) -> tuple[float, float, float]:
    """Mails a second; events a second from the first mail to the last event; milliseconds of the
    fake's processor for each mail with its events.
    """
    port = server.port
    before, spent = count_events(port)[0], read_seconds([server.pid])
    began = time.perf_counter()
    with closing(uvloop.new_event_loop()) as loop:
        loop.run_until_complete(send(port, count))
    mails = count / (time.perf_counter() - began)
    while count_events(port)[1]:
        time.sleep(0.1)
    events = (count_events(port)[0] - before) / (time.perf_counter() - began)
    return mails, events, (read_seconds([server.pid]) - spent) * 1000 / count


def call_moto(port: int, operation: str, **fields: str) -> None:
    scope = "fake/20261117/us-east-1/sqs/aws4_request"
    headers = {
        "X-Amz-Target": f"AmazonSQS.{operation}",
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0",
    }
    url = f"http://127.0.0.1:{port}"
    httpx.post(url, json=fields, headers=headers, trust_env=False, timeout=60).raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sink, moto = start(ses.serve), start(serve_moto)
    call_moto(moto.port, "CreateQueue", QueueName=QUEUE)
    queue_arn = f"arn:aws:sqs:us-east-1:{ACCOUNT_ID}:{QUEUE}"
    fakes = {
        "nobody": start(serve_fake, "", ""),
        "HTTP": start(serve_fake, f"http://127.0.0.1:{sink.port}/ses-events", ""),
        "moto": start(serve_fake, queue_arn, f"http://127.0.0.1:{moto.port}"),
    }
    figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in fakes}
    for _ in range(options.rounds):
        for name, fake in fakes.items():  # in turn: what else runs here hits all alike
            count = options.count // (20 if name == "moto" else 1)
            figures[name].append(measure(fake, count))
    for name, rows in figures.items():
        mails, events, cpu = (statistics.median(column) for column in zip(*rows, strict=True))
        print(
            f"| events to {name} | {mails:,.0f} mails/s | {events:,.0f} events/s | {cpu:.2f} ms |"
        )
    moto.pipe.send("stop")


if __name__ == "__main__":
    main()
