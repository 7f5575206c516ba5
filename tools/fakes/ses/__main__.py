"""The fake as a process: `python -m tools.fakes.ses`, without Django."""

from argparse import ArgumentParser, Namespace
from functools import partial

from tools.fakes.events.resumption import resume
from tools.fakes.http import process
from tools.fakes.http.journal import Journal
from tools.fakes.ses import set_up
from tools.fakes.ses.account import Account
from tools.fakes.ses.events import reported_mail
from tools.fakes.ses.events.transports import RETRY_SECONDS
from tools.fakes.ses.quota import UNLIMITED, Quota
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY, Service
from tools.fakes.ses.sns.topics import Topic

PORT = 8579
# Of an account without production access: in 24 hours, and in a second.
SANDBOX_LIMITS = (200.0, 1.0)


def add_arguments(parser: ArgumentParser) -> None:
    process.add_arguments(parser, PORT)
    add = parser.add_argument
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


def serve(options: Namespace) -> None:
    """Serves until SIGTERM or SIGINT."""

    def build() -> FakeSes:
        service = build_service(options)
        return FakeSes(service, options.host, options.port, options.public_endpoint)

    process.serve(build, introduce)


def build_service(options: Namespace) -> Service:
    quota = Quota(*(SANDBOX_LIMITS if options.sandbox else (UNLIMITED, UNLIMITED)))
    if options.max_send_rate is not None:
        quota.max_send_rate = options.max_send_rate
    if options.max_24_hour_send is not None:
        quota.max_24_hour_send = options.max_24_hour_send
    account = Account(options.region, has_production_access=not options.sandbox, quota=quota)
    account.add_identities(*options.identity)
    account.add_configuration_sets(*options.configuration_set)
    service = Service(account)
    process.keep_mail(service, options)
    service.publisher.fanout.sqs_endpoint = options.sqs_endpoint
    service.publisher.fanout.retry_seconds = options.retry_seconds
    if options.journal is not None:
        service.journal = Journal(options.journal)
        restore = partial(set_up.restore, account=account, publisher=service.publisher)
        resume(service.publisher, options.journal, reported_mail.from_entry, restore)
    if options.topic is not None:
        set_up.connect(account, options.topic, options.configuration_set, options.subscribe)
    return service


def introduce(fake: FakeSes) -> str:
    account = fake.service.account
    identities = ", ".join(account.identities) or "none; give some with --identity"
    lines = [
        f"A fake SES in {account.region} at {fake.endpoint}; it sends nothing.",
        f"Access key {ACCESS_KEY_ID}, secret access key {SECRET_ACCESS_KEY}.",
        f"Verified identities: {identities}.",
    ]
    lines += [_describe_topic(topic) for topic in account.topics.by_arn.values()]
    lines += process.tell_unfinished(fake.service.publisher.waiting)
    return "\n".join([*lines, *process.warn_of_others(fake.host), ""])


def _describe_topic(topic: Topic) -> str:
    endpoints = ", ".join(entry.endpoint for entry in topic.confirmed()) or "nobody yet"
    return f"Topic {topic.arn}; its messages go to {endpoints}."


if __name__ == "__main__":
    _parser = ArgumentParser(description="A fake SES; it sends nothing.")
    add_arguments(_parser)
    serve(_parser.parse_args())
