"""The yardsticks of the API: Django, one view, one INSERT, by the ORM or as SQL; nothing else."""

import json
import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path

from postledger.config import env

_named = env.parse_database_url(os.environ["DATABASE_URL"])
settings.configure(
    SECRET_KEY="x" * 64,
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": _named.name,
            "USER": _named.user,
            "PASSWORD": _named.password,
            "HOST": _named.host,
            "PORT": _named.port,
            "CONN_MAX_AGE": 60,
            "OPTIONS": dict(_named.options),
        }
    },
)


def take(request: HttpRequest) -> JsonResponse:
    """As Django's tutorial would have it."""
    from tools.bench.bare_models import Mail

    given = json.loads(request.body)
    mail = Mail(recipient=given["to"], subject=given["subject"], html=given["html"])
    mail.save(force_insert=True)
    return JsonResponse({"id": mail.pk}, status=202)


def take_by_sql(request: HttpRequest) -> JsonResponse:
    """As fast as it gets."""
    given = json.loads(request.body)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO bench_mail (recipient, subject, html) VALUES (%s, %s, %s) RETURNING id",
            [given["to"], given["subject"], given["html"]],
        )
        [(number,)] = cursor.fetchall()
    return JsonResponse({"id": number}, status=202)


def take_event(request: HttpRequest) -> HttpResponse:
    """A message of SNS, believed as it is."""
    given = json.loads(request.body)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO bench_event (message_id, body) VALUES (%s, %s)",
            [given["MessageId"], given["Message"]],
        )
    return HttpResponse(status=200)


def live(_request: HttpRequest) -> JsonResponse:
    return JsonResponse({})


urlpatterns = [
    path("", take),
    path("sql", take_by_sql),
    path("event", take_event),
    path("live", live),
]
application = get_wsgi_application()
