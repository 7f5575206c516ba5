"""Connects what a provider reports: says what is made there, makes it, and tells each step."""

import json
import shlex
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from postledger.accounts import queries, sealing
from postledger.accounts.models import ProviderAccount, Sender
from postledger.accounts.people import first_run
from postledger.feedback import event_flow
from postledger.lib.secrets import UnsealableError
from postledger.providers.ses import policy
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.parameters import read_text
from postledger.web.dashboard.senders import dns_words, report_steps
from postledger.web.dashboard.senders.report_steps import Outcome, ShownStep
from postledger.web.shared import throttle
from postledger.web.shared.sentences import translate
from postledger.web.shared.throttle import RateExceededError

_BY_URL = "url"
_BY_QUEUE = "queue"  # which SES alone has


@require_http_methods(["GET", "HEAD", "POST"])
def connect(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    sender = queries.get_sender(visitor.workspace.pk, sender_id)
    account = sender.account
    if account is None or account.kind not in report_steps.PATHS:
        raise Http404
    is_by_url = account.kind != report_steps.SES or read_text(request.POST, "way") == _BY_URL
    url = _write_url(account) if is_by_url else ""
    trouble = _find_trouble(visitor, account, is_by_url=is_by_url)
    steps = report_steps.list_plan(account.kind, has_queue=not is_by_url)
    if request.method == "POST" and not trouble:
        trouble = _count_visit(visitor)
    is_tried = request.method == "POST" and not trouble
    if is_tried:
        steps = report_steps.set_up_reports(
            visitor.workspace, account, url=url, actor=visitor.actor
        )
    has_failed = any(step.outcome is Outcome.FAILED for step in steps)
    context = {
        **_describe(visitor, sender, account, steps),
        "is_by_url": is_by_url,
        "is_tried": is_tried,
        "has_failed": has_failed,
        "is_waiting": any(step.outcome is Outcome.WAITING for step in steps),
        "trouble": trouble,
    }
    is_refused = request.method == "POST" and (has_failed or trouble)
    template = "dashboard/senders/reports.html"
    return render_page(request, visitor, template, context, status=422 if is_refused else 200)


def _describe(
    visitor: Visitor, sender: Sender, account: ProviderAccount, steps: list[ShownStep]
) -> dict[str, Any]:
    is_ses = account.kind == report_steps.SES
    return {
        "sender": sender,
        "provider": dns_words.name_provider(sender),
        "steps": steps,
        "url": _write_url(account),
        "is_ses": is_ses,
        "is_connected": event_flow.list_reporting_senders().filter(pk=sender.pk).exists(),
        "commands": write_commands(visitor.workspace.name, account),
        "policy": _write_policy(account) if is_ses else "",
    }


def _write_url(account: ProviderAccount) -> str:
    """Where this installation takes the posts; empty if it does not know its own address."""
    base = settings.PUBLIC_URL.rstrip("/")
    return f"{base}{report_steps.PATHS[account.kind]}" if base else ""


def _find_trouble(visitor: Visitor, account: ProviderAccount, *, is_by_url: bool) -> str:
    """Why it cannot be set up from here; empty if it can."""
    if is_by_url and not settings.PUBLIC_URL:
        return _(
            "This installation does not know the address at which it is reached. Its operator sets"
            " PUBLIC_URL, as https://mail.example.com, and starts it again."
        )
    try:
        stored = sealing.unseal_settings(account)
    except UnsealableError as refused:
        return translate(refused)
    uses_machine = account.kind == report_steps.SES and not stored.get("access_key_id")
    if uses_machine and not first_run.is_operator(visitor.member):
        return _(
            "This account uses the credentials of the server, with which only its operator sets"
            " anything up. Ask them to run the command below."
        )
    return ""


def _count_visit(visitor: Visitor) -> str:
    try:
        throttle.count_visit(settings.PROVIDER_CHECKS_OF_ONE, "reports", str(visitor.workspace.pk))
    except RateExceededError as exceeded:
        return throttle.describe_wait(_("Too many checks."), exceeded.retry_after)
    return ""


def write_commands(workspace: str, account: ProviderAccount) -> dict[str, str]:
    """The command that does the same on the server, for each way in which reports may come."""
    words = ["postledger", account.kind, "connect", workspace, account.name, "--create"]
    url = _write_url(account) or f"https://HOST{report_steps.PATHS[account.kind]}"
    by_url = {_BY_URL: shlex.join([*words, "--url", url])}
    return {_BY_QUEUE: shlex.join(words), **by_url} if account.kind == report_steps.SES else by_url


def _write_policy(account: ProviderAccount) -> str:
    """Empty if nobody can read which region and configuration set it is for."""
    try:
        stored = sealing.unseal_settings(account)
    except UnsealableError:
        return ""
    document = policy.write_policy(
        str(stored.get("region", "")),
        identities=(),
        configuration_set=str(stored.get("configuration_set", "")),
    )
    return json.dumps(document, indent=2)
