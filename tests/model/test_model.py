"""The ledger's protocol, explored to its last state, and what each of its rules is there for."""

import pytest

from tests.model import checker, configurations
from tests.model.rules import ALL, BACKSTOPS, Rule

# The length of the shortest way to harm once a rule is left out, and the claim it breaks. A rule
# that is missing here and in BACKSTOPS is a rule nobody has shown a reason for.
HARM = {
    Rule.ARM_HOLD: (5, "armed after a hold or a cancel"),
    Rule.ARM_GATES: (9, "already has its result was armed"),
    Rule.VERSION: (15, "already has its result was armed"),
    Rule.VERSION_FIRST: (15, "already has its result was armed"),
    Rule.SETTLE_BATCH: (8, "acceptance was heard, yet it is in_doubt"),
    Rule.SETTLE_WAITING: (7, "1 attempts were completed, 2 counted"),
    Rule.WINDOW: (8, "no batch will ever send it"),
    Rule.TRY: (11, "outside id was used for two sends"),
    Rule.LATE_ACCEPTED: (6, "acceptance was heard, yet it is waiting"),
    Rule.LATE_DENIED: (18, "failed, yet the provider took it"),
    Rule.STICKY: (12, "cancelled, yet the provider took it"),
    Rule.DEADLINE: (15, "took it twice and nobody asked"),
    Rule.ORPHANS: (14, "took it twice and nobody asked"),
    Rule.ORPHANS_NOT_SENT: (16, "took it twice and nobody asked"),
    Rule.CANCEL: (7, "cancelled, yet the provider took it"),
    Rule.CLICKS: (10, "acceptance was heard, yet it is failed"),
    Rule.COVERED: (6, "waits in two batches"),
    Rule.SPLIT: (1, "waits in two batches"),
    Rule.SWEEP: (9, "cancelled, yet the provider took it"),
}

# How many worlds there are; pinned, so that a move nobody makes any more is noticed.
SIZES = {
    "one mail, killed, paused, clicked": 25_864,
    "one mail, paused, clicked twice": 56_757,
    "one mail, held, cancelled": 14_844,
    "one mail, cancelled, clicked": 19_582,
    "one mail, barred, clicked": 16_574,
    "one mail, barred, clicked twice": 3_584,
    "one mail, barred, killed": 4_618,
    "two mails, killed, halved": 9_872,
    "two mails, killed, paused, halved": 27_390,
    "two mails, killed, cancelled": 7_982,
    "two mails, paused, barred": 5_562,
    "two mails, barred, clicked": 2_328,
    "two mails, clicked": 14_488,
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
    is_of_verdicts = rule in {Rule.PASS_OVER, Rule.COVERED_DENIED}
    chosen = configurations.BARRED if is_of_verdicts else configurations.LEASES

    result = checker.explore([it.start() for it in chosen], ALL - {rule})

    assert not result.violation, _story(result)


@pytest.mark.parametrize(
    ("left_out", "length", "claim"),
    [
        ({Rule.ARM_LEASE, Rule.ARM_FRESH}, 9, "cancelled, yet the provider took it"),
        ({Rule.PASS_OVER, Rule.COVERED_DENIED}, 15, "waits in two batches"),
    ],
    ids=["arm", "verdicts"],
)
def test_without_both_backstops_a_claim_breaks(
    left_out: set[Rule], length: int, claim: str
) -> None:
    result = checker.explore([it.start() for it in configurations.SMALL], ALL - left_out)

    assert claim in result.violation, _story(result)
    assert len(result.trace) == length, _story(result)


def test_every_rule_is_needed_or_is_a_backstop() -> None:
    assert HARM.keys() | BACKSTOPS == ALL
    assert not HARM.keys() & BACKSTOPS
