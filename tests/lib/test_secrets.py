"""What is sealed opens with its secret, for its purpose, at its place, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.lib import secrets
from postledger.lib.secrets import UnsealableError

# Sealed by the first version; what installations have stored must open for ever.
FROM_2026 = bytes.fromhex(
    "01000102030405060708090a0bbad1b360e127f802c76176134d3610f3a6646c2ec0eb83"
)


def seal(data: bytes = b"hunter2") -> bytes:
    return secrets.seal(data, secrets=["now"], purpose="settings", bound_to="workspace 1")


def unseal(
    sealed: bytes,
    *keys: str,
    purpose: str = "settings",
    bound_to: str = "workspace 1",
) -> bytes:
    return secrets.unseal(sealed, secrets=keys or ["now"], purpose=purpose, bound_to=bound_to)


@given(st.binary(max_size=300))
def test_a_sealed_value_comes_back_as_it_went(data: bytes) -> None:
    assert unseal(seal(data)) == data


def test_a_sealed_value_does_not_show_what_is_in_it_nor_that_it_is_the_same() -> None:
    assert b"hunter2" not in seal()
    assert seal() != seal()


def test_what_the_first_version_sealed_still_opens() -> None:
    opened = secrets.unseal(
        FROM_2026,
        secrets=["a secret of 2026"],
        purpose="provider settings",
        bound_to="workspace 7",
    )

    assert opened == b"hunter2"


def test_the_first_secret_seals_and_every_previous_one_opens() -> None:
    sealed = secrets.seal(
        b"hunter2", secrets=["newest", "now"], purpose="settings", bound_to="workspace 1"
    )

    assert unseal(sealed, "newest") == b"hunter2"
    assert unseal(seal(), "newest", "newer", "now") == b"hunter2"
    with pytest.raises(UnsealableError):
        unseal(sealed, "now")


def test_a_strange_secret_another_purpose_and_another_place_do_not_open() -> None:
    with pytest.raises(UnsealableError):
        unseal(seal(), "another")
    with pytest.raises(UnsealableError):
        unseal(seal(), purpose="tokens")
    with pytest.raises(UnsealableError):
        unseal(seal(), bound_to="workspace 11")


def test_a_value_with_any_bit_turned_or_cut_anywhere_does_not_open() -> None:
    sealed = seal()

    for bit in range(len(sealed) * 8):
        turned = bytearray(sealed)
        turned[bit // 8] ^= 1 << bit % 8
        with pytest.raises(UnsealableError):
            unseal(bytes(turned))
    for length in range(len(sealed)):
        with pytest.raises(UnsealableError):
            unseal(sealed[:length])


def test_the_refusal_shows_no_secret() -> None:
    with pytest.raises(UnsealableError) as refused:
        unseal(seal(), "a-secret-of-ours")

    assert refused.value.code == "unsealable"
    assert "a-secret-of-ours" not in str(refused.value)


def test_an_empty_secret_is_a_bug_and_seals_nothing() -> None:
    with pytest.raises(ValueError, match="the secret is empty"):
        secrets.seal(b"hunter2", secrets=[""], purpose="settings", bound_to="workspace 1")
