"""Every address this installation answers to."""

from django.urls import URLPattern, URLResolver, path

from postledger.web import health
from postledger.web.api import openapi
from postledger.web.api.door import api
from postledger.web.public import pictures

urlpatterns: list[URLPattern | URLResolver] = [
    path("live", health.live),
    path("ready", health.ready),
    path("metrics", health.metrics),
    path("pictures/<str:name>", pictures.show),
    path("v1/openapi.json", openapi.document),
    path("v1/", api.urls),
]
