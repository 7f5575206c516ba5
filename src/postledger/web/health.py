"""What watchers ask: does the process live, can it serve, and what do the numbers say."""

import hmac
from collections.abc import Iterator

import structlog
from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from postledger.deliveries import partitions
from postledger.lib import ids
from postledger.observability import schema
from postledger.web import exposition

_log = structlog.get_logger(__name__)


@require_safe
@never_cache
def live(_request: HttpRequest) -> JsonResponse:
    """The process answers. Asks nobody else: a restart mends no database."""
    return JsonResponse({"live": True})


@require_safe
@never_cache
def ready(_request: HttpRequest) -> JsonResponse:
    """Requests can be served; if not, 503 with what is missing and what to do about it."""
    missing = list(_missing())
    body = {"ready": not missing, "missing": [{"what": what, "do": do} for what, do in missing]}
    return JsonResponse(body, status=503 if missing else 200)


def _missing() -> Iterator[tuple[str, str]]:
    try:
        unapplied = schema.unapplied()
        if unapplied:
            yield f"the migration {unapplied[0]} was not run", "Run postledger migrate."
        elif not partitions.exists(this := partitions.this_month()):
            month = ids.month_name(this)
            yield f"the ledger has no partitions for {month}", "Run postledger partitions."
    except Error as error:
        _log.warning("not ready", error=error)
        yield "the database does not answer", "Run postledger doctor."


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    if not _may_watch(request):
        refusal = HttpResponse("Send the METRICS_TOKEN as a bearer token.\n", status=401)
        refusal["WWW-Authenticate"] = "Bearer"
        return refusal
    try:
        text, content_type = exposition.render(request.headers.get("Accept", ""))
    except Error as error:
        _log.warning("no metrics", error=error)
        return HttpResponse("The database does not answer. Run postledger doctor.\n", status=503)
    return HttpResponse(text, content_type=content_type)


def _may_watch(request: HttpRequest) -> bool:
    token = settings.METRICS_TOKEN
    given = request.headers.get("Authorization", "")
    return not token or hmac.compare_digest(given.encode(), f"Bearer {token}".encode())
