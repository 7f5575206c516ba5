"""Examines the records of a sender in DNS: looks up what has to be known, then judges it."""

import asyncio
from contextlib import suppress

from postledger.providers.dns import dkim, dmarc, mail_from, spf
from postledger.providers.dns.records import (
    Answer,
    Lookups,
    Question,
    SenderRecords,
    Unanswered,
)
from postledger.providers.dns.resolver import Resolver
from postledger.providers.dns.verdicts import Code, Verdict

_LONGEST = 8.0  # seconds, of everything
_MOST_QUESTIONS = 60


async def examine(
    needed: SenderRecords, resolver: Resolver, *, longest: float = _LONGEST
) -> list[Verdict]:
    """What was not answered in time is a verdict too."""
    lookups: dict[Question, Answer | Unanswered] = {}
    with suppress(TimeoutError):
        async with asyncio.timeout(longest):
            await _look_up(needed, resolver, lookups)
    return judge(needed, lookups)


async def _look_up(
    needed: SenderRecords, resolver: Resolver, lookups: dict[Question, Answer | Unanswered]
) -> None:
    while len(lookups) < _MOST_QUESTIONS:
        questions = list_questions(needed, lookups)
        if not questions:
            return
        lookups.update(zip(questions, await resolver.ask_all(questions), strict=True))


def list_questions(needed: SenderRecords, lookups: Lookups) -> list[Question]:
    questions = [
        *dkim.list_questions(needed.domain, needed.dkim, lookups),
        *dmarc.list_questions(needed.domain, lookups),
        *mail_from.list_questions(needed.mail_from, lookups),
    ]
    if needed.spf is not None:
        questions += spf.list_questions(needed.spf, lookups)
    return list(dict.fromkeys(questions))


def judge(needed: SenderRecords, lookups: Lookups) -> list[Verdict]:
    """SPF, DKIM, DMARC and, where bounces return to a domain of its own, that one."""
    of_provider = Verdict(Code.SPF_OF_PROVIDER, needed.domain)
    verdicts = [
        of_provider if needed.spf is None else spf.judge(needed.spf, lookups),
        dkim.judge(needed.domain, needed.dkim, lookups),
        dmarc.judge(needed.domain, lookups),
    ]
    if needed.mail_from:
        verdicts.append(mail_from.judge(needed.mail_from, lookups))
    return verdicts
