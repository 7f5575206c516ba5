"""Applies synchronous refusals of dead addresses to the contacts, like hard bounces."""

from collections import defaultdict

from django.db import transaction

from postledger.contacts.actions import apply_feedback
from postledger.contacts.consent import PERMANENT, Origin, StateReport, bounce_report
from postledger.deliveries import ledger

AT_ONCE = 1_000
_ORIGIN = Origin(source="refusal", actor="provider")


def apply_refusals(limit: int = AT_ONCE) -> int:
    """Suppresses the addresses that providers have refused as dead; returns how many it took.

    A refusal is taken in the transaction that applies it: a crash repeats both or neither. The
    bounce has the status code of the refusal as its subtype.
    """
    with transaction.atomic():
        refusals = ledger.take_dead_addresses(limit)
        reports: dict[int, list[StateReport]] = defaultdict(list)
        for dead in refusals:
            reports[dead.workspace_id].append(
                bounce_report(
                    dead.address, bounce_type=PERMANENT, bounce_subtype=dead.code, at=dead.at
                )
            )
        for workspace_id in sorted(reports):
            apply_feedback.apply_reports(workspace_id, reports[workspace_id], origin=_ORIGIN)
    return len(refusals)
