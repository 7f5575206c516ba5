"""Keeps the limits of held streams up to date.

A pause does not hide that a limit is reached, and a worker that had not read a new limit when it
held a stream for the former one holds it for some seconds only.
"""

from postledger.deliveries import queries
from postledger.dispatch.context import Context

_AT_ONCE = 200


async def review_held(context: Context) -> None:
    """Asks the limits of all streams that are held, and holds them for exactly these."""
    after = 0
    while streams := await context.db.run(queries.list_held_streams, after=after, limit=_AT_ONCE):
        for stream in streams:
            sender = await context.providers.find_sender(stream.sender_id)
            causes = await context.permits.list_causes(stream, sender) if sender else None
            if causes is not None:
                await context.holds.hold_for_limits(stream, causes)
        after = streams[-1].id
