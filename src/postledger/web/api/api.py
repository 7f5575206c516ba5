"""Builds the API from the routes of its resources."""

import json
from typing import Any, override

import pydantic
from django.http import Http404, HttpRequest
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError, ValidationErrorContext
from ninja.params.models import ParamModel
from ninja.parser import Parser
from pydantic import BaseModel

from postledger.lib.errors import MOST_ISSUES
from postledger.web.api.accounts.routes import routes as accounts
from postledger.web.api.alerts.routes import routes as alerts
from postledger.web.api.articles.routes import routes as articles
from postledger.web.api.audiences.routes import routes as audiences
from postledger.web.api.campaigns.routes import routes as campaigns
from postledger.web.api.common import json_size, schema_errors
from postledger.web.api.common.routing import Routes
from postledger.web.api.contacts.routes import export_routes as exports
from postledger.web.api.contacts.routes import routes as contacts
from postledger.web.api.content.routes import routes as content
from postledger.web.api.dead_letters.routes import routes as dead_letters
from postledger.web.api.doubts.routes import routes as doubts
from postledger.web.api.email.routes import routes as email
from postledger.web.api.events.routes import routes as events
from postledger.web.api.holds.routes import routes as holds
from postledger.web.api.imports.routes import routes as imports
from postledger.web.api.keys.routes import routes as keys
from postledger.web.api.lists.routes import routes as lists
from postledger.web.api.mail_jobs.routes import routes as mail_jobs
from postledger.web.api.mailouts.routes import routes as mailouts
from postledger.web.api.members.routes import routes as members
from postledger.web.api.messages.routes import routes as messages
from postledger.web.api.notifications.routes import routes as notifications
from postledger.web.api.overview.routes import routes as overview
from postledger.web.api.progress.routes import routes as progress
from postledger.web.api.runs.routes import routes as runs
from postledger.web.api.senders.routes import routes as senders
from postledger.web.api.sources.routes import routes as sources
from postledger.web.api.suppressions.routes import routes as suppressions
from postledger.web.api.templates.routes import routes as templates
from postledger.web.api.topic_subscriptions.routes import routes as topic_subscriptions
from postledger.web.api.topics.routes import routes as topics
from postledger.web.api.why.routes import routes as why
from postledger.web.shared import problems
from postledger.web.shared.problems import (
    InvalidJsonError,
    InvalidRequestError,
    Issue,
    UnsupportedMediaTypeError,
)


class JsonParser(Parser):
    @override
    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json":
            raise UnsupportedMediaTypeError(
                f"The Content-Type is {(request.content_type or 'missing')[:100]}."
                " Send JSON with Content-Type: application/json."
            )
        json_size.refuse_many_values(request.body)
        try:
            return json.loads(request.body)
        except json.JSONDecodeError as error:
            raise InvalidJsonError(error.lineno, error.colno) from None


class Api(NinjaAPI):
    @override
    def validation_error_from_error_contexts(
        self, error_contexts: list[ValidationErrorContext[Any]]
    ) -> ValidationError:
        """Describes no more errors than an answer lists."""
        issues: list[Issue] = []
        count = 0
        is_path = False
        for context in error_contexts:
            is_path = is_path or context.model.__ninja_param_source__ == "path"
            error = context.pydantic_validation_error
            count += error.error_count()
            issues += _list_issues(error, context.model)
        # Ninja's frame holds these errors, and their traceback holds the frame: the parsed body
        # would stay in memory until the garbage collector comes by.
        error_contexts.clear()
        return InvalidRequestError(issues[:MOST_ISSUES], count, is_path=is_path)


def _list_issues(error: pydantic.ValidationError, parameters: type[ParamModel]) -> list[Issue]:
    """Ninja puts a body, and all parameters of a query, below the name of a handler's parameter."""
    [(name, field), *_] = parameters.model_fields.items()
    schema = field.annotation
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        described = schema_errors.describe_errors(error, schema, below=name)
    else:
        described = schema_errors.describe_errors(error, parameters)
    source = str(parameters.__ninja_param_source__)
    return [problems.payload_issue(place or source, detail) for place, detail in described]


def _build(namespace: str, resources: dict[str, Routes]) -> NinjaAPI:
    built = Api(
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
        "/topics": topics,
        "/events": events,
        "/topic-subscriptions": topic_subscriptions,
        "/campaigns": campaigns,
        "/runs": runs,
        "/notifications": notifications,
        "/mail-jobs": mail_jobs,
        "/messages": messages,
        "/overview": overview,
        "/why": why,
        "/alerts": alerts,
        "/doubts": doubts,
        "/dead-letters": dead_letters,
        "/holds": holds,
        "/sources": sources,
        "/senders": senders,
        "/accounts": accounts,
        "/keys": keys,
        "/members": members,
    },
)
# Outside /v1: other programs already use these URLs.
mailout_api = _build("send-mailout", {"": mailouts})
progress_api = _build("mail-progress", {"": progress})
OUTSIDE = {"send-mailout": mailout_api, "mail/progress/poll/": progress_api}
