"""A reference is believed when this installation wrote it, and nothing else is."""

import base64
import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from postledger.lib import references, secrets
from postledger.lib.ids import DeliveryId
from postledger.lib.references import Reference

ID = DeliveryId(1_382_979_469_313, 7, 2)
[KEY] = references.derive_keys(["now"])
WRITTEN = references.write(ID.text(), 3, KEY)

positions = st.integers(0, 2**40)
epochs = st.integers(0, 2**31)


@given(positions, epochs)
def test_a_reference_comes_back_as_it_was_written(position: int, epoch: int) -> None:
    delivery_id = DeliveryId(1_382_979_469_313, position, 1)

    written = references.write(delivery_id.text(), epoch, KEY)

    assert references.read(written, [KEY]) == Reference(delivery_id, epoch)


def test_a_reference_is_the_id_the_epoch_and_80_bits_of_hmac_sha256_in_base32() -> None:
    key = secrets.derive_key("now", "delivery references")
    code = hmac.digest(key, f"{ID.text()}_3".encode(), hashlib.sha256)[:10]

    assert f"{ID.text()}_3_{base64.b32encode(code).decode().lower()}" == WRITTEN


def test_the_first_version_s_references_are_still_believed() -> None:
    """Mails that left long ago carry them: neither the format nor the derivation may change."""
    uuid = "01420000-0001-8002-8000-000000000007"

    reference = references.read(f"{uuid}_3_4nrvx4gitj5qcaue", [KEY])

    assert reference is not None
    assert (reference.delivery_id.text(), reference.epoch) == (uuid, 3)


def test_every_secret_verifies_and_the_first_one_signs() -> None:
    keys = references.derive_keys(["newest", "newer", "now"])

    assert references.read(WRITTEN, keys) == Reference(ID, 3)
    assert references.read(references.write(ID.text(), 3, keys[0]), [KEY]) is None


def test_every_changed_character_makes_it_a_stranger_s() -> None:
    for at, old in enumerate(WRITTEN):
        for new in "0123456789abcdefz_- ":
            if new != old:
                changed = WRITTEN[:at] + new + WRITTEN[at + 1 :]
                assert references.read(changed, [KEY]) is None, changed


def test_any_other_text_is_nobody_s_reference() -> None:
    assert references.read(WRITTEN, []) is None, "without keys"
    for text in (
        "",
        "x",
        ID.text(),
        f"{ID.text()}_3",
        f"{ID.text()}_3_",
        WRITTEN.upper(),
        f" {WRITTEN}",
        f"{WRITTEN}\n",
        f"{WRITTEN}_1",
        WRITTEN[:-1],
        WRITTEN.replace("_3_", "_03_"),
        WRITTEN.replace("_3_", "_+3_"),
        WRITTEN.replace("_3_", "_٣_"),  # a digit of another script
        WRITTEN.replace("-", ""),
        references.write("17", 3, KEY),
        references.write("00000000-0000-4000-8000-000000000000", 3, KEY),  # no id of ours
        references.write(DeliveryId(2**48 - 1, 7, 2).text().upper(), 3, KEY),
        references.write(ID.text(), -3, KEY),
    ):
        assert references.read(text, [KEY]) is None, text


@given(st.text())
def test_what_strangers_send_never_raises(text: str) -> None:
    assert references.read(text, [KEY]) is None
    assert references.read(f"{WRITTEN[:39]}{text}", [KEY]) is None


def test_a_reference_goes_into_a_header_and_a_tag_as_it_is() -> None:
    longest = references.write(DeliveryId(2**48 - 1, 2**40, 1).text(), 10**18 - 1, KEY)

    assert set(longest) <= set("0123456789abcdefghijklmnopqrstuvwxyz-_")
    assert len(f"X-Postledger-Id: {references.write(ID.text(), 10**6, KEY)}") <= 78
    assert len(longest) < 256
