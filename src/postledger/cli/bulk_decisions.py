"""An operator's decision about one mail or about a stream's mails, in words of the command line."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandError

from postledger.accounts.models import Workspace
from postledger.cli import base_command
from postledger.deliveries import queries
from postledger.deliveries.attention import deciding
from postledger.deliveries.attention.deciding import Action, NotDecidedError
from postledger.deliveries.queries import DeliveryFacts, StreamFacts
from postledger.lib.ids import DeliveryId

_MOST_REASONS = 5  # that are printed for a stream


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


def decide(
    action: Action, selection: Selection, *, effect: str, code: str | None = None
) -> Iterator[str]:
    """Decides the selected mails and yields lines for the operator; refusals end the command.

    `effect` completes “it …” and “each …”.
    """
    if selection.id is not None:
        yield from _decide_one(action, selection, selection.id, effect)
    elif selection.stream is not None:
        stream = base_command.stream(selection.stream, selection.workspace)
        yield from _decide_stream(action, stream, effect, actor=selection.actor, code=code)
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


def _decide_one(action: Action, selection: Selection, id_: str, effect: str) -> Iterator[str]:
    """The decision counts only if the mail is unchanged since it was read."""
    owner, match = selection.workspace, find_delivery(id_)
    if match is None or (owner is not None and owner.id != match[0].workspace_id):
        where = f" in workspace “{owner.name}”" if owner else ""
        raise CommandError(f"There is no delivery {id_}{where}.")
    stream, delivery = match
    if delivery.state is action.before:
        yield (
            f"To {delivery.address}, delivery {delivery.position} of {stream.kind}"
            f" “{stream.title}”."
        )
    seen = DeliveryId(stream.id, delivery.position, delivery.last_try)
    try:
        deciding.decide_one(action, stream.workspace_id, seen, actor=selection.actor)
    except NotDecidedError as refused:
        name = DeliveryId(stream.id, delivery.position).uuid()
        raise CommandError(f"{refused} See postledger why {name}.") from None
    yield f"Done: it {effect}."


def _decide_stream(
    action: Action, stream: StreamFacts, effect: str, *, actor: str, code: str | None
) -> Iterator[str]:
    count = queries.read_books([stream.id])[stream.id].counts[action.before]
    state = action.before.value.replace("_", " ")
    yield f"{stream.kind.capitalize()} “{stream.title}”: {count} {state}."
    done, reasons, after = 0, Counter[str](), -1
    while True:
        decided = deciding.decide_stream(
            action, stream.workspace_id, stream.id, code=code, after=after, actor=actor
        )
        done += decided.count
        reasons.update(decided.unchanged)
        if decided.after is None:
            break
        after = decided.after.position
    yield f"Decided {done} mails: each {effect}." if done else "Nothing changed."
    if reasons:
        raise CommandError("\n".join(_describe_unchanged(reasons)))


def _describe_unchanged(reasons: Counter[str]) -> Iterator[str]:
    yield f"Left {reasons.total()} mails unchanged."
    for reason, count in reasons.most_common(_MOST_REASONS):
        yield f"{count}: {reason}."
    if len(reasons) > _MOST_REASONS:
        yield "The others for similar reasons."
