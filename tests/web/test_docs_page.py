"""The pages for people: what this server is, and every operation of its API."""

import os
import re
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from jsonschema_rs import Draft202012Validator
from pytest_django.live_server_helper import LiveServer

from postledger.contacts.models import Contact
from postledger.notifications.jobs import contract
from postledger.web.api import openapi
from postledger.web.api.docs import operations
from postledger.web.api.docs.operations import Operation, Reader
from postledger.web.api.docs.samples import SampleWriter
from tests.web.callers import caller

PAGES = ["/docs", "/docs?q=contacts"]


def page(path: str) -> str:
    response = Client().get(path)
    assert response.status_code == 200
    assert response["Content-Type"] == "text/html; charset=utf-8"
    return response.content.decode()


def test_a_page_loads_nothing_and_runs_nothing() -> None:
    for path in PAGES:
        response = Client().get(path)
        html = response.content.decode()
        [style] = re.findall("<style>(.*?)</style>", html, re.DOTALL)
        digest = b64encode(sha256(style.encode()).digest()).decode()

        assert response["Content-Security-Policy"] == (
            f"default-src 'none'; style-src 'sha256-{digest}';"
            " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        ), path
        assert response["X-Content-Type-Options"] == "nosniff", path
        assert not re.search(r"<script|<link|<img|<iframe| style=| on\w+=|@import|url\(", html), (
            path
        )
        assert not response.cookies, path


def test_every_link_of_a_page_leads_somewhere(db: None) -> None:
    ids = set(re.findall(r' id="([^"]+)"', page("/docs")))
    for path in PAGES:
        for target in re.findall(r' href="([^"]+)"', page(path)):
            if "#" in target:
                assert target.removeprefix("/docs").removeprefix("#") in ids, path
            else:
                assert Client().get(target, follow=True).status_code == 200, path


def test_every_operation_stands_on_the_page_with_its_path_and_its_scopes() -> None:
    html = unescape(page("/docs"))

    for path, methods in openapi.build_document()["paths"].items():
        for method, operation in methods.items():
            _, _, article = html.partition(f'<h3 id="{operation["operationId"]}">')
            article = article.partition("</article>")[0]
            assert f">{method.upper()}</span> <code>{path}</code>" in article
            for name in (
                *operation["x-scopes"],
                *(each["name"] for each in operation["parameters"]),
            ):
                assert f"<code>{name}</code>" in article, (path, name)


def test_every_sample_of_a_body_is_one_that_the_api_accepts() -> None:
    document = openapi.build_document()
    samples = SampleWriter(document)
    bodies: dict[str, Any] = {}
    for methods in document["paths"].values():
        for described in methods.values():
            media = described.get("requestBody", {}).get("content", {}).get("application/json")
            if media:
                bodies[described["operationId"]] = media["schema"]
    for name, schema in bodies.items():
        validator = Draft202012Validator({**schema, "components": document["components"]})
        sample = samples.make_example(schema)
        assert [str(error) for error in validator.iter_errors(sample)] == [], (name, sample)

    contract.parse_job(samples.make_example(bodies["postMailJob"]))


def list_operations() -> list[Operation]:
    groups = Reader(openapi.build_document()).groups()
    return [operation for group in groups for operation in group.operations]


def run_curl(sample: str) -> list[str]:
    return [
        "bash",
        "-c",
        sample.replace("curl ", "curl --silent --show-error --fail-with-body ", 1),
    ]


def run_python(sample: str) -> list[str]:
    return [sys.executable, "-c", sample]


# In this order each finds what those before it have made.
PASTED = {
    "createContact": run_curl,
    "listContacts": run_python,
    "createList": run_curl,
    "putSubscription": run_curl,
    "createTemplate": run_curl,
    "addTemplateVersion": run_python,
    "checkContent": run_curl,
    "countAudience": run_curl,
    "sendMail": run_python,
    "createKey": run_curl,
    "archiveTemplate": run_curl,
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_samples_work_as_they_are_pasted(live_server: LiveServer, settings: LazySettings) -> None:
    settings.PUBLIC_URL = live_server.url
    operations = {operation.id: operation for operation in list_operations()}
    environment = {**os.environ, "KEY": caller("acme").token}
    first = Contact.objects.count()

    for name, run in PASTED.items():
        operation = operations[name]
        sample = operation.curl if run is run_curl else operation.python
        contact = Contact.objects.order_by("pk").last()
        # A sample calls every number 1.
        sample = sample.replace("/contacts/1/", f"/contacts/{contact.pk if contact else 0}/")
        ended = subprocess.run(
            run(sample), env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, (sample, ended.stdout, ended.stderr)
        assert "<" not in ended.stdout[:1], "an answer of the API, and no page"

    assert Contact.objects.count() == first + 1


def test_a_search_finds_operations_by_path_scope_and_field() -> None:
    for words, shown, hidden in (
        ("batch", "sendMails", "createList"),
        ("MAIL:SEND", "sendMail", "createList"),
        ("overlap_seconds", "rotateKey", "createKey"),
        ("contacts erase", "eraseContact", "getContact"),
    ):
        html = Client().get("/docs", {"q": words}).content.decode()

        assert f'href="/docs#{shown}"' in html, words
        assert f'href="/docs#{hidden}"' not in html, words
    nothing = Client().get("/docs", {"q": "<script>x\0" + "y" * 5_000}).content.decode()
    assert "<script" not in nothing
    assert "y" * 101 not in nothing


def test_what_a_description_says_is_never_markup() -> None:
    evil = "<script>`<b>`</script>"
    document = {
        "servers": [{"url": "/"}],
        "components": {"schemas": {evil: {"type": evil, "description": evil}}},
        "paths": {},
    }

    [schema] = Reader(document).schemas()

    assert "<script" not in schema.description + schema.kind
    assert operations.prose(evil) == ("&lt;script&gt;<code>&lt;b&gt;</code>&lt;/script&gt;")
