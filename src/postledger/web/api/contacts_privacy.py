"""The door for what a person may ask of a workspace: everything it knows, or to be forgotten."""

from dataclasses import asdict
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field, JsonValue

from postledger.accounts.keys import Scope
from postledger.privacy import erasure, export
from postledger.web.api.contacts import ContactId, known
from postledger.web.api.fields import Address
from postledger.web.api.incoming import Incoming
from postledger.web.shared import auth
from postledger.web.shared.problems import KINDS, Problem

router = Router(tags=["contacts"])

_PROBLEMS = frozenset(KINDS)

_reader = auth.ApiKey(Scope.CONTACTS_READ)
_writer = auth.ApiKey(Scope.CONTACTS_WRITE)


class ErasingIn(Incoming):
    """Who asks to be forgotten."""

    address: Address


class Erased(BaseModel):
    """What was forgotten."""

    contacts: int
    consents: int
    mails: int
    waiting: int = Field(
        description="Mails that are on their way; they are forgotten by themselves once they ended."
    )


class Document(BaseModel):
    """Everything that is known of one person."""

    address: str
    exported_at: datetime
    contacts: list[dict[str, JsonValue]] = Field(description="Deleted ones, too.")
    history: list[dict[str, JsonValue]] = Field(
        description="What happened to the address when there was no contact."
    )
    suppressions: list[dict[str, JsonValue]] = Field(
        description="What keeps it back, from all mail or from one list."
    )
    mails: list[dict[str, JsonValue]]


@router.get(
    "/{int:contact_id}/export",
    auth=_reader,
    response={200: Document, _PROBLEMS: Problem},
    operation_id="exportContact",
    summary="Get everything that is known of a person",
)
def export_(request: HttpRequest, contact_id: ContactId) -> HttpResponse:
    """A file for the person: what is known, every consent, and every mail to the address."""
    workspace_id = auth.caller(request).workspace_id
    address = known(workspace_id, contact_id).address
    document = export.export(workspace_id, address=address, now=datetime.now(UTC))
    # Its name names nobody: it may stand in a log.
    saved = {"Content-Disposition": f'attachment; filename="contact-{contact_id}.json"'}
    return HttpResponse(document, content_type="application/json; charset=utf-8", headers=saved)


@router.post(
    "/{int:contact_id}/erase",
    auth=_writer,
    response={200: Erased, _PROBLEMS: Problem},
    operation_id="eraseContact",
    summary="Forget a contact",
)
def erase(request: HttpRequest, contact_id: ContactId) -> Erased:
    """Erases the person for good, here and in mail that was sent; the address stays suppressed."""
    address = known(auth.caller(request).workspace_id, contact_id).address
    return _erased(request, address)


@router.post(
    "/erase",
    auth=_writer,
    response={200: Erased, _PROBLEMS: Problem},
    operation_id="eraseAddress",
    summary="Forget an address",
)
def erase_address(request: HttpRequest, payload: ErasingIn) -> Erased:
    """The same of whoever has the address, a contact or not."""
    return _erased(request, payload.address)


def _erased(request: HttpRequest, address: str) -> Erased:
    caller = auth.caller(request)
    done = erasure.erase(
        caller.workspace_id, address=address, actor=caller.actor, now=datetime.now(UTC)
    )
    return Erased(**asdict(done))
