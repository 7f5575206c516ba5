"""The API as a whole: its routes, how it reads bodies, and how it answers what goes wrong."""

import json
from typing import Any, ClassVar, override

from django.http import Http404, HttpRequest
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser

from postledger.lib.errors import RefusedError
from postledger.web.api import (
    articles,
    audiences,
    campaigns,
    campaigns_send,
    contacts,
    contacts_consent,
    contacts_privacy,
    content,
    email,
    exports,
    imports,
    lists,
    reports,
    runs,
    send_mailout,
    suppressions,
    templates,
)
from postledger.web.shared import problems


class UnsupportedMediaTypeError(RefusedError):
    code: ClassVar[str] = "unsupported_media_type"


class JsonParser(Parser):
    @override
    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json":
            raise UnsupportedMediaTypeError(
                f"The body is {(request.content_type or 'of no type')[:100]}."
                " Send JSON, and say so: Content-Type: application/json."
            )
        return json.loads(request.body)


api = NinjaAPI(
    title="Postledger",
    version="1",
    description="Sends mail, tells what became of it, and keeps what mail says and who gets it.",
    parser=JsonParser(),
    openapi_url=None,
    docs_url=None,
    urls_namespace="api",
)
api.add_router("/email", email.router)
api.add_router("/templates", templates.router)
api.add_router("/articles", articles.router)
api.add_router("/content", content.router)
api.add_router("/contacts", contacts.router)
api.add_router("/contacts", contacts_consent.router)
api.add_router("/contacts", contacts_privacy.router)
api.add_router("/lists", lists.router)
api.add_router("/suppressions", suppressions.router)
api.add_router("/audiences", audiences.router)
api.add_router("/imports", imports.router)
api.add_router("/exports", exports.router)
api.add_router("/campaigns", campaigns.router)
api.add_router("/campaigns", campaigns_send.router)
api.add_router("/runs", runs.router)
api.add_router("/runs", reports.router)

# Beside /v1: other programs know this address already.
mailout_api = NinjaAPI(
    title="Postledger",
    version="1",
    parser=JsonParser(),
    openapi_url=None,
    docs_url=None,
    urls_namespace="send-mailout",
)
mailout_api.add_router("", send_mailout.router)

# Ninja answers the first three itself unless it is told otherwise.
for _kind in (Http404, HttpError, ValidationError, Exception):
    api.exception_handler(_kind)(problems.of_exception)
    mailout_api.exception_handler(_kind)(problems.of_exception)
