"""An operator's decision about one mail, or about a stream's mails in chunks."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from postledger.accounts import trail
from postledger.accounts.models import Workspace
from postledger.cli import base_command
from postledger.deliveries import explain, queries, undecided
from postledger.deliveries.entries import SeenDelivery
from postledger.deliveries.queries import DeliveryFacts, StreamFacts
from postledger.deliveries.states import State
from postledger.lib.ids import DeliveryId

CHUNK = 500  # mails that are decided in one transaction
_MOST_REASONS = 5  # that are printed for a stream


@dataclass(frozen=True, slots=True)
class BulkDecision:
    before: State  # the state that mails must have
    makes_wait: bool
    action: str  # in the audit trail
    effect: str  # completes “it …” and “each …”
    apply: Callable[[int, Sequence[SeenDelivery], str], list[int]]


@dataclass(frozen=True, slots=True)
class Selection:
    """One mail, or all mails of a stream; optionally of one workspace only."""

    id: str | None
    stream: int | None
    workspace: Workspace | None
    actor: str


def add_selection(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="a delivery's id, or a provider's message id")
    parser.add_argument("--stream", type=int, metavar="NUMBER", help="all mails of a stream")
    base_command.add_workspace_option(parser)
    base_command.add_actor_option(parser)


def parse_selection(options: Mapping[str, Any]) -> Selection:
    id_, stream, name = (options.get(key) for key in ("id", "stream", "workspace_name"))
    if id_ is not None and stream is not None:
        raise CommandError("Give either the id of a mail or --stream, not both.")
    workspace = base_command.workspace(name) if name else None
    return Selection(id_, stream, workspace, base_command.actor(options.get("actor", "")))


def decide(decision: BulkDecision, selection: Selection, code: str | None = None) -> Iterator[str]:
    """Decides the selected mails and yields lines for the operator; refusals end the command."""
    if selection.id is not None:
        yield from _decide_one(decision, selection, selection.id)
    elif selection.stream is not None:
        stream = base_command.stream(selection.stream, selection.workspace)
        yield from _decide_stream(decision, stream, actor=selection.actor, code=code)
    else:
        raise CommandError("Give the id of a mail, or --stream NUMBER for all mails of a stream.")


def find_delivery(id_: str) -> tuple[StreamFacts, DeliveryFacts] | None:
    """A delivery and its stream, by our id or by a provider's message id."""
    parsed = DeliveryId.parse(id_)
    key = (parsed.stream_id, parsed.position) if parsed else queries.find_by_message_id(id_)
    if key is None:
        return None
    stream, delivery = queries.find_stream(key[0]), queries.find_delivery(*key)
    return (stream, delivery) if stream and delivery else None


def _decide_one(decision: BulkDecision, selection: Selection, id_: str) -> Iterator[str]:
    """The decision counts only if the mail is unchanged since it was read."""
    owner, match = selection.workspace, find_delivery(id_)
    if match is None or (owner is not None and owner.id != match[0].workspace_id):
        where = f" in workspace “{owner.name}”" if owner else ""
        raise CommandError(f"There is no delivery {id_}{where}.")
    stream, delivery = match
    name = DeliveryId(stream.id, delivery.position).uuid()
    if delivery.state is decision.before:
        yield (
            f"To {delivery.address}, delivery {delivery.position} of {stream.kind}"
            f" “{stream.title}”."
        )
        seen = [SeenDelivery(delivery.position, delivery.last_try)]
        if _apply(decision, stream, seen, actor=selection.actor, subject=f"delivery {name}"):
            yield f"Done: it {decision.effect}."
            return
    [reason] = _list_reasons(decision, stream, [delivery.position])
    raise CommandError(f"Nothing changed: {reason}. See postledger why {name}.")


def _decide_stream(
    decision: BulkDecision, stream: StreamFacts, *, actor: str, code: str | None
) -> Iterator[str]:
    """Each chunk is a transaction: decided mails stay decided if the command is interrupted."""
    count = queries.read_books([stream.id])[stream.id].counts[decision.before]
    state = decision.before.value.replace("_", " ")
    yield f"{stream.kind.capitalize()} “{stream.title}”: {count} {state}."
    done, reasons, last = 0, Counter[str](), -1
    while mails := undecided.find_undecided(
        stream.id, decision.before, after=last, code=code, limit=CHUNK
    ):
        seen = [SeenDelivery(mail.position, mail.last_try) for mail in mails]
        applied = _apply(decision, stream, seen, actor=actor, subject=f"stream {stream.id}")
        remaining = {mail.position for mail in mails}.difference(applied)
        reasons.update(_list_reasons(decision, stream, sorted(remaining)))
        done, last = done + len(applied), mails[-1].position
    yield f"Decided {done} mails: each {decision.effect}." if done else "Nothing changed."
    if reasons:
        raise CommandError("\n".join(_describe_unchanged(reasons)))


def _apply(
    decision: BulkDecision,
    stream: StreamFacts,
    seen: Sequence[SeenDelivery],
    *,
    actor: str,
    subject: str,
) -> list[int]:
    with transaction.atomic():
        applied = decision.apply(stream.id, seen, actor)
        if applied:
            trail.note(
                stream.workspace_id,
                actor=actor,
                action=decision.action,
                subject=subject,
                data={"count": len(applied)},
            )
    return applied


def _list_reasons(
    decision: BulkDecision, stream: StreamFacts, positions: Sequence[int]
) -> list[str]:
    if not positions:
        return []
    fresh = queries.find_stream(stream.id) or stream  # it may have been cancelled meanwhile
    return [
        explain.explain_unchanged(
            left, fresh, before=decision.before, makes_wait=decision.makes_wait
        )
        for left in undecided.find_unchanged(stream.id, positions)
    ]


def _describe_unchanged(reasons: Counter[str]) -> Iterator[str]:
    yield f"Left {reasons.total()} mails unchanged."
    for reason, count in reasons.most_common(_MOST_REASONS):
        yield f"{count}: {reason}."
    if len(reasons) > _MOST_REASONS:
        yield "The others for similar reasons."
