"""The options of `postledger ses connect` that say what SES is to report."""

from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass, field

from postledger.cli.provider_connection import ContradictoryOptionsError
from postledger.feedback.report_setup.ses import SesReports
from postledger.providers.set_up import Step


@dataclass(frozen=True, slots=True)
class EventWish:
    """What a person asks for; nothing by default."""

    is_create: bool
    is_remove: bool
    topic_arn: str
    url: str = field(kw_only=True)
    queue_url: str = field(kw_only=True)

    def __post_init__(self) -> None:
        if (self.url and not self.is_create) or (self.queue_url and not self.topic_arn):
            raise ContradictoryOptionsError("--url belongs to --create, and --queue to --topic.")


def add_options(parser: ArgumentParser) -> None:
    wishes = parser.add_mutually_exclusive_group()
    wishes.add_argument(
        "--create", action="store_true", help="have SES report to a queue, or to --url"
    )
    wishes.add_argument("--remove", action="store_true", help="undo what --create made")
    wishes.add_argument("--topic", default="", metavar="ARN", help="listen to a topic you made")
    parser.add_argument(
        "--url",
        default="",
        help="of this installation, such as https://mail.acme.example/ses-events",
    )
    parser.add_argument("--queue", default="", metavar="URL", help="that the --topic sends to")


def set_up(reports: SesReports, wish: EventWish) -> Iterator[Step]:
    if wish.is_create:
        yield from reports.create(wish.url)
    elif wish.is_remove:
        yield from reports.remove()
    elif wish.topic_arn:
        yield reports.listen(wish.topic_arn, wish.queue_url)
