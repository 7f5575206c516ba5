"""The four steps to the first email, and which of them comes next."""

from dataclasses import dataclass
from typing import Literal

from django.urls import reverse
from django.utils.translation import gettext as _

from postledger.accounts import queries
from postledger.accounts.models import Sender
from postledger.deliveries import sender_setup

type StepName = Literal["owner", "provider", "email", "checklist"]
_ORDER: tuple[StepName, ...] = ("owner", "provider", "email", "checklist")
_PAGES = {"provider": "start_provider", "email": "start_email", "checklist": "start"}


@dataclass(frozen=True, slots=True)
class Step:
    title: str
    url: str  # empty: it cannot be opened
    is_current: bool
    is_done: bool


def list_steps(current: StepName, workspace_id: int | None = None) -> list[Step]:
    """The steps; those that were passed can be opened again, the owner's cannot."""
    titles = {
        "owner": _("Owner"),
        "provider": _("Provider"),
        "email": _("First email"),
        "checklist": _("Checklist"),
    }
    reached = _ORDER.index(current)
    return [
        Step(
            titles[name],
            reverse(_PAGES[name], args=[workspace_id]) if workspace_id and name in _PAGES else "",
            is_current=name == current,
            is_done=number < reached,
        )
        for number, name in enumerate(_ORDER)
    ]


def find_next_url(workspace_id: int) -> str:
    """After the owner: the provider, unless the operator has connected one already."""
    page = "start_email" if list_connected(workspace_id) else "start_provider"
    return reverse(page, args=[workspace_id])


def list_usable(workspace_id: int) -> list[Sender]:
    """The senders whose mail a provider or the sandbox takes; the default first."""
    usable = (
        sender
        for sender in queries.senders(workspace_id)
        if sender.archived_at is None and sender.account is not None
    )
    return sorted(usable, key=lambda sender: not sender.is_default)


def list_connected(workspace_id: int) -> list[Sender]:
    """The senders whose mail reaches people; the default first."""
    return [sender for sender in list_usable(workspace_id) if sender_setup.reaches_people(sender)]
