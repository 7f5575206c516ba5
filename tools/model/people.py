"""What people do: hold, release, cancel, halve a batch, and click on pages that may be old."""

from collections.abc import Iterator

from tools.model import epochs, ledger
from tools.model.moves import name
from tools.model.rules import Rule
from tools.model.windows import Step
from tools.model.world import (
    ALWAYS,
    NONE,
    Delivery,
    Page,
    State,
    Truth,
    World,
    with_batch,
    with_delivery,
    with_new_batch,
)


def people(rules: ledger.Rules, world: World) -> Iterator[Step]:
    if not epochs.may_ask(rules, world):
        return
    yield from _stream(world)
    yield from _split(rules, world)
    if world.era is not ALWAYS or world.budget.releases:
        yield from epochs.people(world)
    if world.budget.clicks:
        yield from _draw(world)
        if world.page is not None:
            yield from _click(rules, world, world.page)


def _stream(world: World) -> Iterator[Step]:
    budget = world.budget
    if world.is_held:
        yield "the stream is released", world._replace(is_held=False)
    elif budget.holds:
        spent = budget._replace(holds=budget.holds - 1)
        yield "the stream is held", world._replace(is_held=True, budget=spent)
    if budget.cancels and not world.is_cancelled:
        spent = budget._replace(cancels=budget.cancels - 1)
        yield "the stream is cancelled", world._replace(is_cancelled=True, budget=spent)


def _split(rules: ledger.Rules, world: World) -> Iterator[Step]:
    """Halve an unleased batch, as is done to one whose workers keep dying."""
    if not world.budget.splits:
        return
    budget = world.budget._replace(splits=world.budget.splits - 1)
    for batch in world.batches:
        if batch.lease or batch.hi - batch.lo < 2:
            continue
        middle = (batch.lo + batch.hi + 1) // 2
        parent = batch._replace(hi=middle) if Rule.SPLIT in rules else batch
        after = with_batch(world, batch, parent)._replace(budget=budget)
        yield f"{name(batch)} is halved", with_new_batch(after, middle, batch.hi, batch.key.try_no)


def _draw(world: World) -> Iterator[Step]:
    for position, delivery in enumerate(world.deliveries):
        if delivery.state in (State.IN_DOUBT, State.FAILED):
            page = Page(position, delivery.state, delivery.last_try)
            if page != world.page:
                yield f"a page shows {position} {delivery.state}", world._replace(page=page)


def _click(rules: ledger.Rules, world: World, page: Page) -> Iterator[Step]:
    """The page stays open, so every button can be pressed twice, and late."""
    delivery, truth = world.deliveries[page.position], world.truths[page.position]
    is_as_shown = (delivery.state, delivery.last_try) == (page.state, page.last_try)
    if not is_as_shown and Rule.CLICKS in rules:
        return
    budget = world.budget._replace(clicks=world.budget.clicks - 1)
    is_covered = Rule.COVERED in rules and ledger.is_covered(world, page.position)
    is_too_soon = Rule.EPOCH_GRACE in rules and world.era.in_grace
    for button, delivery_after, truth_after in _buttons(rules, page, delivery, truth):
        if delivery_after.state is State.WAITING and (is_covered or is_too_soon):
            continue
        after = with_delivery(world, page.position, delivery_after, truth_after)
        if delivery_after.state is State.WAITING:
            after = _inform(after, delivery.recipient)
            try_no = ledger.next_try(rules, after, page.position)
            after = with_new_batch(after, page.position, page.position + 1, try_no)
        yield f"someone clicks {button} for {page.position}", after._replace(budget=budget)


def _inform(world: World, recipient: int) -> World:
    """Who lets a mail go again asks for it whatever the recipient got at another position."""
    truths = tuple(
        truth._replace(known=truth.known | truth.taken) if truth.recipient == recipient else truth
        for truth in world.truths
    )
    return world._replace(truths=truths)


def _buttons(
    rules: ledger.Rules, page: Page, delivery: Delivery, truth: Truth
) -> Iterator[tuple[str, Delivery, Truth]]:
    again = delivery._replace(state=State.WAITING, in_grace=False)
    if page.state is State.FAILED:
        if not delivery.in_grace or Rule.ORPHANS_NOT_SENT not in rules:
            reset = truth._replace(ended=NONE, by_word=False)
            yield "requeue", again._replace(attempts=0), reset
        return
    sent = delivery._replace(state=State.ACCEPTED, doubts=NONE, in_grace=False)
    yield "count as sent", sent, truth._replace(by_word=True)
    # Its bytes may still leave, so the grace stays: requeue asks for it.
    failed = delivery._replace(state=State.FAILED, doubts=NONE)
    disowned = truth.disowned | frozenset(range(1, delivery.last_try + 1))
    # The word is about the lost time too, and whatever an old process still sends.
    unsent = truth._replace(disowned=disowned, by_word=True, is_excused=True)
    yield "count as not sent", failed, unsent
    if not delivery.in_grace or Rule.ORPHANS not in rules:
        yield "send again", again, truth
