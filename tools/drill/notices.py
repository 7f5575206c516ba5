"""Events of a topic, published over HTTP while processes die: each subscriber is told once.

Each subscription is for one event, and each has an address of its own: a second mail to one of them
is one that the oracle finds.
"""

import http.client
import json
import random
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from functools import partial

from postledger.contacts.models import Contact, Subscription
from postledger.content import templates
from postledger.content.rendering.source import Format, Source
from postledger.content.versions import Version
from postledger.lib.crashpoints import Point
from postledger.notifications.models import Event, Notification, Topic, TopicSubscription
from postledger.notifications.states import Skip
from postledger.notifications.topics import topics
from postledger.notifications.topics.matching import digest_match
from postledger.notifications.topics.topics import TopicFields
from tools.drill import books, processes, smtp_server
from tools.drill.drill import Drill
from tools.drill.oracle import Rule
from tools.drill.size import Size

_KEY = "notices"
_SUBSCRIBERS = 5  # of each event
_PATIENCE = 240.0
_ANSWERED_WITHIN = 5.0


@dataclass
class _Publisher:
    """Repeats a request until it is answered, and now and then after that."""

    drill: Drill
    topic: Topic
    published: set[str] = field(
        default_factory=set
    )  # the ids of events, of which nobody may vanish

    def publish(self, item: str) -> None:
        """One event under its id, and the same again under another within the dedupe window."""
        books.persistently(partial(self._subscribe, item))
        for id_ in (f"{item}-a", f"{item}-a", f"{item}-b"):
            self.drill.pass_time_until(partial(self._is_taken, id_, item), seconds=_PATIENCE)
            self.published.add(id_)

    def is_planned(self) -> bool:
        return books.persistently(
            lambda: not Event.objects.filter(topic=self.topic, planned_at=None).exists()
        )

    def _subscribe(self, item: str) -> None:
        first = self.drill.load.reserve(_SUBSCRIBERS)
        names = [f"r{number}@drill.example" for number in range(first, first + _SUBSCRIBERS)]
        workspace_id = self.topic.workspace_id
        rows = [Contact(workspace_id=workspace_id, address=name, name=name) for name in names]
        people = Contact.objects.bulk_create(rows)
        consents = self.topic.list_id
        Subscription.objects.bulk_create(
            Subscription(contact=person, list_id=consents, state="active") for person in people
        )
        match = {"item": item}
        TopicSubscription.objects.bulk_create(
            TopicSubscription(
                topic=self.topic, contact=person, match=match, match_digest=digest_match(match)
            )
            for person in people
        )

    def _is_taken(self, id_: str, item: str) -> bool:
        customer = self.drill.customer
        event = {"id": id_, "data": {"item": item, "statusAfter": "Open"}}
        request = urllib.request.Request(  # noqa: S310  our own server
            f"{customer.url}/v1/topics/{_KEY}/events",
            data=json.dumps({"events": [event]}).encode(),
            headers={
                "Authorization": f"Bearer {customer.token}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=_ANSWERED_WITHIN):  # noqa: S310  see above
                return True
        except (urllib.error.HTTPError, OSError, http.client.HTTPException):
            return False


def told(drill: Drill, size: Size) -> None:
    publisher = _Publisher(drill, books.persistently(partial(_open_topic, drill)))
    drill.load.campaigns += 1
    _fan_out_among_deaths(publisher, size.fan_out_deaths)
    for number in range(size.events):
        publisher.publish(f"item-{number}")
        drill.faults["event published three times"] += 1
        if random.random() < 0.5:
            processes.kill_one(drill)
    drill.pass_time_until(publisher.is_planned, seconds=_PATIENCE)
    books.persistently(partial(_check, publisher))


def _open_topic(drill: Drill) -> Topic:
    workspace_id = drill.load.workspace_id
    words = f"News {smtp_server.mark('{{ name }}')}"
    text = Source("News", words, Format.MARKDOWN, words, "en")
    version = Version(("item", "name"), (), "en", (text,))
    templates.create(workspace_id, key=_KEY, name="Notices", actor="drill")
    templates.add_version(workspace_id, key=_KEY, version=version, actor="drill")
    fields = TopicFields(
        name="Notices",
        template=_KEY,
        event_schema={"type": "object", "required": ["item"]},
        match_fields=("item",),
        fallback_locale="en",
        dedupe_seconds=3600,
    )
    return topics.create_topic(workspace_id, key=_KEY, fields=fields, actor="drill")


def _fan_out_among_deaths(publisher: _Publisher, deaths: int) -> None:
    """Every worker dies in the middle of a chunk, until enough did."""
    if not deaths:
        return
    drill, fleet = publisher.drill, publisher.drill.fleet
    wanted = fleet.kills[Point.IN_PLAN_CHUNK] + deaths
    drill.load.is_fed = False  # the drill's own planning would not die of it
    fleet.next_crash = lambda role: None if role == "web" else f"{Point.IN_PLAN_CHUNK}:1"
    processes.replace_workers(drill)
    publisher.publish("deadly")
    drill.pass_time_until(
        lambda: fleet.kills[Point.IN_PLAN_CHUNK] >= wanted, seconds=_PATIENCE + 10 * deaths
    )
    fleet.next_crash = lambda _role: None
    processes.replace_workers(drill)
    drill.load.is_fed = True


def _check(publisher: _Publisher) -> None:
    """Every event is there, and told to its subscriptions: by one mail, or as what they know."""
    events = Event.objects.filter(topic=publisher.topic)
    lost = publisher.published - set(events.values_list("key", flat=True))
    if lost:
        publisher.drill.violate(Rule.PROMISE_KEPT, f"{len(lost)} published events are not there")
    notifications = Notification.objects.filter(event__in=events)
    told = notifications.filter(end=None, is_planned=True)
    repeated = notifications.filter(code=Skip.DUPLICATE)
    wanted = _SUBSCRIBERS * len(publisher.published) // 2
    counts = (told.values("subscription_id").distinct().count(), told.count(), repeated.count())
    if counts != (wanted, wanted, wanted):
        publisher.drill.violate(
            Rule.PROMISE_KEPT,
            f"of {wanted} subscriptions {counts[0]} were told in {counts[1]} notifications, and"
            f" {counts[2]} repetitions were skipped",
        )
