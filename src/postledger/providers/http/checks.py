"""Checks an account at a service of HTTP: what was found in time, and whether it is the service."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from postledger.lib import sentences
from postledger.lib.check_results import Level
from postledger.lib.sentences import say
from postledger.providers.base import Finding
from postledger.providers.http.reading import Unread
from postledger.providers.http.settings import Endpoint

SECONDS = 20.0  # for all questions together; SES lets one a second through


@dataclass(frozen=True, slots=True)
class Words:
    """How one service is spoken of."""

    service: str
    house: str  # whose machines answer for it
    own: str  # a sentence: what has to be the service's own
    place: tuple[str, ...]  # the settings that say where it is


async def collect(
    findings: AsyncIterator[Finding], endpoint: Endpoint, words: Words
) -> list[Finding]:
    """What comes before the time is over is kept."""
    results: list[Finding] = []
    try:
        async with asyncio.timeout(SECONDS):
            async for finding in findings:
                results.append(finding)  # noqa: PERF401  a comprehension would lose all of them
    except TimeoutError:
        results.append(_too_slow(words, has_begun=bool(results)))
    return [_on_this_machine(endpoint, words), *results] if endpoint.is_here else results


def unconnected(unread: Unread, endpoint: Endpoint, service: str) -> Finding:
    """No setting may be wrong: the service has its own endpoint."""
    message = say(
        "This machine cannot reach %(service)s (%(host)s): %(detail)s",
        service=service,
        host=endpoint.host,
        detail=sentences.end(unread.detail),
    )
    return Finding("access", Level.PROBLEM, message, say("Check its DNS and firewall."))


def _too_slow(words: Words, *, has_begun: bool) -> Finding:
    if has_begun:
        within = f"within {SECONDS:.0f} s"
        message = f"Not everything was checked: {words.service} did not say it {within}."
        return Finding("access", Level.WARNING, message, "Try again later.")
    message = say(
        "%(service)s did not answer within %(seconds)s s.",
        service=words.service,
        seconds=f"{SECONDS:.0f}",
    )
    return Finding("access", Level.PROBLEM, message, say("Or try again later."), words.place)


def _on_this_machine(endpoint: Endpoint, words: Words) -> Finding:
    return Finding(
        "endpoint",
        Level.WARNING,
        f"The account talks to {endpoint.url} on this machine, not to {words.house}.",
        words.own,
        removals=("endpoint",),
    )
