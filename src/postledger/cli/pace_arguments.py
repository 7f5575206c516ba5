"""Parses the limits and working hours of commands, and says when mail goes."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from datetime import datetime

from django.core.management.base import CommandError

from postledger.accounts import working_hours
from postledger.accounts.models import Sender, Workspace
from postledger.accounts.working_hours import Hours
from postledger.deliveries.explanations.explain import format_time
from postledger.pacing import hours, stored

NONE = "none"

type Limit = float | None
type LimitChange = tuple[str, Limit]


def add_sender_limits(parser: ArgumentParser) -> None:
    """Collects the limits that are named, by their columns, in `changes`."""
    for flag, column, parse, period in (
        ("--per-second", "rate_per_second", parse_rate, "a second"),
        ("--per-hour", "rate_per_hour", parse_count, "in an hour of the clock (UTC)"),
        ("--per-day", "daily_limit", parse_count, "in a day of the workspace's time zone"),
    ):
        parser.add_argument(
            flag,
            dest="changes",
            action="append",
            default=[],
            type=_name_change(column, parse),
            metavar="N",
            help=f"the most mails {period}; none for no limit",
        )


def _name_change(column: str, parse: Callable[[str], Limit]) -> Callable[[str], LimitChange]:
    return lambda text: (column, parse(text))


def parse_rate(text: str) -> float | None:
    try:
        return None if text == NONE else float(text)
    except ValueError:
        raise _not_a_number(text, "5 or 0.5") from None


def parse_count(text: str) -> int | None:
    try:
        return None if text == NONE else int(text)
    except ValueError:
        raise _not_a_number(text, "100") from None


def _not_a_number(text: str, example: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{text[:40]!r} is not a number of mails: use one such as {example}, or none for no limit"
    )


def add_hours(parser: ArgumentParser) -> None:
    parser.add_argument(
        "spans", nargs="*", metavar="SPAN", help="such as 09:00-18:00; none for all hours"
    )
    parser.add_argument("--days", help="such as mon-fri or sat,sun; every day by default")
    parser.add_argument(
        "--zone", help="an IANA name, such as Europe/Berlin; by default that of the workspace"
    )


def parse_hours(spans: list[str], days: str | None, zone: str | None) -> Hours | None:
    """The hours that a command sets; None removes them."""
    if spans == [NONE] and days is None and zone is None:
        return None
    if NONE in spans:
        raise CommandError("none removes the hours: use it alone, without times, days and zone.")
    return working_hours.parse_hours(spans, days=days, zone=zone)


def describe_sender_hours(workspace: Workspace, sender: Sender) -> Iterator[str]:
    """The hours of a sender, and those of its workspace, which hold beside them."""
    zone = workspace.time_zone
    if sender.working_hours is None:
        yield f"{sender.address} has no hours of its own."
    else:
        text = working_hours.describe(sender.working_hours, zone=zone)
        yield f"Bulk mail of {sender.address} goes {text}."
    if workspace.working_hours is not None:
        text = working_hours.describe(workspace.working_hours, zone=zone)
        yield f"The hours of its workspace hold, too: {text}."


def describe_opening(workspace: Workspace, sender: Sender | None, now: datetime) -> str:
    """When bulk mail goes, by the hours of the workspace and those of a sender together."""
    own = sender.working_hours if sender else None
    sets = [
        stored.read_hours(each, zone=workspace.time_zone)
        for each in (workspace.working_hours, own)
        if each is not None
    ]
    opening = hours.find_next_opening(sets, now)
    if opening is None:
        return (
            "These hours and those of the workspace are never open together: its bulk mail waits"
            " until one of them is changed."
        )
    return "It is open now." if opening == now else f"It opens next at {format_time(opening)}."
