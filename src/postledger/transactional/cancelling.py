"""Cancels single mails that wait, at once or until a later time."""

from typing import assert_never

from postledger.deliveries import ledger, queries
from postledger.deliveries.entries import Cancellation, StreamKind
from postledger.lib.errors import ConflictError, NotFoundError
from postledger.lib.ids import DeliveryId


class MailInFlightError(ConflictError):
    code = "mail_in_flight"


class MailInDoubtError(ConflictError):
    code = "mail_in_doubt"


class MailHasResultError(ConflictError):
    code = "mail_has_result"


class MailFencedError(ConflictError):
    code = "mail_fenced"


def cancel_mail(workspace_id: int, id_: DeliveryId, *, only_tests: bool, actor: str) -> None:
    """Cancels a mail of this workspace for good; repeating it changes nothing.

    Refuses a mail that the provider has, or may have, or that has another result.
    """
    stream = queries.find_stream(id_.stream_id)
    if (
        stream is None
        or stream.workspace_id != workspace_id
        or stream.kind is not StreamKind.TRANSACTIONAL
        or (only_tests and not stream.is_test)
        or id_.try_number
    ):
        raise NotFoundError
    cancellation = ledger.cancel_delivery(id_.stream_id, id_.position, actor=actor)
    if cancellation is None:
        raise NotFoundError
    _refuse_unless_cancelled(cancellation)


def _refuse_unless_cancelled(cancellation: Cancellation) -> None:
    match cancellation:
        case Cancellation.CANCELLED:
            return
        case Cancellation.ARMED:
            raise MailInFlightError(
                "The mail is being handed to the provider at this moment. Get it in a minute: if"
                " the provider asks to try later, it can be cancelled then."
            )
        case Cancellation.IN_DOUBT:
            raise MailInDoubtError(
                "The mail was handed over, and it is not known whether the provider took it."
                " Evidence of the provider ends that, or the operator decides."
            )
        case Cancellation.ENDED:
            raise MailHasResultError(
                "The mail has its result already, so there is nothing to cancel. Get it to see"
                " which."
            )
        case Cancellation.FENCED:
            raise MailFencedError(
                "The database was restored, and the mail may have been sent in the time that it"
                " lost. Try again after the operator has lifted the fence."
            )
        case _:
            assert_never(cancellation)
