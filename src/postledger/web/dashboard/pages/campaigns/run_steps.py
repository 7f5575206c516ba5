"""The steps of a run: pause and resume happen at once, the others ask first.

Each is the action of the API, with the member as its actor.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from postledger.campaigns.drafts import drafts
from postledger.campaigns.launches import launching
from postledger.campaigns.runs import progress, retry_outlook, run_control, run_steps
from postledger.campaigns.runs.run_lookup import find_run
from postledger.campaigns.runs.run_steps import Obstacle, Step
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.web.dashboard import formats, typed_numbers
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components.finding_words import describe_refusal
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.parameters import read_text
from postledger.web.dashboard.runs import questions, rows, steps, words

_CODE_LENGTH = 200


def pause(request: HttpRequest, visitor: Visitor, run_id: UUID) -> HttpResponse:
    def act() -> str:
        run_control.pause_run(visitor.workspace.pk, run_id, actor=visitor.actor)
        return _("Paused. What is with the provider at this moment may still go.")

    return _do(request, visitor, run_id, act)


def resume(request: HttpRequest, visitor: Visitor, run_id: UUID) -> HttpResponse:
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    workspace_id = visitor.workspace.pk
    try:
        is_resumed = run_control.resume_run(workspace_id, run_id, actor=visitor.actor)
    except RefusedError as error:
        return _refuse(request, visitor, run_id, error)
    run = progress.find_progress(workspace_id, run_id, now=datetime.now(UTC))
    level = messages.SUCCESS if is_resumed else messages.ERROR
    messages.add_message(request, level, str(words.describe_resume(run, is_resumed=is_resumed)))
    return redirect("run", workspace_id, run_id)


def cancel(request: HttpRequest, visitor: Visitor, run_id: UUID) -> HttpResponse:
    def act() -> str:
        run_control.cancel_run(visitor.workspace.pk, run_id, actor=visitor.actor)
        return _("Cancelled. What waited does not go any more.")

    typed, shown = (request.POST.get(name, "") for name in ("typed", "shown"))
    is_answered = request.method == "POST" and typed_numbers.is_same(typed, shown)
    if not is_answered or _asks_anew(visitor, run_id, shown):
        return _ask(request, visitor, run_id, Step.CANCEL)
    if "change" in request.POST:
        return _change_copy(request, visitor, run_id)
    return _do(request, visitor, run_id, act)


def _asks_anew(visitor: Visitor, run_id: UUID, shown: str) -> bool:
    """Whether the question is another one now: nothing waits any more, or so much more that its
    number has to be typed. `shown` is the number that the person was asked for.
    """
    run = progress.find_progress(visitor.workspace.pk, run_id, now=datetime.now(UTC))
    obstacle = run_steps.find_obstacle(Step.CANCEL, run, retry_outlook.NOTHING_FAILED)
    has_grown = obstacle is None and not shown and run.waiting >= questions.LARGE
    return has_grown or obstacle is Obstacle.NOTHING_WAITS


def _change_copy(request: HttpRequest, visitor: Visitor, run_id: UUID) -> HttpResponse:
    """Cancels a scheduled run and opens a draft like it.

    There is no draft if the first mail was due before the run was cancelled, or if previous runs
    have mailed somebody: a launch of the draft would mail them again. A second click makes none.
    """
    workspace_id = visitor.workspace.pk
    try:
        is_first = run_control.cancel_run(workspace_id, run_id, actor=visitor.actor)
        now = datetime.now(UTC)
        run = progress.find_progress(workspace_id, run_id, now=now)
        if not is_first or not rows.can_be_replaced(run, now):
            return _say_not_copied(request, visitor, run_id, is_first=is_first)
        name = drafts.name_campaign(workspace_id, run.campaign_id)
        copied = drafts.copy_campaign(
            workspace_id, run.campaign_id, name=name, actor=visitor.actor, now=now
        )
    except RefusedError as error:
        return _refuse(request, visitor, run_id, error)
    sentence = _("Cancelled before anything went. This is a copy: change it, and launch it again.")
    messages.success(request, sentence)
    return redirect("campaign_edit", workspace_id, copied)


def _say_not_copied(
    request: HttpRequest, visitor: Visitor, run_id: UUID, *, is_first: bool
) -> HttpResponse:
    begun = _(
        "Cancelled, and not copied: it had begun, and a copy could reach somebody twice. “Send to"
        " the rest” goes to those who did not get it."
    )
    repeated = _(
        "It was cancelled already, so no copy was made now. If one was made before, it is among"
        " the campaigns."
    )
    messages.warning(request, begun if is_first else repeated)
    return redirect("run", visitor.workspace.pk, run_id)


def retry(request: HttpRequest, visitor: Visitor, run_id: UUID) -> HttpResponse:
    code = read_text(request.POST or request.GET, "code")[:_CODE_LENGTH] or None

    def act() -> str:
        retried = run_control.retry_failed(
            visitor.workspace.pk, run_id, code=code, actor=visitor.actor
        )
        sentence = ngettext(
            "%(number)s failed email is tried again.",
            "%(number)s failed emails are tried again.",
            retried.requeued,
        ) % {"number": formats.count(retried.requeued)}
        return " ".join([sentence, *questions.describe_stopped(retried.stopped)])

    if request.method == "POST":
        return _do(request, visitor, run_id, act)
    return _ask(request, visitor, run_id, Step.RETRY, code)


def send_remaining(request: HttpRequest, visitor: Visitor, run_id: UUID) -> HttpResponse:
    if request.method != "POST":
        return _ask(request, visitor, run_id, Step.SEND_REMAINING)
    try:
        launched = launching.launch_remaining(
            visitor.workspace.pk,
            run_id,
            actor=visitor.actor,
            member_id=visitor.member.pk,
            now=datetime.now(UTC),
        )
    except RefusedError as error:
        return _refuse(request, visitor, run_id, error)
    messages.success(request, _("A new run sends it to the rest."))
    return redirect("run", visitor.workspace.pk, launched)


def close(request: HttpRequest, visitor: Visitor, run_id: UUID) -> HttpResponse:
    def act() -> str:
        now = datetime.now(UTC)
        run_control.close_run(visitor.workspace.pk, run_id, actor=visitor.actor, now=now)
        return _("Closed. Its failures stay in the books.")

    if request.method == "POST":
        return _do(request, visitor, run_id, act)
    return _ask(request, visitor, run_id, Step.CLOSE)


def _do(
    request: HttpRequest, visitor: Visitor, run_id: UUID, act: Callable[[], str]
) -> HttpResponse:
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        messages.success(request, act())
    except RefusedError as error:
        return _refuse(request, visitor, run_id, error)
    return redirect("run", visitor.workspace.pk, run_id)


def _refuse(
    request: HttpRequest, visitor: Visitor, run_id: UUID, error: RefusedError
) -> HttpResponse:
    """A run may have moved since the page was read: the refusal says how."""
    if isinstance(error, NotFoundError):
        raise error
    messages.error(request, describe_refusal(error))
    return redirect("run", visitor.workspace.pk, run_id)


def _ask(
    request: HttpRequest, visitor: Visitor, run_id: UUID, step: Step, code: str | None = None
) -> HttpResponse:
    """The page that says what the step costs, before it is taken."""
    now = datetime.now(UTC)
    run = progress.find_progress(visitor.workspace.pk, run_id, now=now)
    retry = retry_outlook.NOTHING_FAILED
    if step is Step.RETRY:
        retry = retry_outlook.read_outlook(find_run(visitor.workspace.pk, run_id), code=code)
    elif step is Step.SEND_REMAINING:
        retry = retry_outlook.read_unreached(find_run(visitor.workspace.pk, run_id))
    reason = steps.find_reason(visitor, run, retry, step)
    if reason:
        messages.warning(request, str(reason))
        return redirect("run", visitor.workspace.pk, run_id)
    question = questions.make_question(visitor.workspace.pk, run, step, retry, code=code, now=now)
    values: dict[str, Any] = {"title": question.heading, "question": question, "run": run}
    is_wrong = bool(request.POST.get("shown"))  # only a number can be wrong
    return render_page(
        request,
        visitor,
        "dashboard/run_question.html",
        {**values, "is_wrong": is_wrong},
        status=422 if is_wrong else 200,
    )
