"""What people do: hold, release, cancel, halve a batch, plan failures again, and click on pages
that may be old; and the provider that blocks a sender, which a person ends.
"""

from collections.abc import Iterator

from tools.model import epochs, ledger
from tools.model.moves import name
from tools.model.rules import Rule
from tools.model.windows import Step
from tools.model.world import (
    ALWAYS,
    BLOCKED,
    NONE,
    Block,
    Delivery,
    Fence,
    Page,
    State,
    Truth,
    World,
    with_batch,
    with_delivery,
    with_new_batch,
)


def people(rules: ledger.Rules, world: World) -> Iterator[Step]:
    # The API's processes compare nothing: a caller may come before anybody has noticed a restore.
    yield from _cancel_mails(rules, world)
    if not epochs.may_ask(rules, world):
        return
    yield from _stream(world)
    yield from _split(rules, world)
    yield from _supersede(rules, world)
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
        drains_to = State.FAILED if world.block in BLOCKED else State.CANCELLED
        after = world._replace(is_cancelled=True, drains_to=drains_to, budget=spent)
        yield "the stream is cancelled", after
    if world.block in BLOCKED:
        yield "the sender is released", world._replace(block=Block.RELEASED)
    elif budget.blocks:
        spent = budget._replace(blocks=budget.blocks - 1)
        yield "the provider blocks the sender", world._replace(block=Block.STANDS, budget=spent)


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


def _cancel_mails(rules: ledger.Rules, world: World) -> Iterator[Step]:
    """Cancel a single mail that waits; the worker that has claimed it will find it gone."""
    if not world.budget.mail_cancels:
        return
    if world.era.fence in (Fence.FALLEN, Fence.UNSEEN) and Rule.EPOCH_CANCEL in rules:
        return
    budget = world.budget._replace(mail_cancels=world.budget.mail_cancels - 1)
    for batch in world.batches:
        delivery = world.deliveries[batch.lo]
        is_armed = batch.armed_to is not None and Rule.CANCEL_UNARMED in rules
        is_doubtful = bool(delivery.doubts) and Rule.CANCEL_DOUBT in rules
        is_single = batch.hi - batch.lo == 1 and delivery.state is State.WAITING
        if is_single and not is_armed and not is_doubtful:
            after = ledger.cancel_mail(world, batch)._replace(budget=budget)
            yield f"someone cancels {batch.lo}", after


def _supersede(rules: ledger.Rules, world: World) -> Iterator[Step]:
    """Let a later run plan the recipients of failures again."""
    if not world.budget.supersedes:
        return
    budget = world.budget._replace(supersedes=world.budget.supersedes - 1)
    for position, delivery in enumerate(world.deliveries):
        is_armed = delivery.was_armed and Rule.SUPERSEDE_UNARMED in rules
        is_early = delivery.epoch < world.era.epoch and Rule.EPOCH_SUPERSEDE in rules
        if delivery.state is State.FAILED and not is_armed and not is_early:
            after = ledger.supersede(rules, world, position)._replace(budget=budget)
            yield f"a later run plans the recipient of {position} again", after


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
    buttons = _buttons(rules, world, page, delivery, truth)
    for button, delivery_after, truth_after in buttons:
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
    rules: ledger.Rules, world: World, page: Page, delivery: Delivery, truth: Truth
) -> Iterator[tuple[str, Delivery, Truth]]:
    again = delivery._replace(state=State.WAITING, in_grace=False)
    if page.state is State.FAILED:
        if not delivery.in_grace or Rule.ORPHANS_NOT_SENT not in rules:
            reset = truth._replace(ended=NONE, by_word=False)
            yield "requeue", again._replace(attempts=0), reset
            is_fixed = world.budget.fixes and not (
                delivery.was_armed and Rule.VALUES_UNARMED in rules
            )
            if is_fixed:
                yield "requeue with new values", again._replace(attempts=0, values=1), reset
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
