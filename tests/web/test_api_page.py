"""The page on the API tells the truth: its examples work, and each operation has one."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from uuid import UUID

from django.conf import LazySettings

from postledger.campaigns.planning import planning
from postledger.lib.ids import DeliveryId
from postledger.web.api import openapi
from tests import cast
from tests.notifications import cast as topics
from tests.notifications import queue
from tests.web import newsroom, uploads
from tests.web.callers import Caller, Reply

PAGE = (Path(__file__).parents[2] / "docs/reference/api.md").read_text()
FILE = b"Mail,name,Notes\nalice@example.com,Alice,\n"
MAIL = "01420000-0007-8000-8000-00000000002a"


@dataclass(frozen=True)
class Example:
    method: str
    path: str
    body: str
    is_file: bool

    def run(self, who: Caller, really: dict[str, str]) -> Reply:
        path, body = self.path, self.body
        for written, meant in really.items():
            path, body = path.replace(written, meant), body.replace(written, meant)
        if self.is_file:
            return uploads.bring(who, FILE)
        return who.ask(self.method, path, json.loads(body) if body else None)


def set_up(who: Caller) -> dict[str, str]:
    """What the page names of what needs a person and of what is set up, and what is so here."""
    failed, doubtful = cast.stream(mails=2), cast.stream(mails=2)
    cast.book(failed, newsroom.refused)
    cast.lose(doubtful)
    sender = who.post("/v1/senders", {"address": "play@acme.example"}).body
    account = who.post("/v1/accounts", {"name": "play", "kind": "sandbox"}).body
    key = who.post("/v1/keys", {"name": "play", "scopes": ["mail:send"]}).body
    member = who.post("/v1/members", {"email": "carol@acme.example", "role": "viewer"}).body
    topic = topics.add_topic(who.workspace_id, is_by_job=True)
    row = queue.pend(topics.event(topic), topics.subscribe(topic, "erin"))
    mails = "01420000-0007-8000-8000-0000000000"
    return {
        f"{mails}d0": DeliveryId(doubtful, 0).text(),
        f"{mails}f0": DeliveryId(failed, 0).text(),
        f"{mails}f1": DeliveryId(failed, 1).text(),
        "1382979469314": str(doubtful),
        "/senders/8": f"/senders/{sender['id']}",
        '"default_id": 7': f'"default_id": {cast.sender().pk}',
        '"password": "another"': '"slow": 3',
        "/accounts/3": f"/accounts/{account['id']}",
        "pl_live_3kq81xvn": key["prefix"],
        "/members/5": f"/members/{member['id']}",
        "/notifications/91": f"/notifications/{row.pk}",
        "notification:91": f"notification:{row.pk}",
        "event:32": f"event:{row.event_id}",
        '"notificationId": 91': f'"notificationId": {row.pk}',
        '"openEventId": 32': f'"openEventId": {row.event_id}',
        '"subscriptionId": 12': f'"subscriptionId": {row.subscription_id}',
    }


def commands(fence: str) -> Iterator[list[str]]:
    for block in re.findall(rf"^{fence}\n(curl .*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        words = shlex.split(block.replace("\\\n", " "))
        starts = [number for number, word in enumerate(words) if word == "curl"]
        yield from (words[start:end] for start, end in pairwise([*starts, len(words)]))


def example(words: list[str]) -> Example:
    options = dict(pairwise(words))
    [address] = [word for word in words if word.startswith("https://mail.example.com/")]
    return Example(
        options.get("-X", "GET"),
        address.removeprefix("https://mail.example.com"),
        options.get("-d", ""),
        "--data-binary" in options,
    )


EXAMPLES = [example(words) for words in commands("```")]
# It needs a Notion: tests/campaigns/notion/ has what becomes of it.
MAILOUT = [example(words) for words in commands("```sh")]


def test_every_example_works_in_the_order_of_the_page(
    alice: Caller, settings: LazySettings
) -> None:
    newsroom.furnish(alice, settings)
    really = set_up(alice)

    for shown in EXAMPLES:
        reply = shown.run(alice, really)

        assert 200 <= reply.status < 300, (shown, reply.body)
        really |= of_topic(shown, reply)
        if shown.path.endswith("/email/send"):
            really.setdefault(MAIL, reply.body["id"])
        elif shown.path.endswith("/slices") and shown.method == "POST":
            really["/slices/17"] = f"/slices/{reply.body['id']}"
        elif shown.is_file:
            really["/imports/5"] = f"/imports/{reply.body['id']}"
        elif shown.path.endswith("/v1/contacts") and shown.method == "POST":
            really["/contacts/42"] = f"/contacts/{reply.body['id']}"
            really['"contact_id": 42,'] = f'"contact_id": {reply.body["id"]},'
            other = alice.post("/v1/contacts", {"address": "carol@example.com"}).body
            really["/contacts/43"] = f"/contacts/{other['id']}"
        elif shown.path.endswith("/v1/campaigns") and shown.method == "POST":
            really["/campaigns/7"] = f"/campaigns/{reply.body['id']}"
            really["/campaigns/1207"] = f"/campaigns/{newsroom.make_campaign(alice, tag='draft')}"
            alice.post("/v1/contacts", {"address": "dave@example.com"})
            alice.post("/v1/articles", {"key": "june-news", "title": "News of June"})
            words = {"title": "June", "body_md": "Summer.", "is_published": True}
            alice.post("/v1/articles/june-news/slices", words)
        elif shown.path.endswith("/launch"):
            really[newsroom.BATCH] = reply.body["run_id"]
            planning.plan_run(UUID(reply.body["run_id"]))
            newsroom.book(reply.body["run_id"], newsroom.refused)


def of_topic(shown: Example, reply: Reply) -> dict[str, str]:
    """The ids that the page names of the topic `seats`."""
    match shown.path, reply.body:
        case "/v1/topics/seats/events", {"events": [{"id": event_id}]}:
            return {"/events/31": f"/events/{event_id}"}
        case "/v1/topics/seats/subscriptions", {"id": subscription_id}:
            return {"/topic-subscriptions/11": f"/topic-subscriptions/{subscription_id}"}
        case _:
            return {}


def test_every_operation_has_an_example() -> None:
    shown = {(tried.method, tried.path.partition("?")[0]) for tried in [*EXAMPLES, *MAILOUT]}

    for path, methods in openapi.build_document()["paths"].items():
        form = re.compile(re.sub(r"{\w+}", "[^/]+", path))
        for method in methods:
            assert [at for verb, at in shown if verb == method.upper() and form.fullmatch(at)]


def test_the_answer_of_a_check_is_the_one_on_the_page(alice: Caller) -> None:
    [check] = [shown for shown in EXAMPLES if shown.path == "/v1/content/check"]
    section = PAGE.partition("## Check content")[2]
    [example_answer] = re.findall(r"```json\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)

    assert check.run(alice, {}).body == json.loads(example_answer)
