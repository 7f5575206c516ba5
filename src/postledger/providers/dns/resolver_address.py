"""The address of a resolver. Settings read it, so it is apart from the library that asks there,
which every command would load otherwise.
"""

from dataclasses import dataclass
from ipaddress import ip_address

_PORT = 53
_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class ResolverAddress:
    host: str  # an IP address; empty: the resolvers of this machine
    port: int = _PORT


def parse_address(text: str) -> ResolverAddress:
    """Reads an IP address with or without a port; raises ValueError for anything else."""
    if not text:
        return ResolverAddress("")
    try:
        return ResolverAddress(str(ip_address(text.strip("[]"))))
    except ValueError:
        host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port[:6]) <= _LAST_PORT:
        raise ValueError("is not an IP address, with or without a port, such as 127.0.0.1:5353")
    return ResolverAddress(str(ip_address(host.strip("[]"))), int(port))
