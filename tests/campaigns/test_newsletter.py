"""A newsletter of slices: everybody gets the letter of their places, and each letter is made once.

It is asked for by one request, planned, and handed over to an SMTP server, whose mailbox is read.
"""

import random
import re
from collections import Counter
from email.message import EmailMessage
from itertools import combinations
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection

from postledger.campaigns.models import Run
from postledger.content import articles
from postledger.content.slices import SliceFields
from postledger.deliveries import audit, ledger, queries
from postledger.deliveries.entries import Window
from postledger.deliveries.states import State
from postledger.dispatch.rounds import round_input
from postledger.mailing.models import Variant
from tests import cast
from tests.campaigns import press
from tests.journeys import post, rig
from tests.web import callers
from tools.proof import crews

pytestmark = pytest.mark.django_db(transaction=True)

READERS, SETS = (10_000, 300) if crews.IS_FULL else (200, 20)
OHIO = "ocd-division/country:us/state:oh"
COUNTIES = (
    *("adams", "allen", "ashland", "athens", "belmont", "brown", "butler", "clark", "clinton"),
    *("darke", "erie", "fairfield", "franklin", "gallia", "hamilton", "hardin", "hocking"),
)

type Counties = tuple[str, ...]


def place(county: str) -> str:
    return f"{OHIO}/county:{county}"


def write(workspace_id: int) -> None:
    """One slice for everybody and one for each county, each with a headline of its own."""
    articles.create(workspace_id, key="week", title="The week", actor="alice")
    pieces = {None: "The week in Ohio"} | {place(name): f"News of {name}" for name in COUNTIES}
    for scope, title in pieces.items():
        name = "everybody" if scope is None else scope.rpartition(":")[2]
        draft = SliceFields(
            scope_ocd_id=scope,
            section_order=0 if scope is None else 1,
            is_headline=True,
            title=title,
            body_md=f"## {title}\n\nA story for {name}.",
            is_published=True,
        )
        articles.add_slice(workspace_id, article_key="week", fields=draft, actor="alice")


def readers() -> dict[str, Counties]:
    """The counties of each address; every set of them occurs."""
    every = [counties for size in range(4) for counties in combinations(COUNTIES, size)]
    sets = random.sample(every, SETS)
    return {f"r{number}@example.com": sets[number % SETS] for number in range(READERS)}


def people(workspace_id: int, of_address: dict[str, Counties]) -> None:
    """Everybody is also in places that no slice is about: those tell nobody apart."""
    rows = [
        (workspace_id, address, [OHIO, f"{OHIO}/precinct:{number % 7}", *map(place, counties)])
        for number, (address, counties) in enumerate(of_address.items())
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO contacts_contact (workspace_id, address, ocd_ids) VALUES (%s, %s, %s)",
            rows,
        )
        cursor.execute("ANALYZE contacts_contact")


def send() -> Run:
    body = {
        "campaign_tag": "week-46",
        "article_key": "week",
        "send_batch_id": str(uuid4()),
    }
    answer = callers.caller("acme").post("/v1/campaigns/send", body)
    assert answer.status == 202
    return Run.objects.get(pk=answer.body["run_id"])


def is_planned(run: Run, beat: crews.Beat) -> bool:
    beat()
    return Run.objects.filter(pk=run.pk, planned_at__isnull=False).exists()


def words(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    return str(body.get_content())


def read_subject_and_counties(mail: EmailMessage) -> tuple[str, Counties]:
    """The subject, and for whom the stories are."""
    return str(mail["Subject"]), tuple(re.findall(r"A story for (\w+)\.", words(mail)))


def due(counties: Counties) -> tuple[str, Counties]:
    """What somebody of these counties is to get: the headline is the narrowest one's."""
    by_width = sorted(counties, key=lambda name: (len(name), name))
    subject = f"News of {by_width[-1]}" if by_width else "The week in Ohio"
    return subject, ("everybody", *by_width)


@pytest.mark.slow
def test_each_reader_of_a_newsletter_gets_the_letter_of_their_places(tmp_path: Path) -> None:
    of_address = readers()
    with post.mailbox() as box:
        account = {"host": "127.0.0.1", "port": box.port, "tls": "none"}
        acme = crews.workspace("acme", "smtp", **account)
        write(acme)
        people(acme, of_address)
        with crews.at_work(tmp_path) as beat:
            run = send()
            rig.until(lambda: is_planned(run, beat))
            crews.wait(beat, run.stream_id, seconds=600)

    mails = box.mails()
    audited = audit.audit(run.stream_id)
    letters = Variant.objects.filter(stream_id=run.stream_id).values("letter").distinct().count()
    assert Counter(str(mail["To"]) for mail in mails) == Counter(of_address.keys())
    got = {str(mail["To"]): read_subject_and_counties(mail) for mail in mails}
    assert got == {address: due(counties) for address, counties in of_address.items()}
    assert len(set(got.values())) == letters == SETS
    assert audited.books.counts[State.ACCEPTED] == READERS
    assert audited.discrepancies == []


def test_a_round_makes_only_the_letters_that_its_mails_use() -> None:
    acme = crews.workspace("acme")
    write(acme)
    people(acme, {"r1@example.com": ("adams",), "r2@example.com": ("allen",)})
    stream_id = press.planned(send().pk).stream_id
    stream = queries.find_stream(stream_id)
    assert stream is not None
    everything = queries.read_bodies(
        stream_id, [ledger.shared_position(0), ledger.shared_position(1)]
    )
    [batch] = cast.claim(stream_id).batches

    contents = round_input.read(stream, [Window(batch, batch.lo + 1)], everything)

    [recipient] = contents.recipients
    assert len(everything) == 2
    assert list(contents.letters) == [ledger.shared_position(recipient.letter)]
