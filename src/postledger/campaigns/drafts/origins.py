"""What a draft is a copy of, if somebody got that: a launch to the same people is a repeat."""

from dataclasses import dataclass
from datetime import datetime

from postledger.campaigns.models import Campaign, Run
from postledger.deliveries import queries
from postledger.deliveries.states import State

_MOST_COPIES = 10  # of copies, of which some may have reached nobody


@dataclass(frozen=True, slots=True)
class SentOrigin:
    id: int
    name: str
    people: int  # whose mail was accepted
    sent_at: datetime  # when the first of it was noticed


def find_sent_origin(workspace_id: int, campaign_id: int) -> SentOrigin | None:
    """The nearest campaign behind a copy that somebody got."""
    campaigns = Campaign.objects.filter(workspace_id=workspace_id)
    for _copy in range(_MOST_COPIES):
        copied = campaigns.filter(pk=campaign_id).select_related("origin").first()
        if copied is None or copied.origin is None:
            return None
        origin = copied.origin
        runs = Run.objects.filter(campaign=origin, is_test=False, is_sandboxed=False)
        began = {run.stream_id: run.first_mail_at or run.launched_at for run in runs}
        books = queries.read_books(list(began)).values()
        people = sum(one.counts[State.ACCEPTED] for one in books)
        if people:
            return SentOrigin(origin.pk, origin.name, people, min(began.values()))
        campaign_id = origin.pk
    return None
