"""The provider of SES without a ledger: `python -m tools.bench.bare_ses ENDPOINT MAILS SIZE`.

Prepares the mails and says `ready`, waits for a line, hands them over and says `done`, and ends
after another line.
"""

import asyncio
import sys
from contextlib import aclosing
from datetime import UTC, datetime

import uvloop

from postledger.lib.clock import boottime
from postledger.providers import mime
from postledger.providers.base import Accepted, Mailbox, OutgoingMessage, Parts
from postledger.providers.ses import provider
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

PATIENCE = 600.0
CONNECTIONS = 20
SENDER = Mailbox("ses@bench.example")


def settings(endpoint: str) -> dict[str, object]:
    return {
        "region": "us-east-1",
        "endpoint": endpoint,
        "access_key_id": ACCESS_KEY_ID,
        "secret_access_key": SECRET_ACCESS_KEY,
        "connections": CONNECTIONS,
    }


def compose(number: int, size: int) -> OutgoingMessage:
    reference = f"01420000-0001-8000-8000-{number:012x}_1_0123456789abcdef"
    recipient = f"r{number}@example.com"
    html = f"<p>{'x' * (size - 600)}</p>"
    parts = Parts(SENDER, Mailbox(recipient), "Bench", datetime.now(UTC), html=html)
    content = mime.compose(parts, reference=reference)
    return OutgoingMessage(reference, reference, SENDER.address, recipient, content)


async def send(endpoint: str, window: list[OutgoingMessage]) -> None:
    ses = provider.build(settings(endpoint))
    await ses.open()
    say("ready")
    async with aclosing(ses.send(window, boottime() + PATIENCE)) as outcomes:
        accepted = [isinstance(outcome, Accepted) async for _, outcome in outcomes]
    assert all(accepted), "the fake refused mail"
    say("done")
    await ses.close()


def say(word: str) -> None:
    """And wait for a line."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()
    sys.stdin.readline()


def main() -> None:
    endpoint, mails, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    window = [compose(number, size) for number in range(mails)]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(send(endpoint, window))


if __name__ == "__main__":
    main()
