"""The fake as a process: `python -m postledger.fakes.ses.process`, without Django.

`postledger fake-ses` is the same.
"""

import asyncio
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections import deque
from ipaddress import ip_address
from pathlib import Path

import uvloop

from postledger.fakes.ses import resumption, set_up
from postledger.fakes.ses.account import Account
from postledger.fakes.ses.events.transports import RETRY_SECONDS
from postledger.fakes.ses.journal import Journal
from postledger.fakes.ses.quota import UNLIMITED, Quota
from postledger.fakes.ses.server import FakeSes, serving
from postledger.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY, Service
from postledger.fakes.ses.sns.topics import Topic

PORT = 8579
# Of an account without production access: in 24 hours, and in a second.
SANDBOX_LIMITS = (200.0, 1.0)


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="default: this machine only")
    add("--port", type=int, default=PORT, help=f"default: {PORT}; 0 takes any free one")
    add("--region", default="us-east-1", help="that requests must be signed for")
    add("--identity", action="append", default=[], help="an address or domain that is verified")
    add("--configuration-set", action="append", default=[], metavar="NAME", help="that exists")
    add("--topic", metavar="NAME", help="gets all events of the configuration sets above")
    add(
        "--subscribe",
        action="append",
        default=[],
        metavar="ENDPOINT",
        help="a URL or the ARN of a queue that gets the topic's messages, confirmed already",
    )
    add("--sqs-endpoint", default="", metavar="URL", help="of a stand-in for SQS, such as moto's")
    add("--public-endpoint", default="", metavar="URL", help="where others reach this fake")
    add(
        "--retry-seconds",
        type=float,
        default=RETRY_SECONDS,
        help=f"between two posts of a message; default: {RETRY_SECONDS:g}",
    )
    add("--sandbox", action="store_true", help="no production access: 1 mail/s, 200 in 24 hours")
    add("--max-send-rate", type=float, metavar="N", help="recipients in a second")
    add("--max-24-hour-send", type=float, metavar="N", help="recipients in 24 hours")
    add("--journal", type=Path, metavar="FILE", help="gets accepted mail and its events")
    add("--eml", type=Path, metavar="FOLDER", help="gets one .eml file for each accepted mail")
    add("--keep", type=int, default=100, metavar="N", help="mails to show at /_fake/messages")


def serve(options: Namespace) -> None:
    """Serves until SIGTERM or SIGINT."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(options))


async def _serve(options: Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    service = build_service(options)
    await service.record_set_up()  # subscriptions keep their names after a restart
    fake = FakeSes(service, options.host, options.port, options.public_endpoint)
    async with serving(fake):
        sys.stdout.write(_introduce(fake))
        sys.stdout.flush()
        await stop.wait()


def build_service(options: Namespace) -> Service:
    quota = Quota(*(SANDBOX_LIMITS if options.sandbox else (UNLIMITED, UNLIMITED)))
    if options.max_send_rate is not None:
        quota.max_send_rate = options.max_send_rate
    if options.max_24_hour_send is not None:
        quota.max_24_hour_send = options.max_24_hour_send
    account = Account(options.region, has_production_access=not options.sandbox, quota=quota)
    account.add_identities(*options.identity)
    account.add_configuration_sets(*options.configuration_set)
    if options.eml is not None:
        options.eml.mkdir(parents=True, exist_ok=True)
    service = Service(account, eml_folder=options.eml, kept=deque(maxlen=options.keep))
    service.publisher.fanout.sqs_endpoint = options.sqs_endpoint
    service.publisher.fanout.retry_seconds = options.retry_seconds
    if options.journal is not None:
        service.journal = Journal(options.journal)
        resumption.resume(service.publisher, account, options.journal)
    if options.topic is not None:
        set_up.connect(account, options.topic, options.configuration_set, options.subscribe)
    return service


def _introduce(fake: FakeSes) -> str:
    account = fake.service.account
    identities = ", ".join(account.identities) or "none; give some with --identity"
    lines = [
        f"A fake SES in {account.region} at {fake.endpoint}; it sends nothing.",
        f"Access key {ACCESS_KEY_ID}, secret access key {SECRET_ACCESS_KEY}.",
        f"Verified identities: {identities}.",
    ]
    lines += [_describe_topic(topic) for topic in account.topics.by_arn.values()]
    if fake.service.publisher.waiting:
        lines.append(
            f"Events that the journal knows as unfinished: {fake.service.publisher.waiting}."
        )
    if not _is_loopback(fake.host):
        lines.append("Other machines can reach it, and read every mail at /_fake/messages.")
    return "\n".join([*lines, ""])


def _describe_topic(topic: Topic) -> str:
    endpoints = ", ".join(entry.endpoint for entry in topic.confirmed()) or "nobody yet"
    return f"Topic {topic.arn}; its messages go to {endpoints}."


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


if __name__ == "__main__":
    _parser = ArgumentParser(description="A fake SES; it sends nothing.")
    add_arguments(_parser)
    serve(_parser.parse_args())
