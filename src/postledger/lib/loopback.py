"""URLs that lead to the machine on which they are opened."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether it leads whoever opens it to their own machine."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
        if host == "localhost" or host.endswith(".localhost"):
            return True
        address = ip_address(host)
    except ValueError:  # a name, or no URL
        return False
    return address.is_loopback or address.is_unspecified
