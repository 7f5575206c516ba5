"""Which mails of a round wait by themselves, so that nobody waits for a neighbour."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from postledger.deliveries import ledger
from postledger.deliveries.entries import Batch, Piece, Recipient, Window
from postledger.deliveries.queries import StreamFacts
from postledger.dispatch.rounds import round_input
from postledger.dispatch.rounds.round_input import RoundInput
from postledger.mailing.terms import NO_TERMS, Terms, Wait


def sort_windows(
    windows: Sequence[Window], read: RoundInput
) -> tuple[list[Window], list[tuple[Batch, list[Piece]]]]:
    """The windows in which nobody waits, and the batches of the others, cut into pieces. Pure."""
    may_go: list[Window] = []
    cut: list[tuple[Batch, list[Piece]]] = []
    for window in windows:
        recipients = [one for one in read.recipients if window.batch.lo <= one.position < window.to]
        if any(_find_wait(one, read.terms) for one in recipients):
            cut.append((window.batch, _cut(window, recipients, read.terms)))
        else:
            may_go.append(window)
    return may_go, cut


def _cut(
    window: Window, recipients: Sequence[Recipient], terms: Mapping[int, Terms]
) -> list[Piece]:
    """The batch in runs of neighbours that go, or wait equally long.

    Positions between two recipients have their result already, and may be in either piece. What is
    behind the window goes.
    """
    runs = [
        (wait, [one.position for one in run])
        for wait, run in groupby(recipients, key=lambda one: _find_wait(one, terms))
    ]
    starts = [window.batch.lo, *(positions[0] for _, positions in runs[1:])]
    waits = [wait for wait, _ in runs]
    if window.to < window.batch.hi and waits[-1] is not None:
        starts.append(window.to)
        waits.append(None)
    ends = [*starts[1:], window.batch.hi]
    return [
        Piece(lo, hi, wait.until, wait.reason) if wait else Piece(lo, hi)
        for lo, hi, wait in zip(starts, ends, waits, strict=True)
    ]


def bring_forward(stream: StreamFacts, read: RoundInput) -> None:
    """Lets mails go earlier whose recipients allow it since the round was read.

    Call it after their batches were given back. A recipient who ends a snooze meanwhile finds the
    batch leased, and cannot bring it forward.
    """
    waiting = [one for one in read.recipients if _find_wait(one, read.terms)]
    sooner = find_sooner(waiting, read.terms, round_input.read_terms(stream, waiting))
    ledger.bring_forward([(stream.id, one.dedupe_key) for one in sooner if one.dedupe_key])


def find_sooner(
    recipients: Sequence[Recipient], then: Mapping[int, Terms], now: Mapping[int, Terms]
) -> list[Recipient]:
    """The recipients who wait for an earlier moment than by their former terms, or not. Pure."""
    return [one for one in recipients if _is_sooner(_find_wait(one, now), _find_wait(one, then))]


def _is_sooner(now: Wait | None, then: Wait | None) -> bool:
    return then is not None and (now is None or now.until < then.until)


def _find_wait(recipient: Recipient, terms: Mapping[int, Terms]) -> Wait | None:
    return terms.get(recipient.position, NO_TERMS).wait
