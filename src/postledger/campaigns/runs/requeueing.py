"""Gives failed mails another chance; those of a run with the values that contacts have now."""

from collections.abc import Sequence

from django.db import transaction

from postledger.campaigns.models import Run
from postledger.deliveries import ledger, undecided
from postledger.deliveries.attention.deciding import Action
from postledger.deliveries.entries import SeenDelivery
from postledger.deliveries.states import State
from postledger.mailing import chunks, snapshot


def _requeue(stream_id: int, seen: Sequence[SeenDelivery], actor: str) -> list[int]:
    run = Run.objects.filter(stream_id=stream_id).first()
    if run is None:
        return ledger.requeue(stream_id, seen, actor=actor)
    return requeue_of_run(run, seen, actor=actor)


REQUEUE = Action(name="failure.requeued", before=State.FAILED, makes_wait=True, apply=_requeue)


def requeue_of_run(run: Run, seen: Sequence[SeenDelivery], *, actor: str) -> list[int]:
    """Requeues failures of a run, and reopens it if it had ended; returns their positions.

    A mail of which nothing was handed over is filled in with the values that its contact has now.
    """
    with transaction.atomic():
        # Locked, so that nobody closes the run because nothing waits.
        lock_run(run)
        variables = _read_new_variables(run, [mail.position for mail in seen])
        done = ledger.requeue(run.stream_id, seen, actor=actor, variables=variables)
        if done:
            reopen_run(run)
    return done


def _read_new_variables(run: Run, positions: Sequence[int]) -> dict[int, str]:
    contacts = undecided.read_contacts(run.stream_id, positions)
    choice = snapshot.from_json(run.letter_choice)
    variables = chunks.read_variables(choice, list(contacts.values()))
    return {
        position: variables[contact_id]
        for position, contact_id in contacts.items()
        if contact_id in variables
    }


def lock_run(run: Run) -> Run:
    return Run.objects.select_for_update(no_key=True).get(pk=run.pk)


def reopen_run(run: Run) -> None:
    ended = Run.objects.filter(pk=run.pk, ended_at__isnull=False)
    ended.update(ended_at=None, ended_as=None, ended_by="")
