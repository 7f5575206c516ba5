"""Builds the API from the routes of its resources."""

import json
from typing import Any, override

from django.http import Http404, HttpRequest
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser

from postledger.web.api.articles.routes import routes as articles
from postledger.web.api.audiences.routes import routes as audiences
from postledger.web.api.campaigns.routes import routes as campaigns
from postledger.web.api.common.routing import Routes
from postledger.web.api.contacts.routes import export_routes as exports
from postledger.web.api.contacts.routes import routes as contacts
from postledger.web.api.content.routes import routes as content
from postledger.web.api.email.routes import routes as email
from postledger.web.api.imports.routes import routes as imports
from postledger.web.api.lists.routes import routes as lists
from postledger.web.api.mailouts.routes import routes as mailouts
from postledger.web.api.runs.routes import routes as runs
from postledger.web.api.suppressions.routes import routes as suppressions
from postledger.web.api.templates.routes import routes as templates
from postledger.web.shared import problems
from postledger.web.shared.problems import UnsupportedMediaTypeError


class JsonParser(Parser):
    @override
    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json":
            raise UnsupportedMediaTypeError(
                f"The Content-Type is {(request.content_type or 'missing')[:100]}."
                " Send JSON with Content-Type: application/json."
            )
        return json.loads(request.body)


def _build(namespace: str, resources: dict[str, Routes]) -> NinjaAPI:
    built = NinjaAPI(
        title="Postledger",
        version="1",
        description="Sends email, reports the results, and manages content and contacts.",
        parser=JsonParser(),
        openapi_url=None,
        docs_url=None,
        urls_namespace=namespace,
    )
    for path, routes in resources.items():
        built.add_router(path, routes.router)
    # Ninja has its own answers to the first three unless they are named.
    for error in (Http404, HttpError, ValidationError, Exception):
        built.exception_handler(error)(problems.handle_exception)
    return built


api = _build(
    "api",
    {
        "/email": email,
        "/templates": templates,
        "/articles": articles,
        "/content": content,
        "/contacts": contacts,
        "/lists": lists,
        "/suppressions": suppressions,
        "/audiences": audiences,
        "/imports": imports,
        "/exports": exports,
        "/campaigns": campaigns,
        "/runs": runs,
    },
)
# Outside /v1: other programs already use this URL.
mailout_api = _build("send-mailout", {"": mailouts})
