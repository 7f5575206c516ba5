"""The small worlds that are explored to their last state, and the larger ones for a quiet hour."""

from typing import NamedTuple

from tests.model.world import Answer, Batch, Budget, Delivery, Key, Truth, Worker, World

# Two positions need fewer kinds of answers: what a refusal does to one line, one position shows.
FEW = (Answer.ACCEPTED, Answer.IN_DOUBT, Answer.TRY_LATER)
TWO = (Answer.ACCEPTED, Answer.IN_DOUBT)


class Configuration(NamedTuple):
    name: str
    positions: int
    budget: Budget

    def start(self) -> World:
        return World(
            deliveries=(Delivery(),) * self.positions,
            truths=(Truth(),) * self.positions,
            batches=(Batch(Key(0, 1), 0, self.positions),),
            workers=(Worker(), Worker()),
            budget=self.budget,
        )


SMALL = (
    Configuration("one mail, killed, paused, clicked", 1, Budget(kills=1, pauses=1, clicks=1)),
    Configuration("one mail, paused, clicked twice", 1, Budget(pauses=1, clicks=2)),
    Configuration("one mail, held, cancelled", 1, Budget(kills=1, pauses=1, holds=1, cancels=1)),
    Configuration("one mail, cancelled, clicked", 1, Budget(pauses=1, clicks=1, cancels=1)),
    Configuration("one mail, barred, clicked", 1, Budget(pauses=1, clicks=1, verdicts=1)),
    Configuration("one mail, barred, clicked twice", 1, Budget(clicks=2, verdicts=1)),
    Configuration("one mail, barred, killed", 1, Budget(kills=1, pauses=1, verdicts=1)),
    Configuration("two mails, killed, halved", 2, Budget(kills=1, splits=1, answers=FEW)),
    Configuration(
        "two mails, killed, paused, halved", 2, Budget(kills=1, pauses=1, splits=1, answers=TWO)
    ),
    Configuration("two mails, killed, cancelled", 2, Budget(kills=1, cancels=1, answers=FEW)),
    Configuration("two mails, paused, barred", 2, Budget(pauses=1, verdicts=1, answers=TWO)),
    Configuration("two mails, barred, clicked", 2, Budget(clicks=1, verdicts=1, answers=TWO)),
    Configuration("two mails, clicked", 2, Budget(clicks=1, answers=FEW)),
    Configuration("three mails", 3, Budget(answers=FEW)),
    Configuration("three mails, killed, halved", 3, Budget(kills=1, splits=1, answers=TWO)),
)

# Where leases are lost and the lost ones come back, at a small price.
LEASES = tuple(it for it in SMALL if it.budget.kills and it.budget.pauses and not it.budget.clicks)

# Where a verdict meets a click.
BARRED = tuple(it for it in SMALL if it.budget.verdicts and it.budget.clicks)

LARGE = (
    Configuration("one mail, killed, paused twice", 1, Budget(kills=1, pauses=2, clicks=1)),
    Configuration("one mail, killed, clicked twice", 1, Budget(kills=1, pauses=1, clicks=2)),
    Configuration("one mail, cancelled, clicked twice", 1, Budget(pauses=1, clicks=2, cancels=1)),
    Configuration("one mail, held, clicked", 1, Budget(pauses=1, clicks=1, holds=1, cancels=1)),
    Configuration(
        "two mails, paused, barred, try later", 2, Budget(pauses=1, verdicts=1, answers=FEW)
    ),
    Configuration(
        "two mails, barred, clicked, try later", 2, Budget(clicks=1, verdicts=1, answers=FEW)
    ),
    Configuration("two mails, all answers", 2, Budget(kills=1, pauses=1, splits=1)),
    Configuration("two mails, paused, clicked", 2, Budget(pauses=1, clicks=1)),
    Configuration("three mails, all answers", 3, Budget(splits=1)),
    Configuration(
        "three mails, killed, paused, halved", 3, Budget(kills=1, pauses=1, splits=1, answers=TWO)
    ),
)
