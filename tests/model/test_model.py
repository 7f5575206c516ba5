"""The ledger's protocol, explored to its last state, and what each of its rules is there for."""

import pytest

from tools.model import checker, configurations
from tools.model.rules import ALL, BACKSTOPS, Rule

pytestmark = [pytest.mark.slow, pytest.mark.sample]

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
    Rule.CANCEL_UNARMED: (6, "cancelled, yet the provider took it"),
    Rule.CANCEL_DOUBT: (11, "cancelled, yet the provider took it"),
    Rule.VALUES_UNARMED: (8, "handed over with other values"),
    Rule.SUPERSEDE_UNARMED: (15, "took it twice and nobody asked"),
    Rule.SUPERSEDE_ENDS: (17, "took it twice and nobody asked"),
    Rule.READDRESS_LEASE: (9, "handed over with other values"),
    Rule.READDRESS_UNTRIED: (10, "handed over with other values"),
    Rule.GIVE_UP_LEASE: (8, "failed, yet the provider took it"),
    Rule.GIVE_UP_BLOCK: (3, "failed for a block that was released"),
    Rule.SWEEP: (9, "cancelled, yet the provider took it"),
    Rule.ALONE: (0, "the machine cannot finish what waits"),
    Rule.COMPOSE_ALONE: (17, "failed as poison that had not killed often alone"),
    Rule.ROUNDS_ALONE: (30, "failed as poison that had not killed often alone"),
    Rule.ALONE_COUNTS: (9, "failed as poison that had not killed often alone"),
    Rule.ALONE_ENDS: (31, "failed as poison that had not killed often alone"),
    Rule.ARM_RESETS: (22, "failed as poison that had not killed often alone"),
    Rule.HALVE: (14, "failed as poison that had not killed often alone"),
    Rule.ONE_STARTS_ANEW: (19, "failed as poison that had not killed often alone"),
    Rule.EPOCH_NOTICE: (10, "accepted, yet the provider never took it"),
    Rule.EPOCH_GATE: (13, "outside id was used for two sends"),
    Rule.EPOCH_FENCE: (11, "cancelled, yet the provider took it"),
    Rule.EPOCH_GAP: (16, "outside id was used for two sends"),
    Rule.EPOCH_FORWARD: (17, "outside id was used for two sends"),
    Rule.EPOCH_SNOOZE: (17, "outside id was used for two sends"),
    Rule.EPOCH_UPKEEP: (10, "cancelled, yet the provider took it"),
    Rule.EPOCH_SETTLE: (22, "outside id was used for two sends"),
    Rule.EPOCH_WAIT: (16, "outside id was used for two sends"),
    Rule.EPOCH_TRY: (24, "outside id was used for two sends"),
    Rule.EPOCH_TRY_ENDED: (25, "outside id was used for two sends"),
    Rule.EPOCH_POSITION: (18, "outside id was used for two sends"),
    Rule.EPOCH_NUMBER: (15, "accepted, yet the provider never took it"),
    Rule.EPOCH_ACCEPTED: (9, "acceptance was heard, yet it is waiting"),
    Rule.EPOCH_DENIED: (22, "took it twice and nobody asked"),
    Rule.EPOCH_GRACE: (17, "took it twice and nobody asked"),
    Rule.PLANNED_AFTER: (17, "took it twice and nobody asked"),
    Rule.EPOCH_CANCEL: (8, "cancelled, yet the provider took it"),
    Rule.EPOCH_SUPERSEDE: (23, "took it twice and nobody asked"),
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
    "two batches, killed, paused": 10_813,
    "two batches, killed, cancelled": 2_984,
    "two batches of three mails, killed": 9_740,
    "two batches, one poisoned, killed": 2_118,
    "two mails, one poisoned, killed": 691,
    "three mails, one poisoned, killed": 23_920,
    "restored, paused": 3_147,
    "restored, try later, settled twice": 1_484,
    "restored, try later, clicked": 3_399,
    "restored, refused, clicked twice": 3_828,
    "restored, clicked": 3_167,
    "restored, cancelled": 664,
    "restored, due later": 129,
    "restored, throttled": 396,
    "restored, snoozed": 396,
    "two mails, restored": 2_674,
    "a run of one, restored, clicked": 4_334,
    "two requests, restored twice": 13_174,
    "one mail cancelled, killed, paused, clicked": 11_091,
    "one of two mails cancelled, killed": 2_035,
    "one mail cancelled, restored": 300,
    "one mail, barred, clicked with new values": 2_944,
    "one mail, paused, clicked, readdressed": 801,
    "one mail, barred, clicked, superseded": 3_332,
    "restored, barred, clicked, superseded": 2_127,
    "one mail, blocked, killed, clicked": 903,
    "two batches, blocked, cancelled": 2_594,
    "one mail, blocked, held, superseded": 2_177,
    "blocked, restored": 1_795,
}


def _story(result: checker.Result) -> str:
    return "\n".join((*result.trace, f"=> {result.violation or 'no claim is broken'}"))


@pytest.mark.parametrize("configuration", configurations.EVERY, ids=lambda it: it.name)
def test_no_claim_breaks_in_any_reachable_world(
    configuration: configurations.Configuration,
) -> None:
    result = checker.explore([configuration.start()], ALL)

    assert not result.violation, _story(result)
    assert result.states == SIZES[configuration.name]


@pytest.mark.parametrize("rule", HARM)
def test_without_the_rule_a_claim_breaks(rule: Rule) -> None:
    length, claim = HARM[rule]

    result = checker.explore([it.start() for it in configurations.about(rule)], ALL - {rule})

    assert claim in result.violation, _story(result)
    assert len(result.trace) == length, _story(result)


# Every configuration was explored without each of them too; here it would cost minutes.
@pytest.mark.parametrize("rule", sorted(BACKSTOPS))
def test_without_one_backstop_no_claim_breaks(rule: Rule) -> None:
    is_of_verdicts = rule in {Rule.PASS_OVER, Rule.COVERED_DENIED}
    chosen = configurations.about(rule)
    if chosen is configurations.SMALL:
        chosen = configurations.BARRED if is_of_verdicts else configurations.LEASES

    result = checker.explore([it.start() for it in chosen], ALL - {rule})

    assert not result.violation, _story(result)


@pytest.mark.parametrize(
    ("left_out", "length", "claim"),
    [
        ({Rule.ARM_LEASE, Rule.ARM_FRESH}, 9, "cancelled, yet the provider took it"),
        ({Rule.PASS_OVER, Rule.COVERED_DENIED}, 15, "waits in two batches"),
        (
            {Rule.EPOCH_EVIDENCE, Rule.EPOCH_POSITION},
            11,
            "accepted, yet the provider never took it",
        ),
    ],
    ids=["arm", "verdicts", "evidence"],
)
def test_without_both_backstops_a_claim_breaks(
    left_out: set[Rule], length: int, claim: str
) -> None:
    chosen = configurations.about(min(left_out))
    result = checker.explore([it.start() for it in chosen], ALL - left_out)

    assert claim in result.violation, _story(result)
    assert len(result.trace) == length, _story(result)


def test_chance_kills_too_seldom_to_fail_a_mail_that_kills_nobody() -> None:
    for it in configurations.EVERY + configurations.LARGE:
        if it.poison is not None and it.poison.spares_others:
            assert it.budget.kills + it.budget.pauses < it.poison.fail_after


def test_every_rule_is_needed_or_is_a_backstop() -> None:
    assert HARM.keys() | BACKSTOPS == ALL
    assert not HARM.keys() & BACKSTOPS
