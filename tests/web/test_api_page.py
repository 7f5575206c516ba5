"""The page on the API tells the truth: its examples work and its codes are all there are."""

import json
import pkgutil
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import LazySettings
from pydantic import BaseModel

import postledger
from postledger.accounts.keys import Scope
from postledger.campaigns.planning import planning
from postledger.content.rendering.html import html_allow_list
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.lib.ids import DeliveryId
from postledger.providers import headers
from postledger.transactional.requests import Validation
from postledger.web.api import openapi
from postledger.web.api.accounts.schemas import NewAccountIn
from postledger.web.api.articles.schemas import SliceIn
from postledger.web.api.audiences.routes import AudienceIn
from postledger.web.api.campaigns.schemas import NewCampaignIn, SendIn
from postledger.web.api.contacts.schemas import NewContactIn
from postledger.web.api.contacts.subscription_schemas import (
    ConsentIn,
    PreferencesIn,
    SubscriptionIn,
)
from postledger.web.api.content.routes import ContentIn
from postledger.web.api.dead_letters.schemas import DeadLetterChoiceIn
from postledger.web.api.doubts.schemas import DoubtDecisionsIn
from postledger.web.api.email.schemas import MailIn
from postledger.web.api.events.schemas import EventIn
from postledger.web.api.imports.schemas import ImportSettings
from postledger.web.api.keys.schemas import NewKeyIn
from postledger.web.api.lists.schemas import NewListIn
from postledger.web.api.mailouts.routes import MailoutIn
from postledger.web.api.members.schemas import NewMemberIn
from postledger.web.api.senders.schemas import NewSenderIn, SenderChangeIn
from postledger.web.api.suppressions.schemas import NewSuppressionIn
from postledger.web.api.templates.schemas import TextIn, VersionIn
from postledger.web.api.topic_subscriptions.schemas import NewTopicSubscriptionIn
from postledger.web.api.topics.schemas import NewTopicIn
from postledger.web.shared import problems
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


PACKAGES = re.compile(
    r"postledger\.(accounts|campaigns|contacts|content|deliveries|imports|lib|mailing"
    r"|notifications|privacy|providers|supabase|transactional|web)\b"
)
# Refusals that no answer of the API has.
OF_COMMANDS = {
    *("no_quota", "provider_unknown", "first_workspace_only", "integration_changed"),
    *("invalid_organisation", "workspace_exists"),
    *("fence_fell_again", "month_in_use", "import_file_changed"),
}
OF_WORKERS = {
    *("earlier_run_busy", "import_abandoned", "import_moved"),
    *("picture_not_copied", "picture_unavailable"),
    *("stream_closed", "too_many_letters"),
    *("supabase_busy", "supabase_not_set_up", "supabase_rate_limited", "supabase_request_refused"),
    *("supabase_rows_missing", "supabase_table_unknown", "supabase_unauthorized"),
    "supabase_unreachable",
}
# Their place in the answer says more, or the schema refuses the request before.
REPLACED = {
    *("html_too_large", "invalid_content", "invalid_header", "template_failed"),
    *("invalid_article_key", "invalid_campaign_tag", "invalid_locale", "invalid_template_key"),
}
OF_PAGES = {
    *("form_incomplete", "sender_fails", "sender_connected", "not_set_up"),
    *("bad_link", "stale"),
    *("already_joined", "first_run_code", "first_run_over", "no_letter_sender"),
    "address_taken",
    *("reader_unknown", "test_address_invalid", "test_addresses_too_many", "wrong_search"),
    *("segment_changed", "segment_exists", "too_many_segments", "too_many_contacts"),
    *("invalid_picture", "invalid_logo", "invalid_accent", "newer_version"),
}
# Answered to SNS: docs/reference/feedback.md has them.
OF_HOOKS = {"invalid_envelope", "raw_delivery", "signature_invalid", "topic_unknown", "not_now"}
OF_EVENT_SETUP = {
    *("aws_error", "invalid_url", "no_queue_service", "sendgrid_refused", "tracking_enabled")
}
NOT_ANSWERED = OF_COMMANDS | OF_EVENT_SETUP | OF_WORKERS | REPLACED | OF_PAGES | OF_HOOKS
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


def refusals() -> set[tuple[int, str]]:
    """The status and the code of every refusal of the packages that the API stands on."""
    for module in pkgutil.walk_packages(postledger.__path__, "postledger."):
        if PACKAGES.match(module.name) and "migrations" not in module.name:
            import_module(module.name)
    kinds = [RefusedError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {
        (problems.status_of(kind), kind.code)
        for kind in kinds
        if PACKAGES.match(kind.__module__)
        and "code" in vars(kind)
        and kind is not RefusedError
        and not issubclass(kind, NotFoundError)
    }


def test_every_code_stands_on_the_page_with_its_status() -> None:
    rows = re.findall(r"^\| (\d{3}) \| (.*?) \|", PAGE, re.MULTILINE)
    documented = {
        (int(status), code) for status, codes in rows for code in re.findall(r"\w+", codes)
    }
    answered = {(status, code) for status, code in refusals() if code not in NOT_ANSWERED}

    assert documented == {
        *((status, kind.code) for status, kind in problems.DEFAULTS.items() if kind.code),
        *((422, code.value) for code in Validation),
        *answered,
    }


def test_every_code_is_in_lower_case_but_those_of_the_validations() -> None:
    capitals = {"INVALID_PAYLOAD", "RECIPIENT_NOT_FOUND", "INVALID_EMAIL", "INVALID_TEMPLATE"}
    codes = {code for _, code in refusals()} | {code.value for code in Validation}

    assert [code for code in codes - capitals if not re.fullmatch("[a-z]+(_[a-z]+)*", code)] == []
    assert codes >= NOT_ANSWERED


@pytest.mark.parametrize(
    ("section", "head", "model"),
    [
        ("Send a mail", "field", MailIn),
        ("Templates", "field", VersionIn),
        ("Templates", "field of a text", TextIn),
        ("Articles", "field of a slice", SliceIn),
        ("Check content", "field", ContentIn),
        ("Lists", "field", NewListIn),
        ("Contacts", "field", NewContactIn),
        ("Consent", "field", SubscriptionIn),
        ("Consent", "field of preferences", PreferencesIn),
        ("Consent", "field of a consent", ConsentIn),
        ("Topics", "field", NewTopicIn),
        ("Topic subscriptions", "field", NewTopicSubscriptionIn),
        ("Events", "field of an event", EventIn),
        ("Suppressions", "field", NewSuppressionIn),
        ("Audiences", "field", AudienceIn),
        ("Imports", "field", ImportSettings),
        ("Campaigns", "field", NewCampaignIn),
        ("Send an article", "field", SendIn),
        ("Doubts", "field", DoubtDecisionsIn),
        ("Dead letters", "field of a choice", DeadLetterChoiceIn),
        ("Senders", "field", NewSenderIn),
        ("Senders", "field of a change", SenderChangeIn),
        ("Accounts", "field", NewAccountIn),
        ("API keys", "field", NewKeyIn),
        ("Members", "field", NewMemberIn),
        ("Mailouts", "field", MailoutIn),
    ],
)
def test_every_field_stands_on_the_page(section: str, head: str, model: type[BaseModel]) -> None:
    words = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    table = words.partition(f"| {head} | | |\n")[2].partition("\n\n")[0]
    documented = [
        (name, row[2].strip() == "required")
        for row in (line.split("|") for line in table.splitlines()[1:])
        for name in re.findall(r"`(\w+)`", row[1])
    ]

    fields = {(name, field.is_required()) for name, field in model.model_fields.items()}
    assert set(documented) == fields


def test_every_refused_header_stands_on_the_page() -> None:
    section = PAGE.partition("### Headers")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    documented = [set(re.findall(r"`([^`]+)`", row)) for row in rows]

    assert documented == [
        {*headers.COMMANDS, *(f"{prefix}*" for prefix in headers.COMMAND_PREFIXES)},
        {*headers.CLAIMS, *(f"{prefix}*" for prefix in headers.CLAIM_PREFIXES)},
    ]


def test_every_scheme_of_a_link_stands_on_the_page() -> None:
    section = PAGE.partition("### Allowed HTML")[2].partition("\n## ")[0]
    links = section.partition("Links begin with ")[2].partition(", or have no scheme")[0]

    assert set(re.findall(r"`(\w+):`", links)) == html_allow_list.LINK_SCHEMES


def test_every_scope_stands_on_the_page() -> None:
    documented = re.findall(r"^\| `(\w+:\w+)` \|", PAGE, re.MULTILINE)

    assert set(documented) == {scope.value for scope in Scope}
