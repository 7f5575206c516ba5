"""What a retry of a run's failures would come to: who still gets mail, and who does not."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from postledger.campaigns.models import Run
from postledger.contacts import queries, standings
from postledger.contacts.standings import Standings
from postledger.deliveries import undecided
from postledger.deliveries.entries import RECIPIENT_NOT_FOUND, Recipient
from postledger.deliveries.states import State
from postledger.deliveries.undecided import UndecidedDelivery
from postledger.mailing import gates

AT_ONCE = 500
# The verdicts of a person's or a provider's no. Other verdicts fail again, which says why.
_STOPS = frozenset({State.SUPPRESSED, State.SKIPPED})


@dataclass(frozen=True, slots=True)
class RetryOutlook:
    """The first failures by their code, at one moment."""

    tried: Mapping[str, int]  # a retry tries them
    stopped: Mapping[str, int]  # a retry leaves them: their recipient gets no mail now
    rest: int | None  # failures behind the first ones; None: there are some, and nobody counted
    moved: int = 0  # whose contact has another address now: a run to the rest sends to that one

    @property
    def is_hopeless(self) -> bool:
        return self.rest == 0 and not any(self.tried.values())

    def is_hopeless_for(self, code: str) -> bool:
        return self.rest == 0 and bool(self.stopped.get(code)) and not self.tried.get(code)


# Of a run without failures.
NOTHING_FAILED = RetryOutlook({}, {}, rest=0)


def read_outlook(run: Run, *, code: str | None = None) -> RetryOutlook:
    """Looks at the first failures, or those of one code, and counts the others."""
    failed = undecided.find_undecided(run.stream_id, State.FAILED, code=code, limit=AT_ONCE)
    rest = 0
    if len(failed) == AT_ONCE:
        after = failed[-1].position
        rest = undecided.count_undecided(run.stream_id, State.FAILED, after=after, code=code)
    return _judge(run, failed, rest)


def read_unreached(run: Run) -> RetryOutlook:
    """Of the failures whose contact was deleted, or has another address now."""
    return read_outlook(run, code=RECIPIENT_NOT_FOUND)


def glance(run: Run) -> RetryOutlook:
    """Looks at the first failures, for a page that is refreshed every second."""
    failed = undecided.find_undecided(run.stream_id, State.FAILED, limit=AT_ONCE)
    return _judge(run, failed, None if len(failed) == AT_ONCE else 0)


def iterate_failed(run: Run, *, code: str | None) -> Iterator[Sequence[UndecidedDelivery]]:
    """The failures of one code, or all of them, some hundred at a time."""
    after = -1
    while failed := undecided.find_undecided(
        run.stream_id, State.FAILED, after=after, code=code, limit=AT_ONCE
    ):
        after = failed[-1].position
        yield failed


def _judge(run: Run, failed: Sequence[UndecidedDelivery], rest: int | None) -> RetryOutlook:
    tried, stopped = Counter[str](), Counter[str]()
    positions = find_stopped(run, failed)
    for mail in failed:
        counter = stopped if mail.position in positions else tried
        counter[mail.code or ""] += 1
    return RetryOutlook(tried, stopped, rest, _count_moved(run, failed))


def _count_moved(run: Run, failed: Sequence[UndecidedDelivery]) -> int:
    unreached = {
        mail.contact_id: mail.address.lower()
        for mail in failed
        if mail.code == RECIPIENT_NOT_FOUND and mail.contact_id is not None
    }
    now = queries.find_addresses(run.workspace_id, list(unreached)) if unreached else {}
    return sum(address.lower() != unreached[contact_id] for contact_id, address in now.items())


def find_stopped(run: Run, failed: Sequence[UndecidedDelivery]) -> set[int]:
    """The positions of up to 1,000 failures that the gates would stop now."""
    if not failed:
        return set()
    recipients = [
        Recipient(mail.position, mail.address, mail.contact_id, None, 0) for mail in failed
    ]
    now = _read_standings(run, recipients)
    verdicts = {item.position: gates.find_verdict(item, now) for item in recipients}
    return {at for at, verdict in verdicts.items() if verdict and verdict.state in _STOPS}


def _read_standings(run: Run, recipients: Sequence[Recipient]) -> Standings:
    contacts = {item.contact_id: item.address.lower() for item in recipients if item.contact_id}
    if run.is_sandboxed:  # nobody gets it, and it must not tell who is suppressed
        return Standings({}, contacts)
    return standings.read_standings(
        run.workspace_id,
        [item.address for item in recipients],
        list(contacts),
        list_key=run.list_key or None,
        is_to_all=not run.list_key,
    )
