"""No full address and no secret survives masking, whatever surrounds it."""

from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postledger.observability import masking

LOCAL = st.text("abcdefgXYZ019.!#$%&*+/=?^_|~-äöß", min_size=2, max_size=20)
DOMAIN = st.from_regex(r"[a-z0-9]{1,8}(\.[a-z0-9]{1,8}){1,2}", fullmatch=True)
AROUND = st.sampled_from(["", " ", "<", ">", "'", '"', ",", ":", "(", ")", "\n", "to=", "mailto:"])


def test_an_address_keeps_its_first_letter_and_its_domain() -> None:
    for text, masked in [
        ("alice@example.com", "a***@example.com"),
        ("sent to alice@example.com.", "sent to a***@example.com."),
        ("Alice <alice@example.com>, bob@x.org", "Alice <a***@example.com>, b***@x.org"),
        ("alice%40example.com", "a***%40example.com"),
        ('"alice smith"@example.com', "a***@example.com"),
        ("bounces+alice=example.com@mail.acme.example", "b***@mail.acme.example"),
        ("alice@localhost", "a***@localhost"),
        ("alice@[127.0.0.1]", "a***@[127.0.0.1]"),
        ("jörg@münchen.example", "j***@münchen.example"),
        ("no address here, 3 @ 5", "no address here, 3 @ 5"),
    ]:
        assert masking.mask_text(text) == masked, text


def test_the_name_of_a_process_of_ours_is_shown() -> None:
    masking.keep_readable("worker-12345@vm")

    assert masking.mask_text("worker-12345@vm ready.") == "worker-12345@vm ready."
    assert masking.mask_text("worker-1@vm, a-worker-12345@vm") == "w***@vm, a***@vm"


@pytest.mark.slow
@given(before=AROUND, local=LOCAL, domain=DOMAIN, after=AROUND)
@example(before="", local="a=b", domain="x.org", after=":")
def test_no_address_survives_in_any_surroundings(
    before: str, local: str, domain: str, after: str
) -> None:
    masked = masking.mask_text(f"{before}{local}@{domain}{after}")

    assert f"{local}@" not in masked
    assert "***@" in masked


def test_credentials_are_dropped_from_texts() -> None:
    for text in [
        "postgresql://alice:hunter2@db:5432/books",
        "redis://:hunter2@127.0.0.1/0",
        "Authorization: Bearer hunter2.abc",
        "host=db password=hunter2 dbname=books",
        "password='hunter2'",
        '{"api_key": "hunter2"}',
        "https://acme.example/unsubscribe?token=hunter2&list=general",
    ]:
        assert "hunter2" not in masking.mask_text(text), text


def test_fields_with_a_secret_name_are_redacted() -> None:
    for name in [
        "password",
        "SECRET_KEY",
        "api_key",
        "Authorization",
        "unsubscribe_token",
        "cookies",
    ]:
        assert masking.mask_mapping({name: "hunter2"}) == {name: masking.REDACTED}, name


def test_values_of_every_shape_are_masked() -> None:
    @dataclass
    class Contact:
        email: str

    fields = {
        "nested": {"to": ["alice@example.com", ("bob@example.com",)]},
        "object": Contact("charlie@example.com"),
        "error": ValueError("dave@example.com"),
        "raw": b"erin@example.com",
        "frank@example.com": 1,
    }

    masked = repr(masking.mask_mapping(fields))

    for local in ("alice", "bob", "charlie", "dave", "erin", "frank"):
        assert local not in masked
    assert masked.count("***@example.com") == 6


def test_numbers_and_nothing_stay_as_they_are() -> None:
    fields = {"attempt": 3, "duration_ms": 1.5, "is_held": True, "reason": None}

    assert masking.mask_mapping(fields) == fields
