"""Connections to the provider that are cut, each mode so many times."""

import time

from tools.drill.chaos import Cut
from tools.drill.drill import Drill
from tools.drill.size import Size

_PATIENCE = 150.0


def cuts(drill: Drill, size: Size) -> None:
    proxy = drill.proxy
    for cut in Cut:
        wanted = proxy.counts[cut] + size.cuts
        proxy.cut, proxy.share, proxy.limit = cut, 0.6, size.cuts
        end = time.monotonic() + _PATIENCE
        while proxy.counts[cut] < wanted and time.monotonic() < end:
            drill.pass_time(0.3)
            # A mail that had ended before its fate was met does not count: another one is cut.
            if proxy.limit == 0:
                proxy.limit = min(5, wanted - proxy.counts[cut])
        drill.faults[cut] += size.cuts - max(0, wanted - proxy.counts[cut])
    proxy.cut = None
