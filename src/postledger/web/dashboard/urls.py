"""Every page of the dashboard, each with the permission that it needs."""

from typing import Any

from django.urls import URLPattern, URLResolver, include, path, register_converter

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.access import Page, member_page
from postledger.web.dashboard.pages import (
    attention,
    campaigns,
    decisions,
    editor,
    editor_checks,
    editor_preview,
    first_run,
    home,
    join,
    members,
    message,
    messages,
    overview,
    run,
    run_steps,
    security,
    start,
    topics,
)
from postledger.web.dashboard.parameters import NumberConverter

register_converter(NumberConverter, "number")


def page(route: str, view: Page[Any], permission: Permission, *, name: str) -> URLPattern:
    """A page of a workspace, for its members who have the permission."""
    return path(f"w/<number:workspace_id>/{route}", member_page(view, permission), name=name)


READ, DECIDE = Permission.READ, Permission.DECIDE
RUN_CAMPAIGNS, MANAGE_MEMBERS = Permission.RUN_CAMPAIGNS, Permission.MANAGE_MEMBERS
SET_UP = Permission.SET_UP

_EDIT = "campaigns/<number:campaign_id>/edit"
_RUN = "campaigns/runs/<uuid:run_id>"
_WORKSPACE_PAGES = [
    page("", overview.show, READ, name="overview"),
    page("live/", overview.refresh, READ, name="overview_live"),
    page("attention/", attention.show, READ, name="attention"),
    page("attention/number/", attention.show_number, READ, name="attention_number"),
    page("attention/doubts/", attention.show_doubts, READ, name="doubts"),
    page("attention/doubts/decide/", decisions.decide_doubts, DECIDE, name="decide_doubts"),
    page("attention/dead-letters/", attention.show_dead_letters, READ, name="dead_letters"),
    page(
        "attention/dead-letters/decide/",
        decisions.decide_dead_letters,
        DECIDE,
        name="decide_dead_letters",
    ),
    page(
        "attention/senders/<number:sender_id>/release/",
        decisions.release_sender,
        DECIDE,
        name="release_sender",
    ),
    page(
        "attention/senders/<number:sender_id>/test/",
        decisions.test_sender,
        DECIDE,
        name="test_sender",
    ),
    page(
        "attention/streams/<number:stream_id>/release/",
        decisions.release_stream,
        DECIDE,
        name="release_stream",
    ),
    page("attention/alerts/", attention.show_alerts, READ, name="alerts"),
    page("campaigns/", campaigns.show, READ, name="campaigns"),
    page("campaigns/new/", editor.create, RUN_CAMPAIGNS, name="new_campaign"),
    page(
        "campaigns/<number:campaign_id>/duplicate/",
        editor.duplicate,
        RUN_CAMPAIGNS,
        name="campaign_duplicate",
    ),
    page(f"{_EDIT}/", editor.edit, RUN_CAMPAIGNS, name="campaign_edit"),
    page(f"{_EDIT}/checks/", editor_checks.show, RUN_CAMPAIGNS, name="campaign_checks"),
    page(
        f"{_EDIT}/audience/", editor_checks.show_audience, RUN_CAMPAIGNS, name="campaign_audience"
    ),
    page(f"{_EDIT}/preview/", editor_preview.show, RUN_CAMPAIGNS, name="campaign_preview"),
    page(f"{_EDIT}/letter/", editor_preview.show_letter, RUN_CAMPAIGNS, name="campaign_letter"),
    page(f"{_EDIT}/test/", editor_checks.send_test, RUN_CAMPAIGNS, name="campaign_test"),
    page(f"{_EDIT}/launch/", editor_checks.launch, RUN_CAMPAIGNS, name="campaign_launch"),
    page("campaigns/<number:campaign_id>/", run.show_campaign, READ, name="campaign"),
    page(f"{_RUN}/", run.show_run, READ, name="run"),
    page(f"{_RUN}/live/", run.refresh_run, READ, name="run_live"),
    page(f"{_RUN}/report.csv", run.download_report, READ, name="run_report"),
    page(f"{_RUN}/pause/", run_steps.pause, RUN_CAMPAIGNS, name="run_pause"),
    page(f"{_RUN}/resume/", run_steps.resume, RUN_CAMPAIGNS, name="run_resume"),
    page(f"{_RUN}/cancel/", run_steps.cancel, RUN_CAMPAIGNS, name="run_cancel"),
    page(f"{_RUN}/retry/", run_steps.retry, RUN_CAMPAIGNS, name="run_retry"),
    page(f"{_RUN}/remaining/", run_steps.send_remaining, RUN_CAMPAIGNS, name="run_remaining"),
    page(f"{_RUN}/close/", run_steps.close, RUN_CAMPAIGNS, name="run_close"),
    page("messages/", messages.show, READ, name="messages"),
    page("messages/<uuid:mail_id>/", message.show, READ, name="message"),
    page("messages/<uuid:mail_id>/letter/", message.show_letter, READ, name="message_letter"),
    page("messages/<uuid:mail_id>/requeue/", message.requeue, DECIDE, name="message_requeue"),
    page("topics/", topics.show, READ, name="topics"),
    page("topics/<slug:key>/", topics.show_topic, READ, name="topic"),
    page(
        "topics/<slug:key>/subscriptions/",
        topics.show_subscriptions,
        READ,
        name="topic_subscriptions",
    ),
    page("topics/<slug:key>/events/<number:event_id>/", topics.show_event, READ, name="event"),
    page("members/", members.show, MANAGE_MEMBERS, name="members"),
    page("members/invite/", members.invite, MANAGE_MEMBERS, name="invite_member"),
    page("members/<number:member_id>/", members.change, MANAGE_MEMBERS, name="member"),
    page(
        "members/<number:member_id>/invite/",
        members.invite_again,
        MANAGE_MEMBERS,
        name="invite_again",
    ),
    page(
        "members/<number:member_id>/remove/", members.remove, MANAGE_MEMBERS, name="remove_member"
    ),
    page("start/", start.show_checklist, READ, name="start"),
    page("start/provider/", start.connect_provider, SET_UP, name="start_provider"),
    page("start/email/", start.send_email, SET_UP, name="start_email"),
    page("start/email/<uuid:email_id>/", start.follow_email, SET_UP, name="start_sent"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home_page, name="home"),
    path("first-run", first_run.first_run_page, name="first_run"),
    path("join/<str:token>", join.join_page, name="join"),
    path("account/", include("postledger.web.dashboard.sign_in.urls")),
    path("account/security/", security.security_page, name="security"),
    *_WORKSPACE_PAGES,
]
