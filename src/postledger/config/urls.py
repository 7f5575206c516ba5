"""Every address this installation answers to."""

from django.urls import URLPattern, URLResolver, path

from postledger.web import health
from postledger.web.api import openapi
from postledger.web.api.door import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("live", health.live),
    path("ready", health.ready),
    path("metrics", health.metrics),
    path("v1/openapi.json", openapi.document),
    path("v1/", api.urls),
]
