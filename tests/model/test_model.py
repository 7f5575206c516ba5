"""The ledger's protocol, explored to its last state, and what each of its rules is there for."""

import pytest

from tests.model import checker, configurations
from tests.model.rules import ALL, BACKSTOPS, Rule

# The length of the shortest way to harm once a rule is left out, and the claim it breaks. A rule
# that is missing here and in BACKSTOPS is a rule nobody has shown a reason for.
HARM = {
    Rule.ARM_HOLD: (5, "armed after a hold or a cancel"),
    Rule.ARM_GATES: (9, "already has its result was armed"),
    Rule.ARM_DOUBT: (15, "waits in two batches"),
    Rule.VERSION: (15, "already has its result was armed"),
    Rule.VERSION_FIRST: (15, "already has its result was armed"),
    Rule.SETTLE_BATCH: (8, "acceptance was heard, yet it is in_doubt"),
    Rule.SETTLE_WAITING: (7, "1 attempts were completed, 2 counted"),
    Rule.WINDOW: (9, "no batch will ever send it"),
    Rule.TRY: (11, "outside id was used for two sends"),
    Rule.LATE_ACCEPTED: (6, "acceptance was heard, yet it is waiting"),
    Rule.LATE_DENIED: (18, "failed, yet the provider took it"),
    Rule.STICKY: (12, "cancelled, yet the provider took it"),
    Rule.DEADLINE: (15, "took it twice and nobody asked"),
    Rule.ORPHANS: (14, "took it twice and nobody asked"),
    Rule.ORPHANS_NOT_SENT: (16, "took it twice and nobody asked"),
    Rule.CANCEL: (7, "cancelled, yet the provider took it"),
    Rule.CLICKS: (9, "waits in two batches"),
    Rule.SPLIT: (1, "waits in two batches"),
    Rule.SWEEP: (9, "cancelled, yet the provider took it"),
}

# How many worlds there are; pinned, so that a move nobody makes any more is noticed.
SIZES = {
    "one mail, killed, paused, clicked": 26_464,
    "one mail, paused, clicked twice": 57_711,
    "one mail, held, cancelled": 16_012,
    "one mail, cancelled, clicked": 20_011,
    "one mail, barred, clicked": 13_234,
    "one mail, barred, clicked twice": 2_638,
    "one mail, barred, killed": 4_568,
    "two mails, killed, halved": 9_872,
    "two mails, killed, paused, halved": 31_105,
    "two mails, killed, cancelled": 7_982,
    "two mails, paused, barred": 5_120,
    "two mails, clicked": 14_192,
    "three mails": 17_402,
    "three mails, killed, halved": 10_263,
}


def _story(result: checker.Result) -> str:
    return "\n".join((*result.trace, f"=> {result.violation or 'no claim is broken'}"))


@pytest.mark.parametrize("configuration", configurations.SMALL, ids=lambda it: it.name)
def test_no_claim_breaks_in_any_reachable_world(
    configuration: configurations.Configuration,
) -> None:
    result = checker.explore([configuration.start()], ALL)

    assert not result.violation, _story(result)
    assert result.states == SIZES[configuration.name]


@pytest.mark.parametrize("rule", HARM)
def test_without_the_rule_a_claim_breaks(rule: Rule) -> None:
    length, claim = HARM[rule]

    result = checker.explore([it.start() for it in configurations.SMALL], ALL - {rule})

    assert claim in result.violation, _story(result)
    assert len(result.trace) == length, _story(result)


# The whole of SMALL was explored without each of them too; here it would cost a minute.
@pytest.mark.parametrize("rule", sorted(BACKSTOPS))
def test_without_one_backstop_no_claim_breaks(rule: Rule) -> None:
    result = checker.explore([it.start() for it in configurations.LEASES], ALL - {rule})

    assert not result.violation, _story(result)


def test_without_both_backstops_of_arm_a_claim_breaks() -> None:
    left_out = {Rule.ARM_LEASE, Rule.ARM_FRESH}

    result = checker.explore([it.start() for it in configurations.SMALL], ALL - left_out)

    assert "cancelled, yet the provider took it" in result.violation, _story(result)
    assert len(result.trace) == 9, _story(result)


def test_every_rule_is_needed_or_is_a_backstop() -> None:
    assert HARM.keys() | BACKSTOPS == ALL
    assert not HARM.keys() & BACKSTOPS
