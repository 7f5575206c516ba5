"""Estimates of rates from few observations; pure."""

import math

_Z = 1.96  # of a two-sided interval of 95 %


def wilson_lower_bound(hits: int, total: int) -> float:
    """The lower end of Wilson's 95 % interval: a rate that is almost surely reached.

    One bounce of three mails says little, and 60 of 1,000 a lot: the bound tells them apart.
    """
    if not 0 <= hits <= total or not total:
        raise ValueError(f"{hits} of {total} is not a share")
    share, z2 = hits / total, _Z**2
    margin = _Z * math.sqrt((share * (1 - share) + z2 / (4 * total)) / total)
    # Without a hit the true bound is 0, and rounding would give a little more.
    return max(0.0, (share + z2 / (2 * total) - margin) / (1 + z2 / total)) if hits else 0.0
