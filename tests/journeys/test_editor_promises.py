"""What the campaign editor shows before a launch is what then happens.

Random campaigns are written on the editor's page. The numbers, previews and checks that it shows
are compared with the mails that arrive at an SMTP server.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.message import EmailMessage
from email.utils import parseaddr
from html import unescape
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection

from postledger.accounts.working_hours import WEEKDAYS
from postledger.campaigns.models import Campaign, Run
from postledger.contacts import lists
from postledger.content import articles, templates
from postledger.content.rendering.source import Format, Source
from postledger.content.slices import SliceFields
from postledger.content.versions import Version
from postledger.deliveries import audit
from postledger.deliveries.states import State
from tests.journeys import post, rig
from tests.web import callers
from tests.web.dashboard import visitors
from tests.web.dashboard.visitors import Person
from tools.proof import crews

pytestmark = pytest.mark.django_db(transaction=True)

CAMPAIGNS = 20 if crews.IS_FULL else 6
READERS = 2  # of each campaign whose preview is compared
OHIO = "ocd-division/country:us/state:oh"
NO_CONDITION = {"field": [""], "op": ["is"], "value": [""]}
CONDITIONS: tuple[Mapping[str, list[str]], ...] = (
    NO_CONDITION,
    {"field": ["attributes.plan"], "op": ["is"], "value": ["pro"]},
    {"field": ["attributes.plan", "list:news"], "op": ["is", "on"], "value": ["free", ""]},
    {"field": ["locale"], "op": ["not_in"], "value": ["ru, pt"]},
)
_ALWAYS = {"has_window": "on", "opens": "00:00", "closes": "00:00", "weekdays": list(WEEKDAYS)}
TIMES = ("at once", "in the west", "around the clock")
_WEST = "Pacific/Pago_Pago"  # of some readers, who are the last to see a local time
_UNTIL_IT_IS_DUE = timedelta(seconds=20)  # there; it is launched before
_PEOPLE = """
INSERT INTO contacts_contact
    (workspace_id, address, name, state, is_unconfirmed, locale, ocd_ids, attributes, time_zone)
SELECT %s, 'r' || n || '@example.com', 'Reader <' || n || '>',
       CASE WHEN n %% 7 = 0 THEN 'unsubscribed' ELSE 'active' END,
       n %% 13 = 0, (ARRAY['en', 'pt', 'ru', NULL])[1 + n %% 4],
       CASE WHEN n %% 3 = 0 THEN ARRAY['ocd-division/country:us/state:oh'] ELSE '{}' END,
       jsonb_strip_nulls(jsonb_build_object(
           'plan', (ARRAY['free', 'pro'])[1 + n %% 2],
           'city', CASE WHEN n %% 10 > 0 THEN 'Porto & ' || n END)),
       (ARRAY['Asia/Tokyo', 'Pacific/Pago_Pago', NULL])[1 + n %% 3]
FROM generate_series(1, 40) AS n
"""
_SUBSCRIPTIONS = """
INSERT INTO contacts_subscription (contact_id, list_id, state, snooze_until)
SELECT contact.id, list.id,
       (ARRAY['active', 'unsubscribed', 'active', 'pending', 'active', 'active',
              'paused', 'active', 'active', 'active', 'active'])[1 + n %% 11],
       CASE n %% 9 WHEN 0 THEN now() - interval '1 day' WHEN 1 THEN now() + interval '1 day' END
FROM generate_series(1, 40) AS n
JOIN contacts_contact AS contact ON contact.address = 'r' || n || '@example.com'
JOIN contacts_list AS list ON list.workspace_id = contact.workspace_id
WHERE contact.workspace_id = %s AND n %% 5 > 0
"""


@dataclass(frozen=True, slots=True)
class Letter:
    """What one reader sees of a mail; links that are signed for a mail are cut off."""

    subject: str
    html: str
    text: str


@dataclass(frozen=True, slots=True)
class Promise:
    """What the page showed of a campaign."""

    run: Run
    recipients: int
    foreseen: int  # mails of the API's forecast
    lacking: int  # recipients without a value that their mail needs
    previews: Mapping[str, Letter | None]  # by address; None: no mail can be made


def furnish(workspace_id: int) -> None:
    lists.create_list(workspace_id, key="news", name="News", actor="alice")
    with connection.cursor() as cursor:
        cursor.execute(_PEOPLE, [workspace_id])
        cursor.execute(_SUBSCRIPTIONS, [workspace_id])


def write_content(workspace_id: int, number: int, kind: str) -> dict[str, str]:
    """The fields of the form, and the template or article that they name."""
    subject, key = f"#{number} for {{{{ name }}}}", f"n{number}"
    body = "From {{ city }}, to {{ name }}.\n\n[Read on](https://acme.example/may)"
    match kind:
        case "template":
            templates.create(workspace_id, key=key, name=key, actor="alice")
            texts = (
                Source(subject, body, Format.MARKDOWN, locale="en"),
                Source(subject, f"Olá.\n\n{body}", Format.MARKDOWN, locale="pt"),
            )
            version = Version(("city",), (), "", texts)
            templates.add_version(workspace_id, key=key, version=version, actor="alice")
            return {"kind": kind, "template": key}
        case "article":
            articles.create(workspace_id, key=key, title=key, actor="alice")
            for scope, place in ((None, "everybody"), (OHIO, "Ohio")):
                fields = SliceFields(
                    title=f"#{number} for {place}",
                    body_md=f"News of {place}.",
                    scope_ocd_id=scope,
                    is_headline=True,
                    is_published=True,
                )
                articles.add_slice(workspace_id, article_key=key, fields=fields, actor="alice")
            return {"kind": kind, "article": key}
        case "html":
            return {"kind": kind, "subject": subject, "body": f"<h1>Hello</h1><p>{body}</p>"}
        case _:
            return {"kind": kind, "subject": subject, "body": f"# Hello\n\n{body}"}


def choose_time(time: str) -> dict[str, Any]:
    """The fields of a time; mails are due soon after it, as they are waited for."""
    match time:
        case "in the west":
            due_at = datetime.now(ZoneInfo(_WEST)) + _UNTIL_IT_IS_DUE
            return {"when": "local", "local_at": f"{due_at:%Y-%m-%dT%H:%M:%S}"}
        case "around the clock":
            return {"when": "now", **_ALWAYS}
        case _:
            return {"when": "now"}


def promise(anna: Person, number: int, random: Random) -> Promise:
    """Writes a campaign, reads what the page says of it, and launches it from there."""
    created = anna.post("campaigns/new/", name=f"Campaign {number}")
    assert created.status_code == 302
    campaign = Campaign.objects.get(name=f"Campaign {number}")
    path = f"campaigns/{campaign.pk}/edit"
    kind = random.choice(["markdown", "html", "template", "article"])
    written: dict[str, Any] = {
        "seen": campaign.updated_at.isoformat(),
        "name": campaign.name,
        "list_key": random.choice(["", "news"]),
        "match": "all",
        **random.choice(CONDITIONS),
        "sender": "news@acme.example",
        "complete": "1",
        **choose_time(random.choice(TIMES)),
        **write_content(anna.workspace_id, number, kind),
    }
    saved = anna.client.post(anna.url(f"{path}/"), written)
    assert saved.status_code == 302, saved.content.decode()

    checks = anna.read(f"{path}/checks/")
    forecast = callers.caller("acme").get(f"/v1/campaigns/{campaign.pk}/forecast").body
    readers = re.findall(r'<option value="([^"]+@example.com)">', anna.read(f"{path}/preview/"))
    previews = {
        reader: read_preview(anna, path, reader) for reader in random.sample(readers, READERS)
    }
    asked = anna.read(f"{path}/launch/", seen=find(r'name="seen" value="([^"]+)"', checks))
    launch = anna.post(
        f"{path}/launch/",
        seen=find(r'name="seen" value="([^"]+)"', asked),
        shown=find(r'name="shown" value="(\d+)"', asked),
        sure="1",
    )

    assert launch.status_code == 302, launch.content.decode()
    lacking = re.search(r"([\d,]+) recipients? ha(?:s|ve) no city", checks)
    return Promise(
        Run.objects.get(campaign=campaign),
        recipients=int(find(r"(?:Launch to|Schedule for) (\d+) pe", checks)),
        foreseen=int(find(r"(\d+) recipients?: finishes", checks)) if forecast["waiting"] else 0,
        lacking=int(lacking[1]) if lacking else 0,
        previews=previews,
    )


def find(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, pattern
    return match[1]


def read_preview(anna: Person, path: str, reader: str) -> Letter | None:
    page = anna.get(f"{path}/preview/", **{"as": reader, "show": "text"}).content.decode()
    if "There is no email to show yet" in page:
        return None
    html = anna.get(f"{path}/letter/", **{"as": reader}).content.decode()
    text = re.search(r'<pre class="paper letter-text">(.*?)</pre>', page, re.DOTALL)
    assert text is not None
    subject = unescape(find(r"Subject: <b>(.*?)</b>", page))
    return Letter(subject, cut_links(html), cut_links(unescape(text[1])))


def read_mail(mail: EmailMessage) -> Letter:
    html, text = mail.get_body(("html",)), mail.get_body(("plain",))
    assert html is not None
    assert text is not None
    return Letter(
        str(mail["Subject"]), cut_links(html.get_content()), cut_links(text.get_content())
    )


def cut_links(text: str) -> str:
    without_tokens = re.sub(r"https://acme\.example/unsubscribe[^\s\"<)]*", "UNSUBSCRIBE", text)
    return without_tokens.replace("\r\n", "\n").strip()


@pytest.mark.slow
def test_random_campaigns_do_what_the_editor_showed(tmp_path: Path) -> None:
    random = Random(23)
    with post.mailbox() as box:
        server = {"host": "127.0.0.1", "port": box.port, "tls": "none"}
        acme = crews.workspace("acme", "smtp", **server)
        furnish(acme)
        anna = visitors.sign_in(acme)
        promises = {number: promise(anna, number, random) for number in range(CAMPAIGNS)}
        with crews.at_work(tmp_path) as beat:
            streams = [promised.run.stream_id for promised in promises.values()]
            rig.until(lambda: beat() or not Run.objects.filter(planned_at=None).exists())
            crews.wait(beat, *streams, seconds=300)

    arrived = defaultdict[int, dict[str, Letter]](dict)
    for mail in box.mails():
        letter = read_mail(mail)
        arrived[int(find(r"^#(\d+) ", letter.subject))][parseaddr(str(mail["To"]))[1]] = letter
    for number, promised in promises.items():
        books = audit.audit(promised.run.stream_id).books.counts
        assert promised.recipients == promised.foreseen == sum(books.values())
        assert promised.lacking == books[State.FAILED]
        assert len(arrived[number]) == books[State.ACCEPTED]
        assert books[State.ACCEPTED] + books[State.FAILED] == promised.recipients
        for reader, preview in promised.previews.items():
            assert arrived[number].get(reader) == preview
