"""The pages of campaigns: all of them, the editor, a run and its steps."""

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.pages.campaigns import (
    draft_delete,
    editor,
    editor_checks,
    editor_limits,
    editor_pictures,
    editor_preview,
    launch,
    listing,
    run,
    run_steps,
)
from postledger.web.dashboard.routes import page

_EDIT = "campaigns/<number:campaign_id>/edit"
_RUN = "campaigns/runs/<uuid:run_id>"

PAGES = [
    page("campaigns/", listing.show, Permission.READ, name="campaigns"),
    page("campaigns/new/", editor.create, Permission.RUN_CAMPAIGNS, name="new_campaign"),
    page(
        "campaigns/<number:campaign_id>/duplicate/",
        editor.duplicate,
        Permission.RUN_CAMPAIGNS,
        name="campaign_duplicate",
    ),
    page(
        f"{_EDIT}/",
        editor.edit,
        Permission.RUN_CAMPAIGNS,
        name="campaign_edit",
        too_large=editor_limits.refuse_draft,
    ),
    page(f"{_EDIT}/checks/", editor_checks.show, Permission.RUN_CAMPAIGNS, name="campaign_checks"),
    page(
        f"{_EDIT}/links/", editor_checks.show_links, Permission.RUN_CAMPAIGNS, name="campaign_links"
    ),
    page(
        f"{_EDIT}/audience/",
        editor_checks.show_audience,
        Permission.RUN_CAMPAIGNS,
        name="campaign_audience",
    ),
    page(
        f"{_EDIT}/preview/", editor_preview.show, Permission.RUN_CAMPAIGNS, name="campaign_preview"
    ),
    page(
        f"{_EDIT}/readers/",
        editor_preview.suggest_readers,
        Permission.RUN_CAMPAIGNS,
        name="campaign_readers",
    ),
    page(
        f"{_EDIT}/letter/",
        editor_preview.show_letter,
        Permission.RUN_CAMPAIGNS,
        name="campaign_letter",
    ),
    page(
        f"{_EDIT}/picture/",
        editor_pictures.upload,
        Permission.RUN_CAMPAIGNS,
        name="campaign_picture",
        too_large=editor_pictures.refuse_large,
    ),
    page(f"{_EDIT}/delete/", draft_delete.delete, Permission.RUN_CAMPAIGNS, name="campaign_delete"),
    page(f"{_EDIT}/test/", editor_checks.test, Permission.RUN_CAMPAIGNS, name="campaign_test"),
    page(f"{_EDIT}/launch/", launch.launch, Permission.RUN_CAMPAIGNS, name="campaign_launch"),
    page("campaigns/<number:campaign_id>/", run.show_campaign, Permission.READ, name="campaign"),
    page(f"{_RUN}/", run.show_run, Permission.READ, name="run"),
    page(f"{_RUN}/live/", run.refresh_run, Permission.READ, name="run_live"),
    page(f"{_RUN}/unsubscribed/", run.show_leavers, Permission.READ, name="run_leavers"),
    page(f"{_RUN}/report.csv", run.download_report, Permission.MANAGE_CONTACTS, name="run_report"),
    page(f"{_RUN}/pause/", run_steps.pause, Permission.RUN_CAMPAIGNS, name="run_pause"),
    page(f"{_RUN}/resume/", run_steps.resume, Permission.RUN_CAMPAIGNS, name="run_resume"),
    page(f"{_RUN}/cancel/", run_steps.cancel, Permission.RUN_CAMPAIGNS, name="run_cancel"),
    page(f"{_RUN}/retry/", run_steps.retry, Permission.RUN_CAMPAIGNS, name="run_retry"),
    page(
        f"{_RUN}/remaining/",
        run_steps.send_remaining,
        Permission.RUN_CAMPAIGNS,
        name="run_remaining",
    ),
    page(f"{_RUN}/close/", run_steps.close, Permission.RUN_CAMPAIGNS, name="run_close"),
]
