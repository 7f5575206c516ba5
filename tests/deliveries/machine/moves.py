"""Everything that can happen, and how often."""

from collections.abc import Callable

from hypothesis import note

from tests.deliveries.machine import events, people, restores, upkeep, work
from tests.deliveries.machine.world import World

type Move = Callable[[World], None]
type Choice = tuple[float, Move, object]  # how likely, what, and whether it can be done now


def act(world: World) -> None:
    """Does one of the things that can be done now, the likely ones more often."""
    possible = [
        (weight, move)
        for weight, move, may in (*_work(world), *_people(world), *_restores(world))
        if may
    ]
    weights = [weight for weight, _ in possible]
    [(_, move)] = world.random.choices(possible, weights)
    note(move.__name__)
    move(world)


def _work(world: World) -> list[Choice]:
    return [
        (20, work.claim_and_compose, world.ready_streams()),
        (1, work.claim_and_compose, True),
        (4, work.compose_the_next_windows, work.idle(world)),
        (20, work.arm, work.composed(world)),
        (16, work.settle, work.armed(world)),
        (2, work.give_back, work.idle(world)),
        (2, work.give_back_in_pieces, work.idle(world)),
        (3, work.follow_to_new_addresses, work.idle(world)),
        (3, upkeep.a_lease_runs_out, any(worker.claim for worker in world.workers)),
        (1, upkeep.all_leases_run_out_and_are_swept, True),
        (2, upkeep.workers_die_of_a_batch, world.ready_streams()),
        (1, upkeep.time_passes, True),
        (6, upkeep.drain, world.inside.cancelled),
        (4 if world.inside.is_block_overdue else 0.2, upkeep.give_up, True),
        (1, upkeep.keep_house, True),
        (3, events.an_event_proves_acceptance, world.outside.tries_taken),
        (1, events.an_event_names_another_address, world.outside.tries_taken),
    ]


def _people(world: World) -> list[Choice]:
    inside = world.inside
    return [
        (8 if inside.held else 1, people.hold_or_release, True),
        (6 if inside.is_sender_held else 1, people.block_or_release_the_sender, True),
        (4, people.nobody_acts_on_the_block, inside.is_sender_held),
        (0.3, people.cancel, True),
        (2, people.cancel_a_mail, any(place[0] == world.transactional for place in inside.facts)),
        (0.5, people.plan_failures_elsewhere, True),
        (4 if world.fence.closed else 1, people.erase_somebody, True),
        (2, people.open_the_page, people.open_cases(world)),
        (6, people.decide, people.cases(world)),
        (3, people.requeue, people.cases(world)),
        (4 if world.ready_streams() else 10, people.ask_for_mail, True),
        (3, people.bring_mail_forward, world.waiting()),
    ]


def _restores(world: World) -> list[Choice]:
    is_fenced = bool(world.fence.closed)
    # A window that is armed in the backup is what an earlier worker could settle after a restore.
    backups = 3 if work.armed(world) else 0.5
    is_behind = world.backup is not None and world.backup.tries < len(world.outside.tries)
    return [
        (backups if world.backup else 8, restores.take_a_backup, True),
        (5, restores.restore_the_backup, is_behind and not is_fenced),
        (0.3, restores.restore_the_backup, world.backup),
        (2, restores.judge, is_fenced),
        (10, restores.lift_a_stream, is_fenced),
        (4, restores.lift_all, is_fenced),
    ]
