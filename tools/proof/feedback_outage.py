"""`python -m tools.proof.feedback_outage [SECONDS]`: nobody takes events for ten minutes.

Mail of two workspaces goes out all the time. One is reported to a queue, the other to our URL. For
ten minutes there is no web process, and no worker reaches the queue. Afterwards every event of the
first workspace is booked; of the second, those are missing that SNS has given up, and they are
counted.
"""

import asyncio
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, override

from tools.drill import stage
from tools.drill.chaos import Proxy, Stream
from tools.drill.saying import say
from tools.drill.waiting import until

if TYPE_CHECKING:
    from tools.drill.drill import Drill
    from tools.proof.feedback_tenants import Tenant

_OUTAGE_SECONDS = 600.0
_BEFORE, _AFTER = 30.0, 60.0
_MAILS_AT_ONCE = 1  # of each workspace, every second
_PATIENCE = 600.0


class Pipe(Proxy):
    """Passes bytes on; while it is down, existing connections end, too."""

    @override
    async def carry(self, client: Stream) -> None:
        server = await self.connect()
        ways = [_pump(client[0], server[1]), _pump(server[0], client[1]), self._watch()]
        tasks = [asyncio.create_task(way) for way in ways]
        await asyncio.wait(tasks, return_when="FIRST_COMPLETED")
        for task in tasks:
            task.cancel()
        for _, writer in (client, server):
            writer.transport.abort()

    async def _watch(self) -> None:
        while not self.is_down:  # noqa: ASYNC110  another thread sets it
            await asyncio.sleep(0.2)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


def main() -> int:
    outage = float(sys.argv[1]) if len(sys.argv) > 1 else _OUTAGE_SECONDS
    with stage.put_up(workers=1, has_queue=True) as drill:
        return 0 if _prove(drill, outage) else 1


def _prove(drill: "Drill", outage: float) -> bool:
    from tools.proof import feedback_tenants

    assert drill.sqs
    pipe = Pipe(drill.sqs.port)
    until(lambda: _is_served(drill), seconds=60)
    url = f"http://127.0.0.1:{drill.fleet.web_port}/ses-events"
    queued = feedback_tenants.create(drill, "queued", sqs_endpoint=f"http://127.0.0.1:{pipe.port}")
    posted = feedback_tenants.create(drill, "posted", url=url)
    until(lambda: feedback_tenants.is_confirmed(posted), seconds=60)
    mailing = _Mailing([queued, posted])
    mailing.run(_BEFORE)
    [web] = drill.fleet.of_role("web")
    drill.fleet.kill(web, why="outage")
    pipe.is_down = True
    mailing.run(outage)
    say(f"away for {outage:.0f} s, in which {2 * mailing.count} mails went out")
    pipe.is_down = False
    drill.fleet.start("web")
    mailing.run(_AFTER)
    _wait_for_events(drill, queued)
    return _report(drill, queued, posted)


def _is_served(drill: "Drill") -> bool:
    from tools.drill.services import is_open

    return drill.sqs is not None and is_open(drill.sqs.port) and is_open(drill.fleet.web_port)


class _Mailing:
    """A campaign of each workspace, to which some mails are added every second."""

    def __init__(self, tenants: "list[Tenant]") -> None:
        from tools.drill import books

        self.count = 0  # of each workspace, in the last phase
        self._planned = 0
        self._streams = [
            books.open_campaign(tenant.workspace_id, tenant.sender_id) for tenant in tenants
        ]

    def run(self, seconds: float) -> None:
        from tools.drill import books

        self.count, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            for stream_id in self._streams:
                books.plan(stream_id, self._planned, _MAILS_AT_ONCE)
            self._planned += _MAILS_AT_ONCE
            self.count += _MAILS_AT_ONCE
            time.sleep(1)


def _wait_for_events(drill: "Drill", queued: "Tenant") -> None:
    """Until none is on its way: neither at SES, nor in the queue, nor in the inbox."""
    from postledger.feedback.models import InboxMessage, Topic

    assert drill.sqs
    queue_url = Topic.objects.get(workspace_id=queued.workspace_id).queue_url
    end = time.monotonic() + _PATIENCE
    while True:
        waiting = InboxMessage.objects.filter(fault="").count()
        on_the_way = drill.ses.count_waiting_events(), drill.sqs.count_messages(queue_url), waiting
        if not any(on_the_way):
            return
        if time.monotonic() > end:
            msg = "{} events at SES, {} in the queue, {} in the inbox".format(*on_the_way)
            raise TimeoutError(msg)
        time.sleep(1)


def _report(drill: "Drill", queued: "Tenant", posted: "Tenant") -> bool:
    from postledger.feedback import event_flow
    from tools.proof import feedback_tenants

    now = datetime.now(UTC) + event_flow.LATE_AFTER  # when no mail is too young to be missed
    flows = event_flow.find_flows([queued.sender_id, posted.sender_id], now=now)
    by_way = {}
    for way, tenant in (("SQS", queued), ("HTTPS", posted)):
        result = by_way[way] = feedback_tenants.compare(drill, tenant)
        say(
            f"{way:5} {result.mails} mails accepted, {result.published} events published,"
            f" {result.delivered} delivered, {result.failed} given up by SNS, {result.booked}"
            f" booked; mails without any event: {result.mails - result.reported_mails}, as"
            f" reported: {flows[tenant.sender_id].missing_count}"
        )
    by_queue, by_post = by_way["SQS"], by_way["HTTPS"]
    return (
        by_queue.booked == by_queue.published
        and not flows[queued.sender_id].missing_count
        and by_post.failed > 0
        and by_post.booked == by_post.published - by_post.failed
        and flows[posted.sender_id].missing_count == by_post.silent_mails
    )


if __name__ == "__main__":
    sys.exit(main())
