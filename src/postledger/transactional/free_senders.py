"""Which sender of a workspace can send a single mail now, for mail of our own."""

from postledger.accounts.models import Sender
from postledger.deliveries import queries, sender_setup
from postledger.transactional import sender_streams


def find_free_sender(workspace_id: int) -> Sender | None:
    """The default sender if it may send now, else the first other one that may.

    The sandbox counts only where every sender uses it: what it takes reaches nobody.
    """
    own = Sender.objects.filter(workspace_id=workspace_id, archived_at=None)
    attached = list(
        own.exclude(account=None).select_related("account").order_by("-is_default", "pk")
    )
    usable = [sender for sender in attached if sender_setup.reaches_people(sender)] or attached
    held = queries.find_sender_holds([sender.pk for sender in usable])
    free = (sender for sender in usable if sender.pk not in held)
    return next((sender for sender in free if _has_free_stream(sender)), None)


def _has_free_stream(sender: Sender) -> bool:
    """A person may have paused the single mails of a sender, and a limit may hold them."""
    stream_id = sender_streams.find_stream_of_month(sender.pk, is_test=False)
    facts = None if stream_id is None else queries.find_stream(stream_id)
    return facts is None or not facts.holds
