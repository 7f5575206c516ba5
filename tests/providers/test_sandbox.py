"""The sandbox: what it journals, and what it reports afterwards."""

import asyncio
import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from postledger.providers import registry
from postledger.providers.base import (
    Accepted,
    EventKind,
    InDoubt,
    Outcome,
    OutgoingMessage,
    ProviderEvent,
    Throttled,
    TryLater,
)
from postledger.providers.sandbox import events, provider
from postledger.providers.sandbox.provider import Sandbox, SandboxSettings
from tests.providers.messages import NOON, a_window, an_id, closing, send
from tests.providers.stands import opened


def test_the_journal_has_one_line_for_each_mail_taken(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    window = a_window(
        *("alice@x.example", "refuse@x.example", "vanish@x.example", "bob@x.example"),
        "a@x.example\nforged b@x.example",
    )

    async def play() -> None:
        async with opened(provider.build({"journal": str(journal)})) as sandbox:
            await send(sandbox, window)

    asyncio.run(play())

    lines = journal.read_text().splitlines()
    assert lines[:3] == [
        f"{an_id(0)} alice@x.example",
        f"{an_id(2)} vanish@x.example",
        f"{an_id(3)} bob@x.example",
    ]
    assert len(lines) == 4


def test_a_second_process_adds_to_the_journal(tmp_path: Path) -> None:
    journal = tmp_path / "journal"

    async def play() -> None:
        one, other = (provider.build({"journal": str(journal)}) for _ in range(2))
        async with opened(one), opened(other):
            for sandbox in (one, other, one):
                await send(sandbox, a_window("alice@example.com"))

    asyncio.run(play())
    asyncio.run(play())

    assert len(journal.read_text().splitlines()) == 6


def test_what_is_journalled_is_journalled_before_it_is_told() -> None:
    taken: list[str] = []

    def sink(messages: Sequence[OutgoingMessage]) -> None:
        taken.extend(message.recipient for message in messages)

    async def play() -> None:
        sandbox = Sandbox(SandboxSettings(), sink=sink)
        async with closing(sandbox, a_window("alice@example.com", "bob@example.com")) as outcomes:
            _, outcome = await anext(outcomes)
            assert isinstance(outcome, Accepted)
            assert "alice@example.com" in taken

    asyncio.run(play())


def report(*recipients: str) -> list[ProviderEvent]:
    body = events.write_events(a_window(*recipients), at=NOON)
    return events.parse_events({}, body.encode())


def test_an_accepted_mail_is_reported_as_its_address_says() -> None:
    for word in events.REPORTS:
        assert [(event.kind, event.address) for event in report(f"{word}+1@example.com")] == [
            (EventKind.ACCEPTED, f"{word}+1@example.com"),
            (events.REPORTS[word], f"{word}+1@example.com"),
        ], word


def test_whatever_was_taken_is_proved_by_an_event() -> None:
    for word in ["alice", "vanish", "slow", "hang"]:
        reported = report(f"{word}@example.com")

        assert [event.kind for event in reported] == [EventKind.ACCEPTED, EventKind.DELIVERED], word
        assert {event.reference for event in reported} == {a_window("a@x.example")[0].reference}, (
            word
        )
        assert {event.at for event in reported} == {NOON}, word


def test_what_hangs_is_given_up_long_before_its_deadline_and_is_in_doubt() -> None:
    taken: list[str] = []

    def sink(messages: Sequence[OutgoingMessage]) -> None:
        taken.extend(message.recipient for message in messages)

    async def play() -> None:
        sandbox = Sandbox(SandboxSettings(hang=0.05), sink=sink)
        [outcome] = await asyncio.wait_for(
            send(sandbox, a_window("hang+1@example.com"), within=3_600), timeout=600
        )
        assert isinstance(outcome, InDoubt)

    asyncio.run(play())

    assert taken == ["hang+1@example.com"]
    assert SandboxSettings().hang <= 5


def parsed(*payloads: object) -> Sequence[ProviderEvent]:
    return registry.load_module("sandbox").parse_events({}, json.dumps(payloads).encode())


def test_an_unknown_or_malformed_event_is_kept() -> None:
    [event] = parsed({"event": "teleported", "reference": an_id(3), "warp": 9})
    assert (event.kind, event.name, event.reference) == (EventKind.UNKNOWN, "teleported", an_id(3))

    cases: list[dict[str, object]] = [
        {},
        {"event": 7},
        {"event": None, "reference": []},
        {"event": "delivered", "at": "yesterday"},
    ]
    for payload in cases:
        [event] = parsed(payload)

        assert event.at is None, payload


def test_a_body_that_is_no_array_of_events_is_refused() -> None:
    for body in [b"", b"{", b"{}", b"[7]", b"\xff"]:
        with pytest.raises(ValueError, match=r"."):
            registry.load_module("sandbox").parse_events({}, body)


def test_the_same_event_has_the_same_key_another_another_and_the_id_of_the_acceptance() -> None:
    accepted, delivered = report("alice@example.com")

    async def play() -> list[Outcome]:
        async with opened(Sandbox(SandboxSettings(retry_after=7))) as sandbox:
            window = a_window("alice@example.com", "later@x.example", "throttle@x.example")
            return await send(sandbox, window)

    assert report("alice@example.com") == [accepted, delivered]
    assert accepted.key != delivered.key
    outcome, *others = asyncio.run(play())
    assert outcome == Accepted(accepted.provider_id or "")
    for other in others:  # ask for the wait that was set
        assert isinstance(other, TryLater | Throttled)
        assert other.retry_after == timedelta(seconds=7)


def test_it_emits_the_events_of_what_it_took_and_of_nothing_else() -> None:
    emitted: dict[str, str] = {}

    async def play() -> None:
        sandbox = Sandbox(SandboxSettings(slow=0.01))
        sandbox.emit_to(emitted.__setitem__)
        await send(sandbox, a_window("bounce+1@x.example", "refuse@x.example", "slow@x.example"))

    asyncio.run(play())

    reported = [
        event for body in emitted.values() for event in events.parse_events({}, body.encode())
    ]
    assert [(event.kind, event.address) for event in reported] == [
        (EventKind.ACCEPTED, "bounce+1@x.example"),
        (EventKind.BOUNCED, "bounce+1@x.example"),
        (EventKind.ACCEPTED, "slow@x.example"),
        (EventKind.DELIVERED, "slow@x.example"),
    ]
