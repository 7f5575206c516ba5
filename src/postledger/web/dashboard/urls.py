"""Every page of the dashboard, each with the permission that it needs."""

from django.urls import URLPattern, URLResolver, include, path

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.pages import overview, start, topics
from postledger.web.dashboard.pages.account import address, first_run, home, join, security
from postledger.web.dashboard.pages.attention import urls as attention
from postledger.web.dashboard.pages.audience import urls as audience
from postledger.web.dashboard.pages.campaigns import urls as campaigns
from postledger.web.dashboard.pages.content import urls as content
from postledger.web.dashboard.pages.developers import urls as developers
from postledger.web.dashboard.pages.messages import urls as messages
from postledger.web.dashboard.pages.senders import urls as senders
from postledger.web.dashboard.pages.settings import urls as settings
from postledger.web.dashboard.routes import page
from postledger.web.dashboard.sign_in.refusals import counted

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home_page, name="home"),
    path("first-run", first_run.first_run_page, name="first_run"),
    path("join/<str:token>", join.join_page, name="join"),
    path("account/", include("postledger.web.dashboard.sign_in.urls")),
    path("account/security/", security.security_page, name="security"),
    path("account/address/", counted(address.change_page), name="change_address"),
    path("account/address/<str:token>/", address.link_page, name="address_link"),
    page("", overview.show, Permission.READ, name="overview"),
    page("live/", overview.refresh, Permission.READ, name="overview_live"),
    page("topics/", topics.show, Permission.READ, name="topics"),
    page("topics/<slug:key>/", topics.show_topic, Permission.READ, name="topic"),
    page(
        "topics/<slug:key>/subscriptions/",
        topics.show_subscriptions,
        Permission.READ,
        name="topic_subscriptions",
    ),
    page(
        "topics/<slug:key>/events/<number:event_id>/",
        topics.show_event,
        Permission.READ,
        name="event",
    ),
    page("start/", start.show_checklist, Permission.READ, name="start"),
    page("start/provider/", start.connect_provider, Permission.SET_UP, name="start_provider"),
    page("start/email/", start.send_email, Permission.SET_UP, name="start_email"),
    page("start/email/<uuid:email_id>/", start.follow_email, Permission.SET_UP, name="start_sent"),
    *attention.PAGES,
    *audience.PAGES,
    *campaigns.PAGES,
    *content.PAGES,
    *developers.PAGES,
    *messages.PAGES,
    *senders.PAGES,
    *settings.PAGES,
]
