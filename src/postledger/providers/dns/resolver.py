"""Looks up records at one resolver: every wait has an end, and so has every answer."""

import asyncio
from collections.abc import Sequence

import dns.asyncresolver
import dns.exception
import dns.name
import dns.rdata
import dns.rdatatype
import dns.resolver
from dns.rdtypes.ANY.CNAME import CNAME
from dns.rdtypes.ANY.MX import MX
from dns.rdtypes.ANY.TXT import TXT

from postledger.providers.dns.records import Answer, Question, Unanswered
from postledger.providers.dns.resolver_address import ResolverAddress

_QUESTION_SECONDS = 3.0
_MOST_VALUES = 64
_LONGEST_VALUE = 4_000


class Resolver:
    """Belongs to one event loop."""

    def __init__(
        self, address: ResolverAddress, *, question_seconds: float = _QUESTION_SECONDS
    ) -> None:
        self._resolver = _build(address)
        self._seconds = question_seconds

    async def ask_all(self, questions: Sequence[Question]) -> list[Answer | Unanswered]:
        return await asyncio.gather(*map(self.ask, questions))

    async def ask(self, question: Question) -> Answer | Unanswered:
        """Never raises: a name that cannot be one has no record."""
        if self._resolver is None:
            return Unanswered("this machine has no resolver")
        try:
            name = dns.name.from_text(question.name)
            answer = await self._resolver.resolve(
                name, question.type.value, search=False, lifetime=self._seconds
            )
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return Answer()
        except (dns.name.LabelTooLong, dns.name.NameTooLong, dns.name.EmptyLabel):
            return Answer()
        except (dns.exception.DNSException, OSError, ValueError) as error:
            return Unanswered(type(error).__name__)
        # In one order, whatever the server's is.
        return Answer(tuple(sorted(map(_write, list(answer)[:_MOST_VALUES]))))


def _build(address: ResolverAddress) -> dns.asyncresolver.Resolver | None:
    if not address.host:
        try:
            return dns.asyncresolver.Resolver()
        except dns.resolver.NoResolverConfiguration:
            return None
    resolver = dns.asyncresolver.Resolver(configure=False)
    resolver.nameservers = [address.host]
    resolver.port = address.port
    return resolver


def _write(value: dns.rdata.Rdata) -> str:
    """As people paste it; what a record cannot show is shown as a question mark."""
    match value:
        case TXT():
            text = b"".join(value.strings).decode("ascii", errors="replace")
        case CNAME():
            text = value.target.to_text(omit_final_dot=True)
        case MX():
            text = f"{value.preference} {value.exchange.to_text(omit_final_dot=True)}"
        case _:
            text = value.to_text()
    printable = "".join(char if char.isprintable() else "?" for char in text)
    return printable[:_LONGEST_VALUE]
