"""Keeps the limits of held streams up to date: a pause does not hide that a limit is reached."""

from postledger.deliveries import queries
from postledger.dispatch.context import Context

_MOST_STREAMS = 200


async def review_held(context: Context) -> None:
    """Asks the limits of streams that are held for something else, and holds them for these too."""
    for stream in await context.db.run(queries.list_held_streams, limit=_MOST_STREAMS):
        sender = await context.providers.find_sender(stream.sender_id)
        causes = await context.permits.list_causes(stream, sender) if sender else None
        if causes is not None:
            await context.holds.hold_for_limits(stream, causes)
