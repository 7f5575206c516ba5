"""Providers are found by name, and only those that are used are imported."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from postledger.lib.check_results import Level
from postledger.providers import registry
from postledger.providers.base import Finding, Form, Provider
from postledger.providers.smtp.settings import SmtpSettings
from tests.providers.fake_smtp import FEATURES, FakeSmtp, Phase, serving


def test_a_provider_is_built_by_its_name() -> None:
    cases: list[tuple[str, dict[str, object]]] = [
        ("sandbox", {}),
        ("ses", {"region": "eu-west-1"}),
        ("smtp", {"host": "mail.acme.example", "username": "a", "password": "b"}),
    ]
    for kind, settings in cases:
        provider: Provider = registry.build(kind, settings)

        assert provider.window_size > 0, kind
        assert provider.call_time > 0, kind
        assert provider.form is Form.MIME, kind


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(registry.UnknownKindError, match="sandbox, sendgrid, ses, smtp"):
        registry.build("pigeon", {})


def test_a_check_of_an_smtp_server_sends_nothing_and_names_the_settings_to_change() -> None:
    async def play(faults: dict[Phase, str]) -> tuple[Sequence[Finding], list[str]]:
        refusing = FakeSmtp(features=(*FEATURES, "AUTH PLAIN"), faults=faults)
        async with serving(refusing) as server:
            account = {"host": "127.0.0.1", "port": server.port, "tls": "none", "username": "a"}
            return await registry.load_module("smtp").check(account, []), server.said

    findings, said = asyncio.run(play({}))
    assert not findings
    assert [command.split()[0] for command in said] == ["EHLO", "AUTH", "QUIT"]

    cases: list[tuple[Phase, str, tuple[str, ...], tuple[str, ...]]] = [
        (Phase.AUTH, "535 5.7.8 bad credentials", ("username",), ("password",)),
        (Phase.EHLO, "554 not here", ("host", "port", "tls"), ()),
    ]
    for phase, answer, settings, secrets in cases:
        [failed], _ = asyncio.run(play({phase: answer}))

        assert failed.level is Level.PROBLEM, phase
        assert (failed.settings, failed.secrets) == (settings, secrets), phase
        assert answer in failed.message, phase


def test_a_vendor_is_imported_on_first_use() -> None:
    program = (
        "import sys; from postledger.providers import registry; "
        "assert not any(kind in sys.modules for kind in registry.KINDS.values()); "
        "registry.build('sandbox', {}); "
        "assert registry.KINDS['sandbox'] in sys.modules; "
        "assert registry.KINDS['smtp'] not in sys.modules; "
        "registry.build('ses', {'region': 'eu-west-1'}); "
        "assert 'botocore' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", program], check=True)


def test_wrong_settings_are_refused_by_name_and_no_password_is_shown() -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({}, "host"),
        ({"host": "mail.example\r\nEHLO x"}, "host"),
        ({"host": "mail.example", "port": 70_000}, "port"),
        ({"host": "mail.example", "connections": 101}, "connections"),
        ({"host": "mail.example", "tls": "maybe"}, "tls"),
        ({"host": "mail.example", "ehlo_name": "a b"}, "ehlo_name"),
        ({"host": "mail.example", "unheard_of": 1}, "unheard_of"),
        ({"host": "mail.example", "timeouts": {"answer": 0}}, "answer"),
        ({"host": "mail.example", "tls": "none", "username": "a"}, "in the open"),
        ({"host": "mail.example", "username": "a\0b"}, "NUL"),
    ]
    for settings, complaint in cases:
        with pytest.raises(ValidationError, match=complaint):
            registry.build("smtp", settings)
    for host in ("127.0.0.1", "::1", "localhost"):  # a password in the open stays here
        registry.build("smtp", {"host": host, "tls": "none", "username": "a"})
    assert "secret" not in repr(SmtpSettings.model_validate({"host": "x", "password": "secret"}))


def test_the_time_of_a_call_is_eleven_minutes_by_smtp_and_half_a_minute_to_sendgrid() -> None:
    for kind, settings, seconds in [
        ("smtp", {"host": "mail.example"}, 660),
        ("sendgrid", {"api_key": "SG.made-up"}, 30),
    ]:
        assert registry.build(kind, settings).call_time == seconds, kind


def test_closing_twice_does_no_harm() -> None:
    async def play() -> None:
        keys = {"access_key_id": "a", "secret_access_key": "b"}
        for kind, settings in (
            ("sandbox", {}),
            ("ses", {"region": "eu-west-1", **keys}),
            ("smtp", {"host": "mail.example"}),
        ):
            provider = registry.build(kind, settings)
            await provider.open()
            await provider.close()
            await provider.close()

    asyncio.run(play())
