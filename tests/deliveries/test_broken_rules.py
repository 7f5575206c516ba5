"""The rules that broken_rules.py breaks are still written as it says."""

from tests.deliveries import broken_rules, rules_to_break


def test_every_text_that_is_replaced_occurs_exactly_once() -> None:
    assert list(broken_rules.misfits()) == []


def test_no_rule_is_broken_twice_under_one_name() -> None:
    names = [one.rule for one in rules_to_break.BREAKS]

    assert len(names) == len(set(names))
