"""Numbers that people type: separated thousands, decimal commas, and what has two readings."""

import pytest
from django.core.exceptions import ValidationError

from postledger.web.dashboard import typed_numbers
from postledger.web.dashboard.forms import DecimalField, WholeNumberField


def test_a_thousand_is_read_however_its_groups_are_separated() -> None:
    spellings = ("1000", "1 000", "1\u00a0000", "1\u202f000", "1.000", "1,000", " 1000 ", "+1000")
    for text in spellings:
        assert WholeNumberField().clean(text) == 1000, text


def test_every_other_dot_or_comma_in_a_whole_number_is_refused() -> None:
    for text in (
        *("1.0", "1,5", "1000.0", "1.00", "10.0000", "1.000,000", "0.500", "1. 000", "1'000"),
        *("1e3", ".", "2.000.00", "1234.567", "1" * 50),
    ):
        with pytest.raises(ValidationError, match="Write a whole number, such as 12000"):
            WholeNumberField().clean(text)


def test_a_rate_has_a_decimal_point_or_a_decimal_comma() -> None:
    rates = {"5": 5, "0.5": 0.5, "0,5": 0.5, ",5": 0.5, "0.125": 0.125, "1000": 1000}
    rates |= {"1 000,5": 1000.5, "1.234,5": 1234.5, "1,234.567": 1234.567, "-2,50": -2.5}
    rates |= {"1.000.000": 1_000_000, "1234.567": 1234.567}

    assert {text: DecimalField().clean(text) for text in rates} == rates


def test_a_rate_with_two_readings_is_refused_with_both() -> None:
    for text in ("1.000", "1,000", "2,500", "-1.125"):
        with pytest.raises(ValidationError, match="may mean") as refused:
            DecimalField().clean(text)

        sentence = refused.value.messages[0].split("may mean ")[1].split(". Write")[0]
        readings = {typed_numbers.spell_decimal(each) for each in sentence.split(" or ")}
        assert len(readings) == 2, "both can be typed"


def test_what_is_no_number_is_no_rate() -> None:
    for text in ("1e3", "nan", "inf", "1.5.5", "1.234.5", "1,5 5", "-", "."):
        with pytest.raises(ValidationError, match=r"Write a number, such as 5, 0\.5 or 0,5\."):
            DecimalField().clean(text)


def test_a_rate_is_shown_so_that_saving_it_changes_nothing() -> None:
    for number in (1234.5678, 1.125, 0.00001, 5.0, 1000.0, 10_000.0, 0.1, 123.456):
        shown = DecimalField().prepare_value(number)

        assert "e" not in shown, number
        assert DecimalField().clean(shown) == number


def test_an_empty_number_is_none() -> None:
    fields = (WholeNumberField(required=False), DecimalField(required=False))

    assert [field.clean(" ") for field in fields] == [None, None]
