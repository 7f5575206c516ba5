"""What keeps a mail back, and what became of it, is told in the reader's language."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple, replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import translation
from django.utils.translation import gettext

from postledger.deliveries.entries import AttemptOutcome, Hold, HoldScope
from postledger.deliveries.explanations import explain, history_texts, why
from postledger.deliveries.explanations.reason_texts import explain_reason
from postledger.deliveries.queries import AttemptFacts, Books, ReportCounts, WaitSummary
from postledger.deliveries.reasons import Reason
from postledger.deliveries.states import State
from tests.deliveries.test_explain import BLOCK, CODED_BLOCK, DELIVERY, NOON, PAUSE, STREAM, WORK

HOUR = timedelta(hours=1)
HOURLY = Hold(Reason.RATE_PER_HOUR, NOON, NOON + HOUR, "dispatch", "", HoldScope.STREAM)
TABLES: list[Mapping[Any, str]] = [
    explain._COUNTS,
    explain._HELD,
    explain._KINDS,
    explain._REPORTED,
    explain._STATES,
    history_texts._EVENTS,
    history_texts._OUTCOMES,
    history_texts._REPORTS,
    why._HELD,
]
ENGLISH = re.compile(
    r"(?<!%\()\b(?:it|its|the|because|since|until|mails?|nobody|was|is)\b", re.IGNORECASE
)


@pytest.fixture(params=["ru", "pt"], autouse=True)
def language(request: pytest.FixtureRequest) -> Iterable[str]:
    with translation.override(request.param):
        yield request.param


def english_of(sentences: Iterable[str]) -> list[str]:
    return [sentence for sentence in sentences if ENGLISH.search(sentence)]


def test_every_reason_and_every_word_of_the_vocabularies_is_told_in_every_language() -> None:
    for reason in Reason:
        texts = [text for text in astuple(explain_reason(reason)) if text]
        assert len(texts) >= 3, reason
        assert english_of(texts) == []
    results = [text for texts in why._RESULTS.values() for text in texts]
    words = [*results, *(text for table in TABLES for text in table.values())]

    assert english_of(map(gettext, words)) == []


def test_a_cause_is_told_in_the_readers_language(language: str) -> None:
    delivery = replace(DELIVERY, work=WORK)
    [cause] = why.list_delivery_causes(delivery, replace(STREAM, holds=(HOURLY,)), now=NOON)

    assert (
        cause.sentence
        == {
            "ru": "Удерживается, потому что исчерпан часовой лимит.",
            "pt": "Está em retenção porque o limite por hora foi atingido.",
        }[language]
    )


def test_no_english_is_left_in_what_is_told_of_a_mail() -> None:
    refused = AttemptFacts(1, NOON, AttemptOutcome.TRY_LATER, State.WAITING, "S-1", "busy")
    waiting = replace(DELIVERY, history=[refused], doubts=[1, 2])
    told: list[str] = []
    for hold in (HOURLY, PAUSE, BLOCK, CODED_BLOCK):
        stream = replace(STREAM, title="x", holds=(replace(hold, detail=""),))
        told += explain.explain_delivery(waiting, stream, now=NOON)
    for state in set(State) - {State.WAITING}:
        ended = replace(DELIVERY, state=state, work=None, settled_at=NOON, doubts=[1], attempts=5)
        told += explain.explain_delivery(ended, STREAM, now=NOON)

    assert english_of(told) == []


def test_counts_are_told_in_the_plural_of_the_language(language: str) -> None:
    wait = WaitSummary(Reason.RETRY, 21, 5, 2, NOON + HOUR, NOON)
    books = Books(30, {State.ACCEPTED: 3, State.IN_DOUBT: 22})
    told = explain.explain_stream(
        replace(STREAM, title="x"), books, [wait], reports=ReportCounts(1, reported=1), now=NOON
    )

    assert english_of(told) == []
    expected = {
        "ru": ("21 пакет, 5 позиций, 2 пакета", "22 письма под вопросом"),
        "pt": ("21 lotes, 5 posições, 2 lotes", "22 mensagens estão em dúvida"),
    }[language]
    assert all(part in " ".join(told) for part in expected)
