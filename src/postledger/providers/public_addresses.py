"""Finds the addresses of a host that a person named, and refuses those inside a network.

What is asked is what was looked at: connect to the addresses that are returned, not to the name,
which may lead elsewhere a moment later.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address


class ForbiddenAddressError(Exception):
    """The host is inside a network, or on this machine although its name does not say so."""


async def find_addresses(host: str, port: int) -> Sequence[str]:
    """Public addresses of a host; those of this machine only for a host that names it.

    One forbidden address among them is enough to raise ForbiddenAddressError. Raises OSError if
    the host is unknown, or is no name that a host can have.
    """
    return await _resolve(host, port, is_loopback if is_here(host) else is_public)


async def find_public_addresses(host: str, port: int) -> Sequence[str]:
    """The same for a host of somebody who may not use this machine, whatever it is called."""
    return await _resolve(host, port, is_public)


async def find_any_addresses(host: str, port: int) -> Sequence[str]:
    """All addresses of a host that the operator of the installation has allowed."""
    return await _resolve(host, port, lambda _address: True)


async def _resolve(host: str, port: int, is_allowed: Callable[[str], bool]) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    try:
        entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label is empty or too long
        raise OSError("not the name of a host") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    if not addresses or not all(map(is_allowed, addresses)):
        raise ForbiddenAddressError
    return addresses


def is_here(host: str) -> bool:
    """Whether a host names this machine: localhost, or an address of its own."""
    return host == "localhost" or is_loopback(host)


def is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def is_public(address: str) -> bool:
    parsed = ip_address(address)
    if isinstance(parsed, IPv6Address):
        # Each leads to an address of IPv4, which may be a private one.
        if parsed.sixtofour or parsed.teredo:
            return False
        parsed = parsed.ipv4_mapped or parsed
    return _is_global(parsed)


def _is_global(address: IPv4Address | IPv6Address) -> bool:
    """Python takes site-local addresses of IPv6, and those that nobody has assigned, for global.

    Some of these have an address of IPv4 inside: NAT64 (64:ff9b::/96) and IPv4-compatible (::/96).
    """
    if isinstance(address, IPv6Address) and address.is_site_local:
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
