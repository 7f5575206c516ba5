"""Registers API routes: a handler is its signature and its call, everything else happens here."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from http import HTTPStatus
from inspect import Parameter, signature
from typing import Any, Self, TypedDict, Unpack, get_args

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from ninja.responses import Status
from pydantic import BaseModel

from postledger.accounts.keys import Scope
from postledger.lib.errors import MOST_ISSUES
from postledger.web.api.common import schema_errors
from postledger.web.shared.auth import ApiKeyAuth, live_key_required, require_scopes
from postledger.web.shared.problems import InvalidRequestError, payload_issue

# Ninja describes JSON only.
_CSV: dict[str, Any] = {
    "responses": {
        200: {"description": "OK", "content": {"text/csv": {"schema": {"type": "string"}}}}
    }
}
# All that a test key may do. Each of these shows a test key nothing but what test keys sent and
# what a template says, and reads no contact for it.
_OPEN_TO_TEST_KEYS = frozenset(
    {
        *("sendMail", "sendMails", "searchMails", "getMail", "cancelMail"),
        *("listTemplates", "getTemplate", "listTemplateVersions", "getTemplateVersion"),
        *("checkContent", "previewContent", "previewTemplate", "previewArticle"),
        *("previewCampaign", "testCampaign", "launchCampaign"),
        *("listRuns", "getRun", "listRunFailures"),
    }
)

type Handler = Callable[..., object]
type Decorator = Callable[[Handler], Handler]
type Response = dict[int, type[BaseModel] | None]


@dataclass(frozen=True, slots=True)
class Call:
    """An authorized request, and when it came."""

    request: HttpRequest
    workspace_id: int
    actor: str
    is_test: bool
    scopes: Collection[str]
    member_id: int | None  # whose runs the caller launches
    now: datetime

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        caller = request.auth  # type: ignore[attr-defined]  # set by ninja
        return cls(
            request,
            caller.workspace_id,
            caller.actor,
            caller.is_test,
            caller.scopes,
            caller.member_id,
            now=datetime.now(UTC),
        )

    @property
    def may_read_contacts(self) -> bool:
        return Scope.CONTACTS_READ in self.scopes and not self.is_test

    def require(self, scope: Scope) -> None:
        """Refuses a key without this scope, which only some requests to the operation need."""
        require_scopes(self.scopes, [scope])

    def require_live_key(self) -> None:
        """Refuses a test key where only some requests to the operation read live data."""
        if self.is_test:
            raise live_key_required()


class RouteOptions(TypedDict, total=False):
    status: int  # of the answer; 200 by default
    scopes: Collection[Scope]  # in place of the method's
    # The scope that its answer is shown with: by default the one that reads the resource. None:
    # the answer has only what the caller sent, and ids.
    shown_with: Scope | None
    auth: Sequence[Callable[[HttpRequest], object]]  # accepted beside an API key
    openapi_extra: dict[str, Any]


class Routes:
    """The routes of one resource.

    A handler takes a `Call`, path parameters, a `payload` (the JSON body) and a `query`. It returns
    an object that has the fields of the response schema, or a finished response. Its name in camel
    case is the operation id, and its docstring the description.

    A change needs the scope that writes, and its answer the scope that reads: a key without that
    one makes the change and gets 204 and no body. Test keys are refused unless listed above.
    """

    def __init__(self, tag: str, *, read: Scope, write: Scope) -> None:
        self.router = Router(tags=[tag])
        self._read = read
        self._write = write

    def get(
        self,
        path: str,
        schema: type[BaseModel],
        *,
        scopes: Collection[Scope] = (),
        auth: Sequence[Callable[[HttpRequest], object]] = (),
    ) -> Decorator:
        options: RouteOptions = {"scopes": scopes or [self._read], "auth": auth}
        return self._register("GET", path, {200: schema}, options)

    def get_csv(self, path: str, *, scopes: Collection[Scope] = ()) -> Decorator:
        options: RouteOptions = {"scopes": scopes or [self._read], "openapi_extra": _CSV}
        return self._register("GET", path, {}, options)

    def post(
        self, path: str, schema: type[BaseModel] | None, **options: Unpack[RouteOptions]
    ) -> Decorator:
        return self._register("POST", path, {options.get("status", 200): schema}, options)

    def put(self, path: str, schema: type[BaseModel], **options: Unpack[RouteOptions]) -> Decorator:
        return self._register("PUT", path, {200: schema}, options)

    def patch(
        self, path: str, schema: type[BaseModel], **options: Unpack[RouteOptions]
    ) -> Decorator:
        return self._register("PATCH", path, {200: schema}, options)

    def delete(self, path: str, **options: Unpack[RouteOptions]) -> Decorator:
        return self._register("DELETE", path, {204: None}, options)

    def _register(
        self, method: str, path: str, response: Response, options: RouteOptions
    ) -> Decorator:
        scopes = options.get("scopes", [self._write])
        shown_with = options.get("shown_with", self._read)
        if shown_with in scopes or None in response.values():
            shown_with = None

        def register(handler: Handler) -> Handler:
            operation_id = _camel_case(handler.__name__)
            is_open_to_test_keys = operation_id in _OPEN_TO_TEST_KEYS
            self.router.add_api_operation(
                path,
                [method],
                _view(handler, response, shown_with),
                auth=[
                    ApiKeyAuth(scopes, is_open_to_test_keys=is_open_to_test_keys),
                    *options.get("auth", ()),
                ],
                # Ninja describes no operation without a response.
                response={**(response or {200: None}), **({204: None} if shown_with else {})},
                operation_id=operation_id,
                summary=handler.__name__.replace("_", " ").capitalize(),
                openapi_extra={
                    **options.get("openapi_extra", {}),
                    "x-scopes": list(scopes),
                    "x-shown-with": shown_with,
                    "x-open-to-test-keys": is_open_to_test_keys,
                },
            )
            return handler

        return register


def _view(handler: Handler, response: Response, shown_with: Scope | None) -> Handler:
    first, *others = signature(handler).parameters.values()
    query = next((other for other in others if other.name == "query"), None)

    @wraps(handler)
    def view(request: HttpRequest, **values: Any) -> HttpResponseBase | Status[BaseModel]:
        if query is not None:
            _refuse_unknown_parameters(request, query)
        call = Call.of(request)
        result = handler(call, **values)
        if shown_with is not None and shown_with not in call.scopes:
            return HttpResponse(status=HTTPStatus.NO_CONTENT)
        if isinstance(result, HttpResponseBase):
            return result
        [(status, schema)] = response.items()
        if schema is None:
            return HttpResponse(status=status)
        return Status(status, schema.model_validate(result))

    # Ninja reads the parameters from it, and knows the first by this name.
    view.__signature__ = signature(handler).replace(  # type: ignore[attr-defined]
        parameters=[first.replace(name="request"), *others]
    )
    return view


def _refuse_unknown_parameters(request: HttpRequest, query: Parameter) -> None:
    """A misspelt filter would match everything; ninja ignores names that it does not know."""
    schema, *_ = get_args(query.annotation)
    unknown = sorted(set(request.GET) - set(schema.model_fields))
    if unknown:
        known = list(schema.model_fields)
        issues = [
            payload_issue(
                name[:100],
                f"Unknown query parameter. {schema_errors.describe_unknown(name, known)}",
            )
            for name in unknown[:MOST_ISSUES]
        ]
        raise InvalidRequestError(issues, len(unknown))


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
