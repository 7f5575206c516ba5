"""Email addresses as they may stand on the wire: checked, with the domain in ASCII."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

import idna

from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say

_MAX_ADDRESS = 254
_MAX_LOCAL = 64
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# Possessive repeats: a hostile address is refused in linear time.
_LOCAL = re.compile(rf"{_ATOM}++(?:\.{_ATOM}++)*+")
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*+")
# Separators, controls, format characters, surrogates, private use, unassigned.
_UNSPEAKABLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"})


class InvalidAddressError(RefusedError):
    code = "invalid_address"


# Each recipient's address is asked for twice: by the gates, and for its header.
@lru_cache(maxsize=2048)
def canonical(address: str) -> str:
    """The address with its domain in lower-case ASCII; the local part stays as it is.

    Quoted local parts and address literals are refused: they are legal, nobody has one, and
    without them no character of an address can end a header or a command.
    """
    local, at, domain = address.rpartition("@")
    if not at or len(address) > _MAX_ADDRESS or not _is_local(local):
        raise InvalidAddressError(
            say("'%(address)s' is not an email address.", address=address[:_MAX_ADDRESS])
        )
    return f"{local}@{ascii_domain(domain)}"


def is_valid(address: str) -> bool:
    try:
        canonical(address)
    except InvalidAddressError:
        return False
    return True


def domain_of(address: str) -> str:
    return canonical(address).rpartition("@")[2]


def list_domains(domain: str) -> Iterator[str]:
    """The domain and those above it, without the top-level one."""
    yield domain
    _, _, above = domain.partition(".")
    while "." in above:
        yield above
        _, _, above = above.partition(".")


def spellings(address: str) -> set[str]:
    """A canonical address in lowercase, with its domain in ASCII and as people read it."""
    local, _, domain = address.lower().rpartition("@")
    try:
        readable = idna.decode(domain).lower()
    except idna.IDNAError:
        readable = domain
    return {f"{local}@{domain}", f"{local}@{readable}"}


def readable(address: str) -> str:
    """A canonical address with its domain as people write it.

    The domain stays as it is if any of its letters is neither ASCII nor a Latin letter with an
    accent: letters of other scripts can look like these.
    """
    local, _, domain = address.rpartition("@")
    try:
        decoded = idna.decode(domain)
    except idna.IDNAError:
        return address
    is_plain = all(char.isascii() or _is_accented(char) for char in decoded)
    return f"{local}@{decoded}" if is_plain else address


def _is_accented(char: str) -> bool:
    """Of Latin-1 and Latin Extended-A; the i without its dot looks like another letter."""
    return "\u00c0" <= char <= "\u017f" and char.isalpha() and char not in "\u0131\u0138\u017f"


def is_routed(address: str) -> bool:
    """Whether a relay may read another mailbox out of a canonical address: `%` and `!` once named
    the way of a mail, and a domain without a dot is the relay's own.
    """
    local = address.rpartition("@")[0]
    return "%" in local or "!" in local or is_internal(address)


def is_internal(address: str) -> bool:
    """Whether only a server of the own network may know the domain of a canonical address."""
    return "." not in address.rpartition("@")[2]


def lacks_ending(address: str, *, known: Iterable[str]) -> bool:
    """Whether a part of a canonical address is probably missing: its domain has no dot, and nobody
    who is known has an address there.
    """
    domains = {one.rpartition("@")[2].lower() for one in known}
    return is_internal(address) and address.rpartition("@")[2] not in domains


_GMAIL = frozenset({"gmail.com", "googlemail.com"})


def mailbox_of(address: str) -> str:
    """The same for all spellings of a canonical address that reach one mailbox: capitals, what
    follows a +, and Gmail's dots.
    """
    local, _, domain = address.lower().rpartition("@")
    local = local.partition("+")[0] or local
    return f"{local.replace('.', '')}@gmail.com" if domain in _GMAIL else f"{local}@{domain}"


def ascii_domain(domain: str) -> str:
    if len(domain) <= _MAX_ADDRESS and not domain.isascii():
        try:
            domain = idna.encode(domain, uts46=True).decode()
        except (idna.IDNAError, UnicodeError):
            raise _no_domain(domain) from None
    if len(domain) > _MAX_ADDRESS or not _DOMAIN.fullmatch(domain):
        raise _no_domain(domain)
    return domain.lower()


def _no_domain(text: str) -> InvalidAddressError:
    return InvalidAddressError(
        say("'%(domain)s' is not a domain name.", domain=text[:_MAX_ADDRESS])
    )


def _is_local(local: str) -> bool:
    # Readers have been seen to decode encoded words even here.
    if len(local.encode(errors="surrogatepass")) > _MAX_LOCAL or "=?" in local:
        return False
    if not local.isascii():
        if any(unicodedata.category(char) in _UNSPEAKABLE for char in local):
            return False
        local = "".join(char if char.isascii() else "x" for char in local)
    return _LOCAL.fullmatch(local) is not None
