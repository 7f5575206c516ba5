"""What events cost the fake SES: `just bench ses_events`.

Mails a second that it takes while nobody, an endpoint of HTTP or a queue of moto gets their
events, and the events a second that arrive there until the last one.
"""

import argparse
import asyncio
import logging
import multiprocessing
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection

import httpx
import uvloop

from postledger.fakes.ses import set_up
from postledger.fakes.ses.server import FakeSes, serving
from postledger.lib.clock import boottime
from postledger.providers.base import Accepted
from postledger.providers.ses.provider import Ses
from tools.bench import ses

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


def start(target: Callable[..., None], *arguments: str) -> tuple[int, Connection]:
    """The port of a server in a process of its own, which ends with this one."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    context.Process(target=target, args=(theirs, *arguments), daemon=True).start()
    return int(ours.recv()), ours


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


def measure(port: int, count: int) -> tuple[float, float]:
    """Mails a second, and events a second from the first mail to the last event."""
    before = count_events(port)[0]
    began = time.perf_counter()
    with closing(uvloop.new_event_loop()) as loop:
        loop.run_until_complete(send(port, count))
    mails = count / (time.perf_counter() - began)
    while count_events(port)[1]:
        time.sleep(0.1)
    events = count_events(port)[0] - before
    return mails, events / (time.perf_counter() - began)


def create_queue(port: int) -> str:
    """The ARN of a queue of moto."""
    url = f"http://127.0.0.1:{port}"
    scope = "fake/20261117/us-east-1/sqs/aws4_request"
    headers = {
        "X-Amz-Target": "AmazonSQS.CreateQueue",
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0",
    }
    answer = httpx.post(url, json={"QueueName": QUEUE}, headers=headers, trust_env=False)
    answer.raise_for_status()
    return f"arn:aws:sqs:us-east-1:123456789012:{QUEUE}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sink, _ = start(ses.serve)
    moto, moto_pipe = start(serve_moto)
    ports = {
        "nobody": start(serve_fake, "", "")[0],
        "HTTP": start(serve_fake, f"http://127.0.0.1:{sink}/ses-events", "")[0],
        "moto": start(serve_fake, create_queue(moto), f"http://127.0.0.1:{moto}")[0],
    }
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in ports}
    for _ in range(options.rounds):
        for name, port in ports.items():  # in turn: what else runs here hits all alike
            figures[name].append(measure(port, options.count))
    for name, pairs in figures.items():
        mails = statistics.median(mails for mails, _ in pairs)
        events = statistics.median(events for _, events in pairs)
        print(f"| events to {name} | {mails:,.0f} mails/s | {events:,.0f} events/s |")
    moto_pipe.send("stop")


if __name__ == "__main__":
    main()
