"""A delivery window at the round: who may get mail now, and what the others wait for."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postledger.accounts.models import Workspace
from postledger.contacts.details import Details
from postledger.contacts.models import Contact
from postledger.contacts.standings import Standings
from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import (
    Batch,
    NewDelivery,
    Recipient,
    StreamKind,
    Window,
)
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from postledger.dispatch.rounds import local_hours
from postledger.dispatch.rounds.local_hours import DeliveryWindow
from postledger.dispatch.rounds.round_input import RoundInput
from tests import cast
from tests.contacts import people
from tests.dispatch import office
from tests.dispatch.office import Office

DAYTIME = {"spans": [["09:00", "20:00"]]}
HOUR = timedelta(hours=1)

# Noon in UTC, 21:00 in Tokyo, 07:00 in New York.
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
TOKYO, NEW_YORK = "Asia/Tokyo", "America/New_York"
TOKYO_OPENS, NEW_YORK_OPENS = NOON + 12 * HOUR, NOON + 2 * HOUR


def read_of(*zones: str | None) -> RoundInput:
    """Recipients of these zones at the positions 0, 1, …, each a contact."""
    recipients = [Recipient(at, f"r{at}@example.com", at + 1, None, 0) for at in range(len(zones))]
    own = {at + 1: zone for at, zone in enumerate(zones) if zone}
    return RoundInput(recipients, {}, Standings({}, {}), time_zones=own)


def window(lo: int, hi: int) -> Window:
    return Window(Batch(lo + 1, 7, lo, hi, 1, 1), hi)


def sort(
    read: RoundInput, *windows: Window
) -> tuple[Sequence[tuple[int, int]], dict[datetime, list[int]]]:
    """The positions that may go, and where the batches begin that wait, by their opening."""
    may_go, later = local_hours.sort_windows(windows, read, DeliveryWindow(DAYTIME, "UTC"), NOON)
    ranges = [(one.batch.lo, one.to) for one in may_go]
    return ranges, {opens_at: [one.lo for one in batches] for opens_at, batches in later.items()}


def test_windows_of_open_zones_go_and_the_others_wait_for_their_opening() -> None:
    read = read_of("Europe/Lisbon", None, TOKYO, TOKYO, NEW_YORK)

    assert sort(read, window(0, 2), window(2, 4), window(4, 5)) == (
        [(0, 2)],
        {TOKYO_OPENS: [2], NEW_YORK_OPENS: [4]},
    )


def test_a_window_of_several_zones_goes_up_to_the_first_recipient_who_must_wait() -> None:
    assert sort(read_of(None, None, TOKYO, None), window(0, 4)) == ([(0, 2)], {})
    assert sort(read_of(NEW_YORK, None, TOKYO), window(0, 3)) == ([], {NEW_YORK_OPENS: [0]})
    assert sort(read_of(), window(0, 3)) == ([(0, 3)], {}), "nobody waits any more"


@pytest.fixture
def acme(tmp_path: Path) -> Office:
    """A workspace in whose zone it is about noon."""
    acme = office.open_office(tmp_path)
    Workspace.objects.update(time_zone=find_zone(12, datetime.now(UTC)))
    return acme


def find_zone(hour: int, now: datetime) -> str:
    """The zone in which clocks show this hour now."""
    ahead = (hour - now.hour + 11) % 24 - 11  # of UTC, by -11 to 12 hours
    return f"Etc/GMT{-ahead:+d}" if ahead else "Etc/GMT"


def fill(stream_id: int, acme: Office, *names: str, zone: str | None = None) -> None:
    """Adds mails to new contacts; each call makes a batch."""
    details = Details(time_zone=zone) if zone else Details()
    lines = [
        NewDelivery(address, contact_id=people.contact(acme.workspace_id, address, details))
        for address in (f"{name}@example.com" for name in names)
    ]
    ledger.enqueue(stream_id, lines)


def open_daytime_stream(acme: Office) -> int:
    return ledger.open_stream(
        acme.workspace_id,
        sender_id=acme.sender_id,
        kind=StreamKind.CAMPAIGN,
        title="News",
        delivery_window=DAYTIME,
        body=office.BODY,
    )


def waits(stream_id: int) -> dict[Reason, datetime]:
    return {wait.reason: wait.next_due_at for wait in queries.summarise_waits(stream_id)}


def send_until_closed(stream_id: int) -> None:
    """Lets a dispatcher work until all that is left waits for an opening."""
    with office.dispatching() as dispatcher:
        office.until(lambda: set(waits(stream_id)) <= {Reason.OUTSIDE_HOURS}, dispatcher)
        office.until(lambda: not office.is_leased(stream_id), dispatcher)


@pytest.mark.django_db(transaction=True)
def test_open_zones_get_their_mail_and_the_others_wait_without_a_try(acme: Office) -> None:
    run = open_daytime_stream(acme)
    midnight = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    fill(run, acme, "a", "b", zone=find_zone(0, midnight))
    fill(run, acme, "c", "d")

    send_until_closed(run)

    assert office.states(run) == {
        "a@example.com": State.WAITING,
        "b@example.com": State.WAITING,
        "c@example.com": State.ACCEPTED,
        "d@example.com": State.ACCEPTED,
    }
    assert set(office.attempts(run).values()) == {0, 1}
    assert office.counts(run) == {State.ACCEPTED: 2, State.WAITING: 2}
    opens_at = midnight + 9 * HOUR
    assert timedelta(0) <= waits(run)[Reason.OUTSIDE_HOURS] - opens_at < timedelta(minutes=5)


@pytest.mark.django_db(transaction=True)
def test_nobody_in_a_batch_of_several_zones_gets_mail_at_the_wrong_time(acme: Office) -> None:
    run = open_daytime_stream(acme)
    fill(run, acme, "a", "b", "c", "d")
    Contact.objects.filter(address__startswith="c").update(
        time_zone=find_zone(0, datetime.now(UTC))
    )

    send_until_closed(run)
    first = [address for _, address in acme.taken()]
    Contact.objects.update(time_zone=None)
    cast.bring_forward(run)
    office.send_all(run)

    assert first == ["a@example.com", "b@example.com"]
    assert set(office.attempts(run).values()) == {1}
    assert office.counts(run) == {State.ACCEPTED: 4}
