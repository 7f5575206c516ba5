"""Judges the records of the domain to which bounces return. Pure."""

from collections.abc import Sequence

from postledger.providers.dns.records import (
    DnsRecord,
    Lookups,
    Question,
    Unanswered,
    normalise,
)
from postledger.providers.dns.verdicts import Code, Verdict


def list_questions(records: Sequence[DnsRecord], lookups: Lookups) -> list[Question]:
    questions = [Question(record.name, record.type) for record in records]
    return [question for question in questions if question not in lookups]


def judge(records: Sequence[DnsRecord], lookups: Lookups) -> Verdict:
    """At least one record is needed; the first that is wrong decides."""
    for record in records:
        lookup = lookups.get(Question(record.name, record.type), Unanswered(""))
        if isinstance(lookup, Unanswered):
            return Verdict(Code.MAIL_FROM_UNANSWERED, record.name, detail=record.name)
        if not lookup.values:
            return Verdict(Code.MAIL_FROM_MISSING, record.name, remedy=(record,))
        if normalise(record.value) not in set(map(normalise, lookup.values)):
            return Verdict(
                Code.MAIL_FROM_ELSEWHERE, record.name, lookup.values, lookup.values[0], (record,)
            )
    return Verdict(Code.MAIL_FROM_RIGHT, records[0].name)
