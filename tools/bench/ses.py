"""`just bench ses`: calls of SendEmail by three clients, in turn, to one server that does nothing.

The server is another process; it reads requests and answers them, and checks nothing. Then ours
calls the fake SES, which checks everything. Figures are calls a second, and the processor time of
the client for each. aiohttp is no dependency of ours: it
is measured where it is there, as with `uv run --with aiohttp just bench ses`.
"""

import argparse
import asyncio
import importlib
import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any, cast, override

import uvloop
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.session import Session

from postledger.lib.clock import boottime
from postledger.providers.base import Accepted, OutgoingMessage
from postledger.providers.ses import requests
from postledger.providers.ses.provider import Ses
from postledger.providers.ses.settings import SesSettings
from tools.fakes.http.server import serving
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

CONNECTIONS = 20
REGION = "us-east-1"
KEYS = (ACCESS_KEY_ID, SECRET_ACCESS_KEY)
REFERENCE = "01420000-0001-8001-8000-000000000001_3_dqt7af6coqykj27o"
BODY = b'{"MessageId":"0100018f00000000-11111111-2222-3333-4444-555555555555-000000"}'
ANSWER = (
    b"HTTP/1.1 200 OK\r\nDate: Tue, 17 Nov 2026 10:00:00 GMT\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\nx-amzn-RequestId: 11111111-2222-3333-4444-555555555555\r\n\r\n%b"
) % (len(BODY), BODY)


class Server(asyncio.Protocol):
    """Answers every request as soon as it has come in whole."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._data = bytearray()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        self._data += data
        at = self._data.find(b"\r\n\r\n")
        if at < 0:
            return
        head = bytes(self._data[:at]).lower()
        size = int(head.partition(b"content-length:")[2].partition(b"\r")[0])
        if len(self._data) >= at + 4 + size and self._transport is not None:
            self._data.clear()
            self._transport.write(ANSWER)


def serve(pipe: Connection) -> None:
    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def serve_fake(pipe: Connection) -> None:
    async def run() -> None:
        async with serving(FakeSes()) as fake:
            fake.service.account.add_identities("news@acme.example")
            pipe.send(fake.port)
            await asyncio.Event().wait()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def start(target: Callable[[Connection], None]) -> int:
    """The port of a server in a process of its own, which ends with this one."""
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    context.Process(target=target, args=(theirs,), daemon=True).start()
    return int(ours.recv())


def make_window(size: int, count: int) -> list[OutgoingMessage]:
    content = b"From: news@acme.example\r\n\r\n" + b"Good morning.\r\n" * (size // 15)
    return [
        OutgoingMessage(str(n), REFERENCE, "news@acme.example", f"r{n}@example.com", content)
        for n in range(count)
    ]


def settings(port: int) -> SesSettings:
    return SesSettings.model_validate(
        {
            "region": REGION,
            "access_key_id": KEYS[0],
            "secret_access_key": KEYS[1],
            "endpoint": f"http://127.0.0.1:{port}",
            "connections": CONNECTIONS,
        }
    )


async def send_ours(port: int, window: Sequence[OutgoingMessage]) -> None:
    provider = Ses(settings(port))
    await provider.open()
    outcomes = [pair async for pair in provider.send(window, boottime() + 3600)]
    await provider.close()
    assert all(isinstance(outcome, Accepted) for _, outcome in outcomes)


async def send_aiohttp(port: int, window: Sequence[OutgoingMessage]) -> None:
    aiohttp: Any = importlib.import_module("aiohttp")
    url = f"http://127.0.0.1:{port}{requests.SEND_PATH}"
    credentials, account, waiting = Credentials(*KEYS), settings(port), iter(window)

    async def work(session: Any) -> None:
        for message in waiting:
            body = cast("bytes", requests.write_body(message, account))
            request = AWSRequest("POST", url, {"Content-Type": "application/json"}, body)
            SigV4Auth(credentials, "ses", REGION).add_auth(request)
            async with session.post(url, data=body, headers=dict(request.headers)) as answer:
                assert (await answer.json())["MessageId"]

    connector = aiohttp.TCPConnector(limit=CONNECTIONS)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(work(session) for _ in range(CONNECTIONS)))


def send_boto(port: int, window: Sequence[OutgoingMessage]) -> None:
    config = Config(
        max_pool_connections=CONNECTIONS, retries={"total_max_attempts": 1, "mode": "standard"}
    )
    client: Any = Session().create_client(
        "sesv2",
        region_name=REGION,
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id=KEYS[0],
        aws_secret_access_key=KEYS[1],
        config=config,
    )

    def call(message: OutgoingMessage) -> None:
        client.send_email(
            Destination={"ToAddresses": [message.recipient]},
            EmailTags=[{"Name": requests.REFERENCE_TAG, "Value": message.reference}],
            Content={"Raw": {"Data": message.content}},
        )

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        list(threads.map(call, window))


def run_async(
    send: Callable[[int, Sequence[OutgoingMessage]], Any],
) -> Callable[[int, Sequence[OutgoingMessage]], None]:
    def run(port: int, window: Sequence[OutgoingMessage]) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(send(port, window))

    return run


CLIENTS: dict[str, Callable[[int, Sequence[OutgoingMessage]], None]] = {
    "ours": run_async(send_ours),
    "aiohttp, botocore signs": run_async(send_aiohttp),
    "boto3, 20 threads": send_boto,
}


def measure(
    send: Callable[[int, Sequence[OutgoingMessage]], None], port: int, size: int, count: int
) -> tuple[float, float]:
    """Calls a second, and microseconds of this process for each."""
    send(port, make_window(size, CONNECTIONS))
    window = make_window(size, count)
    began, spent = time.perf_counter(), time.process_time()
    send(port, window)
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    return count / seconds, processor / count * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    names = [name for name in CLIENTS if find_spec("aiohttp") or "aiohttp" not in name]
    plain, fake = start(serve), start(serve_fake)
    runs = {name: (CLIENTS[name], plain) for name in names}
    runs["ours, to the fake SES"] = CLIENTS["ours"], fake
    for size in (5_000, 35_000):
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
        for _ in range(options.rounds):
            for name, (send, port) in runs.items():  # in turn: what else runs here hits all alike
                count = options.count // (5 if "boto3" in name else 1)
                figures[name].append(measure(send, port, size, count))
        for name, pairs in figures.items():
            rate = statistics.median(rate for rate, _ in pairs)
            processor = statistics.median(processor for _, processor in pairs)
            print(f"| {size:,} bytes | {name} | {rate:,.0f} | {processor:,.0f} µs |")


if __name__ == "__main__":
    main()
