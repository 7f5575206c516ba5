"""The pages for people: what this server is, and every operation of its API."""

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from postledger.web.api import openapi
from postledger.web.api.docs import operations
from postledger.web.api.docs.operations import Reader

PAGES = ["/docs"]


def page(path: str) -> str:
    response = Client().get(path)
    assert response.status_code == 200
    assert response["Content-Type"] == "text/html; charset=utf-8"
    return response.content.decode()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_nothing_and_runs_nothing(path: str) -> None:
    response = Client().get(path)
    html = response.content.decode()
    [style] = re.findall("<style>(.*?)</style>", html, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()

    assert response["Content-Security-Policy"] == (
        f"default-src 'none'; style-src 'sha256-{digest}';"
        " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    assert response["X-Content-Type-Options"] == "nosniff"
    assert not re.search(r"<script|<link|<img|<iframe| style=| on\w+=|@import|url\(", html)
    assert not response.cookies


@pytest.mark.parametrize("path", PAGES)
def test_every_link_of_a_page_leads_somewhere(path: str, db: None) -> None:
    html = page(path)
    ids = set(re.findall(r' id="([^"]+)"', html))

    for target in re.findall(r' href="([^"]+)"', html):
        if target.startswith("#"):
            assert target[1:] in ids
        else:
            assert Client().get(target).status_code == 200


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_only_read(path: str) -> None:
    assert Client().head(path).status_code == 200
    assert Client().post(path).status_code == 405


def described() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, methods in openapi.build_document()["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_stands_on_the_page_with_its_fields() -> None:
    html = unescape(page("/docs"))

    for method, path, operation in described():
        _, _, article = html.partition(f'<h3 id="{operation["operationId"]}">')
        article = article.partition("</article>")[0]
        assert f">{method}</span> <code>{path}</code>" in article
        for parameter in operation["parameters"]:
            assert f"<code>{parameter['name']}</code>" in article
        for scope in operation["x-scopes"]:
            assert f"<code>{scope}</code>" in article


def test_every_schema_stands_on_the_page_with_its_fields() -> None:
    html = page("/docs")

    for name, schema in openapi.build_document()["components"]["schemas"].items():
        _, _, article = html.partition(f'<h3 id="schema-{name}">')
        for field in schema.get("properties", {}):
            assert f"<code>{field}</code>" in article.partition("</article>")[0]


def test_examples_name_the_public_url(settings: LazySettings) -> None:
    settings.PUBLIC_URL = "https://mail.acme.example/"

    assert 'curl -X POST "https://mail.acme.example/v1/email/send"' in unescape(page("/docs"))


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


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "date-time"}, "time"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "whole number or null"),
        ({"type": "array", "items": {"type": "string"}}, "list of text"),
        ({"enum": ["a", "b"]}, "<code>a</code> or <code>b</code>"),
        ({"$ref": "#/components/schemas/MailIn"}, '<a href="#schema-MailIn">MailIn</a>'),
        ({}, "any value"),
    ],
)
def test_a_type_is_said_in_words(schema: dict[str, Any], kind: str) -> None:
    assert operations.describe_kind(schema) == kind
