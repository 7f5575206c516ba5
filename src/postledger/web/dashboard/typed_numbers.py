"""Numbers as people type them: thousands in groups, and a decimal point or comma.

A text with two readings, such as 1.000 where fractions are allowed, is refused in every language:
many people see these pages in another language than the one in which they write numbers.
"""

import re
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

AMBIGUOUS = "ambiguous"  # the code of a refusal

_LONGEST = 40
_GROUPS = r"[1-9][0-9]{0,2}(?:(?P<between>[ \u00a0\u202f.,])[0-9]{3})(?:(?P=between)[0-9]{3}){0,12}"
_WHOLE = re.compile(rf"(?P<sign>[-+]?)(?P<whole>[0-9]+|{_GROUPS})")
_DECIMAL = re.compile(
    rf"(?P<sign>[-+]?)(?P<whole>[0-9]*|{_GROUPS})(?:(?P<point>[.,])(?P<fraction>[0-9]+))?"
)
_TWO_READINGS = re.compile(r"[-+]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_NOT_DIGITS = re.compile(r"[^0-9]")


def spell_whole(text: str, *, example: str = "") -> str:
    """The whole number in plain digits; raises ValidationError with what to do."""
    match = _WHOLE.fullmatch(_write_plainly(text))
    if match is None and example:
        sentence = _("Write a whole number, such as %(example)s.")
        raise ValidationError(sentence, code="invalid", params={"example": example})
    if match is None:
        raise ValidationError(
            _(
                "Write a whole number, such as 12000. A space, a dot or a comma may only separate"
                " groups of three digits."
            ),
            code="invalid",
        )
    return _write_sign(match) + _NOT_DIGITS.sub("", match["whole"])


def spell_decimal(text: str) -> str:
    """The number in plain digits with a point; raises ValidationError with what to do."""
    plain = _write_plainly(text)
    if _TWO_READINGS.fullmatch(plain):
        raise _refuse_two_readings(plain)
    match = _DECIMAL.fullmatch(plain)
    if match is None or not _NOT_DIGITS.sub("", plain) or match["point"] == _between(match):
        raise ValidationError(_("Write a number, such as 5, 0.5 or 0,5."), code="invalid")
    whole = _NOT_DIGITS.sub("", match["whole"]) or "0"
    return _write_sign(match) + whole + (f".{match['fraction']}" if match["point"] else "")


def write_decimal(number: float) -> str:
    """The number so that `spell_decimal` reads the same one."""
    text = f"{Decimal(repr(number)).normalize():f}"
    return f"{text}0" if _TWO_READINGS.fullmatch(text) else text


def is_same(typed: str, shown: str) -> bool:
    """Whether somebody typed the whole number that was shown, however its groups are separated."""
    try:
        return typed == shown or spell_whole(typed) == spell_whole(shown)
    except ValidationError:
        return False


def _refuse_two_readings(text: str) -> ValidationError:
    return ValidationError(
        _("“%(text)s” may mean %(thousands)s or %(fraction)s. Write it as one of these."),
        code=AMBIGUOUS,
        params={
            "text": text,
            "thousands": text.replace(".", "").replace(",", ""),
            "fraction": write_decimal(float(text.replace(",", "."))),
        },
    )


def _between(match: re.Match[str]) -> str:
    return match["between"] or ""


def _write_sign(match: re.Match[str]) -> str:
    return "-" if match["sign"] == "-" else ""


def _write_plainly(text: str) -> str:
    """With the digits 0 to 9; a text that is too long is no number."""
    plain = "".join(str(int(each)) if each.isdecimal() else each for each in text.strip())
    return plain if len(plain) <= _LONGEST else ""
