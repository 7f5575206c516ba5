"""What is found out about the records of a sender: a code, what is there, and what to paste."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postledger.lib.check_results import Level
from postledger.providers.dns.records import DnsRecord


class Subject(StrEnum):
    SPF = "spf"
    DKIM = "dkim"
    DMARC = "dmarc"
    MAIL_FROM = "mail_from"


class Code(StrEnum):
    SPF_RIGHT = "spf_right"
    SPF_NAMES_SERVERS = "spf_names_servers"  # whether the relay is one, it alone knows
    SPF_OF_PROVIDER = "spf_of_provider"  # the envelope has a domain of the provider
    SPF_MISSING = "spf_missing"
    SPF_SEVERAL = "spf_several"
    SPF_BROKEN = "spf_broken"
    SPF_INCLUDE_BROKEN = "spf_include_broken"  # a domain that it includes has no usable record
    SPF_TOO_MANY_LOOKUPS = "spf_too_many_lookups"
    SPF_LACKS_PROVIDER = "spf_lacks_provider"
    SPF_OPEN = "spf_open"  # everybody may send
    SPF_UNDECIDED = "spf_undecided"  # says nothing of all others
    SPF_UNANSWERED = "spf_unanswered"
    DKIM_RIGHT = "dkim_right"
    DKIM_UNKNOWN = "dkim_unknown"  # nobody said which records are to be there
    DKIM_MISSING = "dkim_missing"
    DKIM_DOUBLED = "dkim_doubled"  # the domain stands twice in the name
    DKIM_ELSEWHERE = "dkim_elsewhere"  # the record leads to another name
    DKIM_SEVERAL = "dkim_several"
    DKIM_BROKEN = "dkim_broken"
    DKIM_REVOKED = "dkim_revoked"
    DKIM_TOO_SHORT = "dkim_too_short"
    DKIM_SHORT = "dkim_short"
    DKIM_TESTING = "dkim_testing"
    DKIM_UNANSWERED = "dkim_unanswered"
    DMARC_RIGHT = "dmarc_right"
    DMARC_WATCHES = "dmarc_watches"
    DMARC_PARTLY = "dmarc_partly"
    DMARC_MISSING = "dmarc_missing"
    DMARC_SEVERAL = "dmarc_several"
    DMARC_BROKEN = "dmarc_broken"
    DMARC_UNANSWERED = "dmarc_unanswered"
    MAIL_FROM_RIGHT = "mail_from_right"
    MAIL_FROM_MISSING = "mail_from_missing"
    MAIL_FROM_ELSEWHERE = "mail_from_elsewhere"
    MAIL_FROM_UNANSWERED = "mail_from_unanswered"

    @property
    def subject(self) -> Subject:
        return next(subject for subject in Subject if self.startswith(f"{subject}_"))

    @property
    def level(self) -> Level:
        return _LEVELS.get(self, Level.WARNING)

    @property
    def is_unanswered(self) -> bool:
        return self.endswith("_unanswered")


# All others are warnings: mail is sent, and may be taken for spam.
_LEVELS: Final[Mapping[Code, Level]] = {
    Code.SPF_RIGHT: Level.OK,
    Code.SPF_NAMES_SERVERS: Level.OK,
    Code.SPF_OF_PROVIDER: Level.OK,
    Code.DKIM_RIGHT: Level.OK,
    Code.DMARC_RIGHT: Level.OK,
    Code.MAIL_FROM_RIGHT: Level.OK,
    # Large mailbox providers refuse mail to many people without these.
    Code.SPF_MISSING: Level.PROBLEM,
    Code.DKIM_MISSING: Level.PROBLEM,
    Code.DKIM_REVOKED: Level.PROBLEM,
    Code.DMARC_MISSING: Level.PROBLEM,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    code: Code
    name: str  # where it was looked up
    seen: tuple[str, ...] = ()  # the records there
    detail: str = ""  # a term, tag, name or number that the code is about
    remedy: tuple[DnsRecord, ...] = ()  # to paste
    count: int = 0  # records that are right
