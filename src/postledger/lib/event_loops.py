"""Runs a coroutine for a caller who waits no longer than the coroutine does."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, override


class _Threads(ThreadPoolExecutor):
    """Its threads may outlive it: a look-up of a name cannot be cancelled."""

    @override
    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)


def run_bounded[T](coroutine: Coroutine[Any, Any, T], *, threads: int | None = None) -> T:
    """Like `asyncio.run`, which waits up to five minutes for look-ups that were given up.

    So many look-ups run at once as there are threads; the default suits a few.
    """
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(_Threads(threads))
        return runner.run(coroutine)
