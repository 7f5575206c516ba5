"""Bodies as an attacker or a broken line would change them."""

from random import Random

_TOKENS = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\0", b"\xff", b"\xed\xa0\x80", b"null"),
    *(b"NaN", b"1e999", b"-1", b"9" * 40, b"\\ud800", b"\\u0000", b"true", b"bounce", b"\r\n"),
)


def mutate(body: bytes, chance: Random) -> bytes:
    """The body with one to three changes; never the same body."""
    changed = body
    while changed == body:
        for _ in range(chance.randint(1, 3)):
            changed = _change(changed, chance)
    return changed


def _change(body: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(body) + 1)
    end = min(len(body), at + chance.randint(1, 30))
    match chance.randrange(5):
        case 0:  # one bit
            number = bytes([body[at] ^ 1 << chance.randrange(8)]) if at < len(body) else b""
            return body[:at] + number + body[at + 1 :]
        case 1:
            return body[:at] + body[end:]
        case 2:
            return body[:at] + chance.choice(_TOKENS) + body[at:]
        case 3:
            return body[:at] + chance.choice(_TOKENS) + body[end:]
        case _:
            return body[:at] + body[at:end] * 2 + body[end:]
