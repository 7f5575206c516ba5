"""How large a share is at least, given few or many mails; pure."""

from math import sqrt

_Z = 1.96  # 95 % of the cases


def lower_bound(count: int, total: int) -> float:
    """The lower end of Wilson's interval: one bounce of three mails proves little."""
    if total <= 0:
        return 0.0
    share = min(count, total) / total
    spread = _Z * sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2))
    return max(0.0, (share + _Z**2 / (2 * total) - spread) / (1 + _Z**2 / total))
