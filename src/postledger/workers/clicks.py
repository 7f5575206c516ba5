"""Clicks of an operator, by command: on one mail, or on a stream's mails page by page."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.core.management.base import CommandError
from django.db import transaction

from postledger.accounts import trail
from postledger.accounts.queries import WorkspaceFacts
from postledger.deliveries import queries, refusals, undecided
from postledger.deliveries.entries import Seen
from postledger.deliveries.queries import DeliveryFacts, StreamFacts
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId
from postledger.workers import nouns

# Mails that are decided in one transaction.
PAGE = 500
# Different reasons that are told after a whole stream.
_MOST_REASONS = 5


@dataclass(frozen=True, slots=True)
class Click:
    """One kind of click: from which state it leads, what does it, and how it is told."""

    before: State
    makes_wait: bool
    action: str  # in the trail
    does: str  # as in “it …” and “each …”
    apply: Callable[[int, Sequence[Seen], str], list[int]]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which mails are meant: one, or all of a stream; perhaps only of one workspace."""

    id: str | None
    stream: int | None
    workspace: WorkspaceFacts | None


def add_choice(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="a delivery's id, or a provider's message id")
    parser.add_argument("--stream", type=int, metavar="NUMBER", help="all of a stream instead")
    parser.add_argument("--workspace", metavar="NAME", help="nothing but this workspace's")
    parser.add_argument("--actor", default="", metavar="NAME", help="noted as who decided")


def choice(id_: str | None, stream: int | None, workspace: str | None) -> Choice:
    if id_ is not None and stream is not None:
        raise CommandError("Give the id of one mail, or --stream for all of a stream, not both.")
    return Choice(id_, stream, nouns.workspace(workspace) if workspace else None)


def click(kind: Click, chosen: Choice, *, actor: str, code: str | None = None) -> Iterator[str]:
    """Clicks on what was chosen, and tells about it; a refusal ends the command with its reason."""
    if chosen.id is not None:
        stream, facts = _find(chosen.id, chosen.workspace)
        yield from _on_one(kind, stream, facts, actor=actor)
    elif chosen.stream is not None:
        stream = nouns.stream(chosen.stream, chosen.workspace)
        yield from _on_all(kind, stream, actor=actor, code=code)
    else:
        raise CommandError("Say which mail: its id, or --stream NUMBER for all of a stream.")


def _find(id_: str, of: WorkspaceFacts | None) -> tuple[StreamFacts, DeliveryFacts]:
    parsed = DeliveryId.parse(id_)
    place = (parsed.stream_id, parsed.position) if parsed else queries.find_by_message_id(id_)
    stream, facts = (queries.stream(place[0]), queries.delivery(*place)) if place else (None, None)
    if stream is None or facts is None or (of is not None and of.id != stream.workspace_id):
        whose = f"of {of.name}" if of else "here"
        raise CommandError(f"Nothing {whose} is called {id_}. Give a delivery's id.")
    return stream, facts


def _on_one(kind: Click, stream: StreamFacts, facts: DeliveryFacts, *, actor: str) -> Iterator[str]:
    """The click counts only while the mail is as it was read."""
    name = DeliveryId(stream.id, facts.position).uuid()
    if facts.state is kind.before:
        yield f"To {facts.address}, line {facts.position} of {stream.kind} “{stream.title}”."
        seen = [Seen(facts.position, facts.last_try)]
        if _apply(kind, stream, seen, actor=actor, subject=f"delivery {name}"):
            yield f"Done: it {kind.does}."
            return
    [reason] = _reasons(kind, stream, [facts.position])
    raise CommandError(f"Nothing was changed: {reason}. postledger why {name} tells its story.")


def _on_all(
    kind: Click, stream: StreamFacts, *, actor: str, code: str | None = None
) -> Iterator[str]:
    """Each page is a transaction: what was done stays done when the command is interrupted."""
    count = queries.books_of([stream.id])[stream.id].counts[kind.before]
    state = kind.before.value.replace("_", " ")
    yield f"{stream.kind.capitalize()} “{stream.title}”: {count} {state}."
    done, reasons, last = 0, Counter[str](), -1
    while page := undecided.undecided(stream.id, kind.before, after=last, code=code, limit=PAGE):
        seen = [Seen(mail.position, mail.last_try) for mail in page]
        applied = _apply(kind, stream, seen, actor=actor, subject=f"stream {stream.id}")
        rest = {mail.position for mail in page}.difference(applied)
        reasons.update(_reasons(kind, stream, sorted(rest)))
        done, last = done + len(applied), page[-1].position
    yield f"Done, mails: {done}; each {kind.does}." if done else "Nothing was changed."
    if reasons:
        raise CommandError("\n".join(_left_alone(reasons)))


def _apply(
    kind: Click, stream: StreamFacts, seen: Sequence[Seen], *, actor: str, subject: str
) -> list[int]:
    with transaction.atomic():
        applied = kind.apply(stream.id, seen, actor)
        if applied:
            data = {"count": len(applied)}
            trail.note(
                stream.workspace_id, actor=actor, action=kind.action, subject=subject, data=data
            )
    return applied


def _reasons(kind: Click, stream: StreamFacts, positions: Sequence[int]) -> list[str]:
    if not positions:
        return []
    fresh = queries.stream(stream.id) or stream  # it may have been cancelled meanwhile
    return [
        refusals.why_left(left, fresh, before=kind.before, makes_wait=kind.makes_wait)
        for left in undecided.left(stream.id, positions)
    ]


def _left_alone(reasons: Counter[str]) -> Iterator[str]:
    yield f"Left as they were, mails: {reasons.total()}."
    for reason, count in reasons.most_common(_MOST_REASONS):
        yield f"{count}: {reason}."
    if len(reasons) > _MOST_REASONS:
        yield "The rest for reasons like these."
