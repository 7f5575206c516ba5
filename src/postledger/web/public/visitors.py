"""Who is at a public door: the address behind the proxies, and how often it may come."""

from functools import cache
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

from postledger.web.shared.throttle import Throttle


def address(request: HttpRequest) -> str | None:
    """The visitor's IP address; None where the server was told none, as on a socket."""
    hops = [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",")]
    trusted = settings.PROXY_COUNT
    # Each proxy adds who spoke to it, so what stands further left is anybody's word.
    told = hops[-trusted] if 0 < trusted <= len(hops) else ""
    found = _read(told) or _read(str(request.META.get("REMOTE_ADDR", "")))
    return str(found) if found else None


def take(rate: str, *parts: str) -> None:
    """Counts one request of whoever the parts name, or refuses it.

    Only a hash of them is given to Redis: it need not know who visits.
    """
    digest = sha256("\0".join(("public", *parts)).encode()).digest()
    _throttle(rate, settings.REDIS_URL).take(int.from_bytes(digest[:12]))


def network(ip: str | None) -> str:
    """What is counted together: of IPv6, everybody has a network of their own."""
    if ip is None or ":" not in ip:
        return ip or "nobody"
    return str(ip_network((ip, 64), strict=False))


@cache
def _throttle(rate: str, redis_url: str) -> Throttle:
    return Throttle(rate, redis_url)


def _read(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    if isinstance(found, IPv6Address):
        # A zone names an interface of this machine, and no database stores it.
        return found.ipv4_mapped or IPv6Address(int(found))
    return found
