"""What a PostgreSQL address says: `postgresql://user:password@host:port/name?sslmode=require`."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

_SCHEMES = ("postgresql", "postgres")


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    name: str
    user: str
    password: str = field(repr=False)
    host: str
    port: str
    options: dict[str, str]


def parse(url: str) -> DatabaseAddress:
    """Read the address, or raise a ValueError whose text never repeats the address itself."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError("is no readable address (is the port a number below 65536?)") from error
    if parts.scheme not in _SCHEMES:
        raise ValueError("must begin with postgresql:// (no other database can keep the ledger)")
    name = unquote(parts.path.removeprefix("/"))
    if not name or "/" in name:
        raise ValueError("must end with one database name, as in postgresql://host/postledger")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    return DatabaseAddress(
        name=name,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        # A socket's folder cannot stand where a host name does, so libpq takes it from the query.
        host=options.pop("host", "") or unquote(parts.hostname or ""),
        port=str(port or ""),
        options=options,
    )
