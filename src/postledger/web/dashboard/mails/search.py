"""What somebody looks for who types an address, an id or a campaign into one field."""

from uuid import UUID

from postledger.campaigns.runs import run_lookup
from postledger.deliveries import queries
from postledger.deliveries.figures import messages
from postledger.deliveries.figures.message_sources import MessageFilters
from postledger.lib.ids import DeliveryId
from postledger.providers import addresses


def find_mail(workspace_id: int, words: str) -> DeliveryId | None:
    """The mail of the workspace with this id, the id of a try, or this Message-ID."""
    local_part = words.strip("<>").partition("@")[0]
    parsed = DeliveryId.parse(local_part) if local_part else None
    if parsed is None or messages.find_message(workspace_id, parsed) is None:
        return None
    return DeliveryId(parsed.stream_id, parsed.position)


def choose_mails(
    workspace_id: int, words: str, *, run_id: UUID | None = None, stream_id: int | None = None
) -> MessageFilters | None:
    """By an address, else by the name of a campaign, else by a provider's id; None: there is no
    such run.
    """
    if run_id is not None:
        stream_id = run_lookup.find_stream_of_run(workspace_id, run_id)
        if stream_id is None:
            return None
    stream_ids = None if stream_id is None else [stream_id]
    if not words:
        return MessageFilters(stream_ids=stream_ids)
    if "@" in words and not words.startswith("<"):
        return MessageFilters(address=_read_address(words), stream_ids=stream_ids)
    named = run_lookup.find_streams_named(workspace_id, words)
    if named:
        wanted = named if stream_ids is None else sorted(set(named).intersection(stream_ids))
        return MessageFilters(stream_ids=wanted)
    return MessageFilters(message_id=words, stream_ids=stream_ids)


def _read_address(words: str) -> str:
    """As addresses are stored, with the domain in ASCII; what is none finds nothing."""
    return addresses.canonical(words) if addresses.is_valid(words) else words


def is_of_test(filters: MessageFilters) -> bool:
    """Whether the one stream that is asked for is of a test key: then its mail is meant."""
    if filters.stream_ids is None or len(filters.stream_ids) != 1:
        return False
    stream = queries.find_stream(filters.stream_ids[0])
    return stream is not None and stream.is_test
