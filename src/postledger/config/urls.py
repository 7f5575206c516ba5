"""Every address this installation answers to."""

from django.urls import URLPattern, URLResolver, path

from postledger.web import health
from postledger.web.api import openapi
from postledger.web.api.door import api, mailout_api
from postledger.web.public import confirm, pictures, preferences, subscribe, unsubscribe

urlpatterns: list[URLPattern | URLResolver] = [
    path("live", health.live),
    path("ready", health.ready),
    path("metrics", health.metrics),
    path("pictures/<str:name>", pictures.show),
    path("unsubscribe", unsubscribe.show, name="unsubscribe"),
    path("unsubscribe/undo", unsubscribe.undo, name="undo"),
    path("preferences", preferences.show, name="preferences"),
    path("subscribe/<str:workspace>/<str:list_key>", subscribe.show, name="subscribe"),
    path("confirm", confirm.show, name="confirm"),
    path("v1/openapi.json", openapi.document),
    path("v1/", api.urls),
    path("send-mailout", mailout_api.urls),
]
