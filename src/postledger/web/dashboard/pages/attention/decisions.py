"""What a person decides on the pages of attention; each decision is audited by its action."""

from collections.abc import Callable
from datetime import datetime
from itertools import chain

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from postledger.accounts import provider_accounts, sender_checks
from postledger.campaigns.runs import requeueing
from postledger.deliveries.attention import dead_letters, deciding, doubts, holds
from postledger.deliveries.attention.dead_letters import Cause
from postledger.deliveries.attention.deciding import Decided
from postledger.deliveries.entries import AttemptOutcome, Decision
from postledger.lib import sentences
from postledger.lib.check_results import Level
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.lib.ids import DeliveryId
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.parameters import read_text
from postledger.web.shared.sentences import translate

_DEAD_LETTER_ACTIONS = {"requeue": requeueing.REQUEUE, "discard": dead_letters.DISCARD}


class _FormError(RefusedError):
    code = "form_incomplete"


class _SenderFailsError(RefusedError):
    code = "sender_fails"


@require_POST
def decide_doubts(request: HttpRequest, visitor: Visitor) -> HttpResponseBase:
    """Ends a group of doubts, or those that were ticked."""

    def decide() -> str:
        decision = _read_decision(request.POST)
        if "id" in request.POST:
            decided = doubts.resolve_doubts(
                visitor.workspace.pk,
                _read_ids(request.POST),
                decision=decision,
                actor=visitor.actor,
            )
        else:
            decided = doubts.resolve_group(
                visitor.workspace.pk,
                int(request.POST["stream"]),
                outcome=AttemptOutcome(request.POST["outcome"]),
                until=datetime.fromisoformat(request.POST["seen_at"]),
                decision=decision,
                actor=visitor.actor,
            )
        return _describe(decided, _say_decided)

    return _answer(request, visitor, decide)


@require_POST
def decide_dead_letters(request: HttpRequest, visitor: Visitor) -> HttpResponseBase:
    """Requeues or discards the dead letters of a cause that the page showed, or those that were
    ticked.
    """
    workspace_id, actor = visitor.workspace.pk, visitor.actor

    def decide() -> str:
        action = _DEAD_LETTER_ACTIONS[request.POST["action"]]
        say = _say_requeued if action is requeueing.REQUEUE else _say_discarded
        if "id" in request.POST:
            ids = _read_ids(request.POST)
            return _describe(deciding.decide_mails(action, workspace_id, ids, actor=actor), say)
        cause = Cause(
            code=read_text(request.POST, "code"),
            outcome=AttemptOutcome(request.POST["outcome"]),
            until=datetime.fromisoformat(request.POST["seen_at"]),
        )
        return _describe(dead_letters.decide_cause(action, workspace_id, cause, actor=actor), say)

    return _answer(request, visitor, decide)


@require_POST
def release_sender(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponseBase:
    def release() -> str:
        is_released = holds.release_sender(visitor.workspace.pk, sender_id, actor=visitor.actor)
        return _("Released. Its mail goes on now.") if is_released else _("It was not held.")

    return _answer(request, visitor, release, sender_id=sender_id)


@require_POST
def test_sender(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponseBase:
    """Asks the provider whether it would take mail of the sender; sends nothing."""

    def test() -> str:
        findings = sender_checks.check_sender(visitor.workspace.pk, sender_id)
        problems = [finding for finding in findings if finding.level is Level.PROBLEM]
        if problems:
            told = ((finding.message, finding.remedy) for finding in problems)
            raise _SenderFailsError(sentences.join(chain.from_iterable(told)))
        provider_accounts.note_answer(sender_id)
        return _("The provider would take its mail.")

    return _answer(request, visitor, test, sender_id=sender_id)


@require_POST
def release_stream(request: HttpRequest, visitor: Visitor, stream_id: int) -> HttpResponseBase:
    def release() -> str:
        is_released = holds.release_stream(visitor.workspace.pk, stream_id, actor=visitor.actor)
        return _("Released. Its mail goes on now.") if is_released else _("It was not held.")

    return _answer(request, visitor, release)


def _answer(
    request: HttpRequest,
    visitor: Visitor,
    decide: Callable[[], str],
    *,
    sender_id: int | None = None,
) -> HttpResponseBase:
    """Says what became of a decision, over what is left to decide, or on the sender's own page."""
    try:
        messages.success(request, decide())
    except NotFoundError:
        raise Http404 from None
    except RefusedError as refused:
        messages.error(request, translate(refused))
    except (KeyError, ValueError):
        messages.error(request, _("The form was incomplete, so nothing changed. Try again."))
    response: HttpResponse = redirect("attention", visitor.workspace.pk)
    if sender_id is not None and request.POST.get("back") == "sender":
        response = redirect("sender", visitor.workspace.pk, sender_id)
    return response


def _read_decision(form: QueryDict) -> Decision:
    decision = form.get("decision")
    if decision is None:
        raise _FormError(_("Choose what became of them first. Nothing changed."))
    return Decision(decision)


def _read_ids(form: QueryDict) -> list[DeliveryId]:
    ids = [DeliveryId.read(text) for text in form.getlist("id")]
    if None in ids:
        raise ValueError
    return [id_ for id_ in ids if id_ is not None]


def _say_decided(count: int) -> str:
    return ngettext("Decided for %(count)d email.", "Decided for %(count)d emails.", count)


def _say_requeued(count: int) -> str:
    return ngettext(
        "%(count)d email will be tried again.", "%(count)d emails will be tried again.", count
    )


def _say_discarded(count: int) -> str:
    return ngettext(
        "%(count)d email is discarded, and stays failed.",
        "%(count)d emails are discarded, and stay failed.",
        count,
    )


def _describe(decided: Decided, say: Callable[[int], str]) -> str:
    parts = [say(decided.count) % {"count": decided.count}]
    for reason, count in decided.unchanged.items():
        unchanged = ngettext(
            "%(count)d stays as it is: %(reason)s.",
            "%(count)d stay as they are: %(reason)s.",
            count,
        )
        parts.append(unchanged % {"count": count, "reason": reason})
    if decided.left:
        left = ngettext("%(count)d is left.", "%(count)d are left.", decided.left)
        parts.append(left % {"count": decided.left})
    return " ".join(parts)
