"""Unsubscribe tokens: only we can write one, and the same wish is always the same token."""

import hashlib
import hmac
import json
import random
import string
from base64 import urlsafe_b64encode

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from postledger.accounts.models import Workspace
from postledger.contacts import unsubscribe_links
from postledger.contacts.unsubscribe_links import UnsubscribeRequest
from tests.contacts import people

SECRET = b"a secret of the tests, long enough"
OTHER = b"another secret of the tests"
ALICE = UnsubscribeRequest("alice@example.com")


def base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(payload: object, secret: bytes = SECRET) -> str:
    data = json.dumps(payload).encode()
    return f"{base64(data)}.{base64(hmac.new(secret, data, hashlib.sha256).digest())}"


def test_a_token_is_the_payload_and_its_hmac_in_base64url() -> None:
    payload = b'{"email":"alice@example.com","list_key":"general"}'
    signature = hmac.new(SECRET, payload, hashlib.sha256).digest()

    assert (
        unsubscribe_links.sign_token(ALICE, secret=SECRET)
        == f"{base64(payload)}.{base64(signature)}"
    )


wishes = st.builds(
    UnsubscribeRequest,
    st.text(max_size=100),
    st.text(max_size=50),
    st.none() | st.integers(1, 2**63 - 1),
)


@given(wishes)
def test_a_token_is_read_back_as_it_was_meant(wish: UnsubscribeRequest) -> None:
    token = unsubscribe_links.sign_token(wish, secret=SECRET)

    assert unsubscribe_links.read_token(token, secrets=[SECRET]) == wish
    assert token == unsubscribe_links.sign_token(wish, secret=SECRET)


def test_a_token_of_before_the_secret_was_changed_still_works() -> None:
    token = unsubscribe_links.sign_token(ALICE, secret=OTHER)

    assert unsubscribe_links.read_token(token, secrets=[SECRET, OTHER]) == ALICE
    assert unsubscribe_links.read_token(token, secrets=[SECRET]) is None
    unsigned = unsubscribe_links.sign_token(ALICE, secret=b"")
    assert unsubscribe_links.read_token(unsigned, secrets=[b""]) is None


@pytest.mark.slow
def test_none_of_100000_mutated_tokens_is_accepted() -> None:
    token = unsubscribe_links.sign_token(
        UnsubscribeRequest("alice@example.com", "news", 7), secret=SECRET
    )
    alphabet = string.ascii_letters + string.digits + "-_.=%+/ "
    chance = random.Random(20261115)

    accepted = [
        mutated
        for mutated in (_mutated(token, chance, alphabet) for _ in range(100_000))
        if mutated != token and unsubscribe_links.read_token(mutated, secrets=[SECRET]) is not None
    ]

    assert accepted == []


def _mutated(token: str, chance: random.Random, alphabet: str) -> str:
    at = chance.randrange(len(token))
    sign = chance.choice(alphabet)
    match chance.randrange(5):
        case 0:
            return token[:at] + token[at + 1 :]
        case 1:
            return token[:at] + sign + token[at:]
        case 2:
            return token[at:] + token[:at]
        case 3:
            return token + sign * chance.randrange(1, 4)
        case _:
            return token[:at] + sign + token[at + 1 :]


def test_neither_a_text_nor_a_signed_payload_of_another_shape_is_a_token() -> None:
    payloads: list[object] = [
        {"list_key": "general"},
        {"email": 1},
        {"email": "a@b.example", "list_key": None},
        {"email": "a@b.example", "workspace": True},
        {"email": "a@b.example", "purpose": "open"},
        ["a@b.example"],
        "a@b.example",
    ]
    texts = ("", ".", "a.", ".a", "a.b.c", "é.é", "a" * 5_000, "\x00.\x00")
    for text in (*texts, *map(signed, payloads)):
        assert unsubscribe_links.read_token(text, secrets=[SECRET]) is None, text
    without_list = signed({"email": "a@b.example"})
    wish = UnsubscribeRequest("a@b.example", "general")
    assert unsubscribe_links.read_token(without_list, secrets=[SECRET]) == wish


@pytest.mark.django_db
def test_links_lead_to_our_own_page_unless_another_is_named() -> None:
    workspace_id, mail = people.workspace(), "https://mail.acme.example"
    cases: list[tuple[str, str, str, str]] = [
        ("", f"{mail}/", f"{mail}/unsubscribe", f"{mail}/preferences"),
        ("https://acme.example/out", mail, "https://acme.example/out", f"{mail}/preferences"),
        ("https://a.example/out", "", "https://a.example/out", "https://a.example/preferences"),
        ("", "", "", "preferences"),  # nothing is mailed with such links
    ]
    for named, public_url, page, preferences in cases:
        Workspace.objects.update(unsubscribe_base_url=named)
        with override_settings(PUBLIC_URL=public_url):
            links = unsubscribe_links.workspace_links(workspace_id)
        assert (links.base_url, links.preferences_url) == (page, preferences)
