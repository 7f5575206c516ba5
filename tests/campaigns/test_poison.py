"""One recipient in each window whose mail cannot be made, or is not taken, harms no other.

Four kinds take turns: a value that the letter needs is missing, the address is none, the server
refuses the recipient, the server refuses what it was given.
"""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from django.db import connection

from postledger.deliveries import audit
from postledger.deliveries.states import State
from tests.campaigns import press
from tests.journeys import rig
from tests.races import collide
from tools.proof import crews

pytestmark = pytest.mark.django_db(transaction=True)

WINDOWS = 500 if crews.IS_FULL else 10
WINDOW = 50
READERS = WINDOWS * WINDOW
WORDS = replace(press.WORDS, body="Hello, {{ name }} of {{ city }}.", required=("city",))
# What a poisoned mail is booked with, in the order in which the kinds take turns.
CODES = ("template_missing_variable", "INVALID_EMAIL", "550 5.1.1", "554 5.6.0")
CITY, ADDRESS, RECIPIENT, CONTENT = CODES


@dataclass
class Postmaster:
    """An SMTP server that counts what it takes, by recipient, and refuses some."""

    unknown: set[str]
    unwanted: set[str]
    taken: Counter[str] = field(default_factory=Counter)

    async def handle_RCPT(  # noqa: N802  aiosmtpd's own form
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: object
    ) -> str:
        if address in self.unknown:
            return "550 5.1.1 No such user here"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 fine"

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        [address] = envelope.rcpt_tos
        if address in self.unwanted:
            return "554 5.6.0 Not in this house"
        self.taken[address] += 1
        return "250 2.0.0 kept"


@contextmanager
def serving(postmaster: Postmaster) -> Iterator[int]:
    controller = Controller(
        postmaster, hostname="127.0.0.1", port=rig.free_port(), ready_timeout=120
    )
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()


def poisons() -> dict[int, str]:
    """One position of each window, and the code that it will fail with."""
    return {
        first * WINDOW + random.randrange(WINDOW): CODES[first % len(CODES)]
        for first in range(WINDOWS)
    }


def address(number: int, kind: str | None) -> str:
    return f"r{number:05}@exa mple.com" if kind == ADDRESS else f"r{number:05}@example.com"


def people(workspace_id: int, poisoned: dict[int, str]) -> list[str]:
    """Contacts in the order of their positions."""
    addresses = [address(number, poisoned.get(number)) for number in range(READERS)]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO contacts_contact (workspace_id, address, name, attributes)"
            " SELECT %s, address, 'Reader', CASE WHEN n - 1 = ANY(%s) THEN '{}'::jsonb"
            " ELSE jsonb_build_object('city', 'Columbus') END"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS given (address, n)",
            [workspace_id, [at for at, kind in poisoned.items() if kind == CITY], addresses],
        )
        cursor.execute("ANALYZE contacts_contact")
    return addresses


@pytest.mark.slow
@pytest.mark.sample
def test_one_poisoned_recipient_of_each_window_leaves_the_others_their_mail(
    tmp_path: Path,
) -> None:
    poisoned = poisons()
    refused = {
        kind: {address(at, kind) for at, code in poisoned.items() if code == kind}
        for kind in (RECIPIENT, CONTENT)
    }
    postmaster = Postmaster(refused[RECIPIENT], refused[CONTENT])
    with serving(postmaster) as port:
        account = {"host": "127.0.0.1", "port": port, "tls": "none", "connections": WINDOW}
        acme = crews.workspace("acme", "smtp", **account)
        addresses = people(acme, poisoned)
        run = press.launched(acme, press.campaign(acme, content=WORDS))
        assert press.addresses(run) == addresses
        with crews.at_work(tmp_path) as beat:
            crews.wait(beat, run.stream_id, seconds=600)

    audited = audit.audit(run.stream_id)
    codes = collide.column(run.stream_id, "code")
    counts = {state.value: count for state, count in audited.books.counts.items() if count}
    assert postmaster.taken == Counter(to for at, to in enumerate(addresses) if at not in poisoned)
    assert {at: code for at, code in codes.items() if code is not None} == poisoned
    assert counts == {State.ACCEPTED: READERS - WINDOWS, State.FAILED: WINDOWS}
    assert audited.discrepancies == []
