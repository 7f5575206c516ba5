"""Which workspaces may carry letters to the people who sign in."""

from postledger.accounts import queries as accounts
from postledger.accounts.models import Member, User
from postledger.deliveries import sender_setup
from postledger.transactional import free_senders


def list_carriers(user: User | None) -> list[int]:
    """Those whose senders may carry a secret: whoever sets up a sender can read what it sends.

    So it goes through the installation's first workspace, its operator's own. The person's own
    workspace stands in only where it is their one: else those who set up one workspace could take
    over the members of another. Those that reach people come first.
    """
    first = accounts.first_workspace_id()
    carriers = [] if first is None else [first]
    members = Member.objects.filter(user_id=user.pk if user else 0, removed_at=None)
    workspaces = set(members.values_list("workspace_id", flat=True))
    if len(workspaces) == 1:
        carriers += workspaces - {first}
    if len(carriers) > 1:
        carriers.sort(key=lambda workspace_id: not _reaches_people(workspace_id))
    return carriers


def find_carrier(user: User) -> int | None:
    """The one whose letters reach people now; None: there is none."""
    return next(filter(_reaches_people, list_carriers(user)), None)


def _reaches_people(workspace_id: int) -> bool:
    sender = free_senders.find_free_sender(workspace_id)
    return sender is not None and sender_setup.reaches_people(sender)
