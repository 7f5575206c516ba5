"""Records of DNS: those a sender needs, those to paste, and what a look-up returned."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class RecordType(StrEnum):
    TXT = "TXT"
    CNAME = "CNAME"
    MX = "MX"


@dataclass(frozen=True, slots=True)
class DnsRecord:
    """A record as a person pastes it."""

    name: str
    type: RecordType
    value: str


@dataclass(frozen=True, slots=True)
class Question:
    name: str
    type: RecordType


@dataclass(frozen=True, slots=True)
class Answer:
    """Every record of the type at a name; none if there is no such record or no such name."""

    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No resolver said whether there is one."""

    detail: str


type Lookups = Mapping[Question, Answer | Unanswered]


@dataclass(frozen=True, slots=True)
class SpfNeed:
    """Where SPF is looked up for the mail of a sender, and the term that names its provider."""

    domain: str  # of the envelope's sender
    term: str = ""  # such as include:amazonses.com; empty: nobody knows which servers send


@dataclass(frozen=True, slots=True)
class DkimKey:
    name: str
    type: RecordType
    value: str = ""  # empty: the key is known to the server that signs, and to nobody else


@dataclass(frozen=True, slots=True)
class SenderRecords:
    """What DNS has to say for the mail of one sender, as its provider asks."""

    domain: str  # of the From address
    # None: the envelope has a domain of the provider, which answers for it.
    spf: SpfNeed | None = None
    dkim: tuple[DkimKey, ...] = ()  # empty: the provider did not say which
    mail_from: tuple[DnsRecord, ...] = ()  # of the domain to which bounces return


def normalise(name: str) -> str:
    """Names are equal in any case, with a dot at the end or without."""
    return name.strip().rstrip(".").lower()
