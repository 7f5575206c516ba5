"""The options of `postledger sendgrid connect` that say what SendGrid is to report."""

from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass, field

from postledger.cli.provider_connection import ContradictoryOptionsError
from postledger.feedback.report_setup.sendgrid import PATH, SendGridReports
from postledger.providers.set_up import Step


@dataclass(frozen=True, slots=True)
class EventWish:
    """What a person asks for; nothing by default."""

    is_create: bool
    is_remove: bool
    url: str = field(kw_only=True)
    key: str = field(kw_only=True)
    old_key: str = field(kw_only=True)

    def __post_init__(self) -> None:
        if self.is_create != bool(self.url):
            raise ContradictoryOptionsError(
                "--create and --url belong together: SendGrid has to know where to post, such as"
                f" https://mail.acme.example{PATH}."
            )


def add_options(parser: ArgumentParser) -> None:
    wishes = parser.add_mutually_exclusive_group()
    wishes.add_argument("--create", action="store_true", help="have SendGrid report to --url")
    wishes.add_argument("--remove", action="store_true", help="undo what --create made")
    wishes.add_argument(
        "--key", default="", metavar="PUBLIC_KEY", help="believe a webhook that you made"
    )
    wishes.add_argument(
        "--remove-key",
        dest="old_key",
        default="",
        metavar="PUBLIC_KEY",
        help="believe it no longer",
    )
    parser.add_argument(
        "--url", default="", help=f"of this installation, such as https://mail.acme.example{PATH}"
    )


def set_up(reports: SendGridReports, wish: EventWish) -> Iterator[Step]:
    if wish.is_create:
        yield from reports.create(wish.url)
    elif wish.is_remove:
        yield from reports.remove()
    elif wish.key:
        yield reports.register(wish.key)
    elif wish.old_key:
        yield reports.unregister(wish.old_key)
