"""`python -m tools.proof.cuts ses|sendgrid`: six ways to cut the network, 200 mails each.

Half of all requests meet the cut. Mails that were certainly not taken are tried again until they
are taken or in doubt. The fake's journal is the truth: nobody is mailed twice, every acceptance is
there, and in doubt are exactly the mails whose last byte had left when the cut came.
"""

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from postledger.lib.clock import boottime
from postledger.providers import registry
from postledger.providers.base import (
    Accepted,
    Form,
    InDoubt,
    Mailbox,
    Outcome,
    OutgoingMessage,
    Parts,
    Provider,
    TryLater,
)
from tools.fakes.http import journal
from tools.fakes.http.faults import (
    AnswerLast,
    CutRequest,
    DropAnswer,
    End,
    Fault,
    HalveAnswer,
    Moment,
    ResetAtConnect,
    Rule,
)
from tools.fakes.http.journal import Journal
from tools.fakes.http.server import serving
from tools.fakes.sendgrid import service as sendgrid_service
from tools.fakes.sendgrid.server import FakeSendGrid
from tools.fakes.sendgrid.service import API_KEY
from tools.fakes.ses import service as ses_service
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

SENDER = "news@acme.example"
REFERENCE = "01420000-0001-8001-8000-000000000001_3_dqt7af6coqykj27o"
# More than the kernel takes: the cut comes while the mail is still being written.
LARGE = 4_000_000
SMALL = 5_000


@dataclass(frozen=True, slots=True)
class Mode:
    name: str
    fault: Fault
    size: int
    leaves_doubt: bool


MODES = (
    Mode("reset when it is accepted", ResetAtConnect(), LARGE, leaves_doubt=False),
    Mode("closed after the head", CutRequest(Moment.HEAD), LARGE, leaves_doubt=False),
    Mode("reset in the body", CutRequest(Moment.BODY, End.RESET), LARGE, leaves_doubt=False),
    Mode("closed before it is taken", CutRequest(Moment.REQUEST), SMALL, leaves_doubt=True),
    Mode("reset when it is taken", DropAnswer(End.RESET), SMALL, leaves_doubt=True),
    Mode("closed in the answer", HalveAnswer(End.CLOSE), SMALL, leaves_doubt=True),
)


def make_mail(number: int, size: int, form: Form = Form.MIME) -> OutgoingMessage:
    recipient, text = f"r{number}@example.com", "Good morning.\r\n" * (size // 15)
    content: Parts | bytes = f"From: {SENDER}\r\n\r\n{text}".encode()
    if form is Form.PARTS:
        noon = datetime(2026, 11, 18, 12, tzinfo=UTC)
        content = Parts(Mailbox(SENDER), Mailbox(recipient), "Hello", noon, text=text)
    return OutgoingMessage(str(number), REFERENCE, SENDER, recipient, content)


def start_ses(path: Path) -> FakeSes:
    service = ses_service.Service(journal=Journal(path))
    service.account.add_identities(SENDER)
    return FakeSes(service)


def start_sendgrid(path: Path) -> FakeSendGrid:
    service = sendgrid_service.Service(journal=Journal(path))
    service.account.add_identities(SENDER)
    return FakeSendGrid(service)


@dataclass(frozen=True, slots=True)
class Vendor:
    kind: str  # of the provider
    make_fake: Callable[[Path], FakeSes | FakeSendGrid]
    settings: Mapping[str, object]


SES = Vendor(
    "ses",
    start_ses,
    {
        "region": "us-east-1",
        "access_key_id": ACCESS_KEY_ID,
        "secret_access_key": SECRET_ACCESS_KEY,
        "connections": 10,
    },
)
SENDGRID = Vendor("sendgrid", start_sendgrid, {"api_key": API_KEY, "connections": 10})
VENDORS = {vendor.kind: vendor for vendor in (SES, SENDGRID)}


async def send_all(
    provider: Provider, mails: list[OutgoingMessage]
) -> tuple[dict[str, Outcome], int]:
    """The last outcome of every recipient, and how many hand-overs it took."""
    outcomes: dict[str, Outcome] = {}
    tries, waiting = 0, mails
    while waiting:
        again: list[OutgoingMessage] = []
        tries += len(waiting)
        async for index, outcome in provider.send(waiting, boottime() + 600):
            outcomes[waiting[index].recipient] = outcome
            if not isinstance(outcome, Accepted | InDoubt):
                assert isinstance(outcome, TryLater), outcome
                again.append(waiting[index])
        waiting = again
    return outcomes, tries


async def prove(vendor: Vendor, mode: Mode, count: int, folder: Path) -> bool:
    path = folder / f"{mode.name}.jsonl"
    async with serving(vendor.make_fake(path)) as fake:
        # No connection is kept where the cut comes at its beginning: each mail shall meet it.
        last = [Rule(AnswerLast())] if isinstance(mode.fault, ResetAtConnect) else []
        fake.set_faults(Rule(mode.fault, probability=0.5, seed=1), *last)
        provider = registry.build(vendor.kind, {**vendor.settings, "endpoint": fake.endpoint})
        await provider.open()
        mails = [make_mail(number, mode.size, provider.form) for number in range(count)]
        outcomes, tries = await send_all(provider, mails)
        await provider.close()
        strikes = fake.service.script.strikes[0]
    entries = list(journal.read_mails(path))
    taken = Counter(address for entry in entries for address in entry["destination"])
    ids = {entry["destination"][0]: entry["message_id"] for entry in entries}
    twice = sum(1 for times in taken.values() if times > 1)
    doubtful = {name for name, outcome in outcomes.items() if isinstance(outcome, InDoubt)}
    accepted = {
        name: outcome.id for name, outcome in outcomes.items() if isinstance(outcome, Accepted)
    }
    is_true = all(ids.get(name) == message_id for name, message_id in accepted.items())
    is_exact = len(doubtful) == (strikes if mode.leaves_doubt else 0)
    unknown = set(taken) - set(accepted) - doubtful
    sys.stdout.write(
        f"| {mode.name} | {count} | {strikes} | {tries} | {len(accepted)} | {len(doubtful)} |"
        f" {len(doubtful & set(taken))} | {twice} |\n"
    )
    return is_true and is_exact and not twice and not unknown and len(outcomes) == count


async def main(vendor: Vendor, count: int) -> int:
    sys.stdout.write(
        "| the connection is | mails | cuts | hand-overs | accepted | in doubt | of these taken"
        " | taken twice |\n|---|---|---|---|---|---|---|---|\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        held = [await prove(vendor, mode, count, Path(folder)) for mode in MODES]
    sys.stdout.write("\nHeld.\n" if all(held) else "\nBROKEN.\n")
    return 0 if all(held) else 1


if __name__ == "__main__":
    _parser = argparse.ArgumentParser()
    _parser.add_argument("vendor", choices=VENDORS)
    _parser.add_argument("count", type=int, nargs="?", default=200)
    _given = _parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as _runner:
        sys.exit(_runner.run(main(VENDORS[_given.vendor], _given.count)))
