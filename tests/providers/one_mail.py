"""Hands one mail over in a process of its own, which a test may stop; prints the outcome's type.

Usage: python -m tests.providers.one_mail asyncio|uvloop '<settings of the account as JSON>'
"""

import asyncio
import json
import sys
from collections.abc import Callable

import uvloop

from postledger.providers.smtp.provider import build
from tests.providers.messages import a_window, send
from tests.providers.stands import opened

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.SelectorEventLoop,
    "uvloop": uvloop.new_event_loop,
}


async def main(settings: dict[str, object]) -> None:
    async with opened(build(settings)) as provider:
        [outcome] = await send(provider, a_window("alice@example.com"), within=600)
    sys.stdout.write(f"{type(outcome).__name__}\n")


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=LOOPS[sys.argv[1]]) as runner:
        runner.run(main(json.loads(sys.argv[2])))
