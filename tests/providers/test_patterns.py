"""Text parts with holes: whatever fills them, a reader gets exactly the text that was meant."""

import re
from email import message_from_bytes, policy

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postledger.providers.patterns import InvalidContentError, Pattern

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=200)
# Latin ones are written as quoted-printable, Cyrillic ones as base64.
SPEECHES = st.one_of(TEXTS, st.text("абвгде \n", max_size=200), st.text("a b=.\n", max_size=200))


def filled(pattern: Pattern, texts: list[str]) -> bytes:
    return b"".join(pattern.pieces(texts, {}))


def read(part: bytes) -> str:
    message = message_from_bytes(part, policy=policy.SMTP.clone(raise_on_defect=True))
    return str(message.get_content()).replace("\r\n", "\n")


@given(first=SPEECHES, rest=st.lists(st.tuples(SPEECHES, SPEECHES), max_size=5))
@example(first="a" * 76, rest=[("b" * 76, "c" * 76)])
@example(first="x" * 75 + "=", rest=[("=" * 40, " \t")])
@example(first="ю", rest=[("я", ""), ("", ""), ("ab", "ю")])
@example(first=" ", rest=[(" ", " "), ("\n", "\n")])
def test_a_filled_pattern_reads_as_the_joined_text(first: str, rest: list[tuple[str, str]]) -> None:
    pattern = Pattern("plain", [first, *(literal for _, literal in rest)])

    part = filled(pattern, [value for value, _ in rest])

    meant = first + "".join(value + literal for value, literal in rest)
    assert read(part) in {meant, meant + "\n"}
    assert all(len(line) <= 76 for line in part.split(b"\r\n")[3:])
    assert part.isascii()
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)", part)


def test_a_pattern_takes_as_many_texts_as_it_has_holes() -> None:
    cases: list[list[str]] = [[], ["a", "b"]]
    for texts in cases:
        with pytest.raises(ValueError, match="argument"):
            filled(Pattern("plain", ["a", "b"]), texts)


def test_half_a_character_is_refused_wherever_it_stands() -> None:
    with pytest.raises(InvalidContentError):
        Pattern("plain", ["\ud800"])
    with pytest.raises(InvalidContentError):
        filled(Pattern("plain", ["a", "b"]), ["\ud800"])
