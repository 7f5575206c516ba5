"""The fake as a process: `python -m tools.fakes.sendgrid`, without Django."""

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from functools import partial

from tools.fakes.events.resumption import resume
from tools.fakes.http import process
from tools.fakes.http.journal import Journal
from tools.fakes.sendgrid import set_up
from tools.fakes.sendgrid.events import reported_mail
from tools.fakes.sendgrid.events.posts import BATCH_SECONDS, RETRY_SECONDS
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY, Service

PORT = 8580


def add_arguments(parser: ArgumentParser) -> None:
    process.add_arguments(parser, PORT)
    add = parser.add_argument
    add("--identity", action="append", default=[], help="an address or domain that is verified")
    add("--credits", type=int, metavar="N", help="recipients until the next reset")
    add("--webhook", action="append", default=[], metavar="URL", help="gets all events, signed")
    add(
        "--batch-seconds",
        type=float,
        default=BATCH_SECONDS,
        help=f"that a post waits for more events; default: {BATCH_SECONDS:g}, SendGrid's: 30",
    )
    add(
        "--retry-seconds",
        type=float,
        default=RETRY_SECONDS,
        help=f"before a post is tried again, and then twice as long; default: {RETRY_SECONDS:g}",
    )


def serve(options: Namespace) -> None:
    """Serves until SIGTERM or SIGINT."""

    def build() -> FakeSendGrid:
        return FakeSendGrid(build_service(options), options.host, options.port)

    process.serve(build, introduce)


def build_service(options: Namespace) -> Service:
    service = Service()
    process.keep_mail(service, options)
    service.account.add_identities(*options.identity)
    service.account.credits.total = options.credits
    service.publisher.batch_seconds = options.batch_seconds
    service.publisher.retry_seconds = options.retry_seconds
    if options.journal is not None:
        service.journal = Journal(options.journal)
        restore = partial(set_up.restore, account=service.account, publisher=service.publisher)
        resume(service.publisher, options.journal, reported_mail.from_entry, restore)
    for url in options.webhook:
        service.account.listen(url, datetime.now(UTC))
    return service


def introduce(fake: FakeSendGrid) -> str:
    account = fake.service.account
    identities = ", ".join([*account.senders, *account.domains]) or "none; give --identity"
    lines = [
        f"A fake SendGrid at {fake.endpoint}; it sends nothing.",
        f"API key {API_KEY}.",
        f"Verified identities: {identities}.",
    ]
    lines += [
        f"Events go to {webhook.url}, signed for {webhook.public_key or 'nobody'}."
        for webhook in account.webhooks.values()
    ]
    lines += process.tell_unfinished(fake.service.publisher.waiting)
    return "\n".join([*lines, *process.warn_of_others(fake.host), ""])


if __name__ == "__main__":
    _parser = ArgumentParser(description="A fake SendGrid; it sends nothing.")
    add_arguments(_parser)
    serve(_parser.parse_args())
