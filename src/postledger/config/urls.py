"""Every URL of this installation."""

from django.urls import URLPattern, URLResolver, include, path

from postledger.web import health
from postledger.web.api import openapi
from postledger.web.api.api import OUTSIDE, api
from postledger.web.api.docs.views import docs_page
from postledger.web.api.mail_jobs.routes import serve_schema
from postledger.web.hooks import sendgrid, ses
from postledger.web.public.confirm import confirm_page, never_page
from postledger.web.public.pages import serve_picture
from postledger.web.public.preferences import preferences_page
from postledger.web.public.subscribe import subscribe_page
from postledger.web.public.unsubscribe import undo_page, unsubscribe_page

urlpatterns: list[URLPattern | URLResolver] = [
    # The busiest first: Django tries one after another.
    path("ses-events", ses.receive_events),
    path("sendgrid-events/<int:account_id>", sendgrid.receive_events),
    path("v1/openapi.json", openapi.serve_document),
    path("v1/", api.urls),
    path("schemas/mail_job/<str:version>", serve_schema),
    *(path(route, part.urls) for route, part in OUTSIDE.items()),
    path("", include("postledger.web.dashboard.urls")),
    path("docs", docs_page),
    path("ready", health.ready),
    path("metrics", health.metrics),
    path("pictures/<str:name>", serve_picture, name="picture"),
    path("unsubscribe", unsubscribe_page, name="unsubscribe"),
    path("unsubscribe/undo", undo_page, name="undo"),
    path("preferences", preferences_page, name="preferences"),
    path("subscribe/<str:workspace>/<str:list_key>", subscribe_page, name="subscribe"),
    path("subscribe/<str:workspace>/<str:list_key>/", subscribe_page),  # as people type it
    path("confirm", confirm_page, name="confirm"),
    path("never-again", never_page, name="never"),
]

handler403 = "postledger.web.dashboard.refusals.forbidden"
handler404 = "postledger.web.dashboard.refusals.not_found"
handler429 = "postledger.web.dashboard.sign_in.refusals.too_many_attempts"  # allauth's
handler500 = "postledger.web.dashboard.refusals.server_fault"
