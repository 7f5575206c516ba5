"""From the owner to the first email: connect a provider, mail yourself, see what is left."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from postledger.accounts import queries
from postledger.accounts.people.roles import Permission
from postledger.deliveries import sender_setup, transactional_mail
from postledger.deliveries.states import State
from postledger.deliveries.transactional_mail import MailDetails
from postledger.lib.errors import RefusedError
from postledger.lib.ids import DeliveryId
from postledger.providers import registry
from postledger.transactional import own_letters
from postledger.transactional.own_letters import NoLetterSenderError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.first_steps import connecting, steps
from postledger.web.dashboard.first_steps.checklist import build_checklist
from postledger.web.dashboard.first_steps.connecting import Attempt
from postledger.web.shared import languages, requests
from postledger.web.shared.sentences import translate

_NOBODY = "hello@example.com"  # the sandbox needs no real address


@require_safe
def show_checklist(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    return _render(request, visitor, "dashboard/start.html", "checklist", {})


@require_http_methods(["GET", "HEAD", "POST"])
def connect_provider(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    if "sandbox" in request.POST:
        return _begin_with_sandbox(request, visitor)
    address = _find_address(visitor)
    attempt = connecting.try_to_connect(request, visitor, address, replaces_sandbox=True)
    if attempt.sender is not None:
        connecting.tell_success(request, attempt.sender)
        return redirect("start_email", visitor.workspace.pk)
    return _show_provider(request, visitor, attempt, status=422 if attempt.form.errors else 200)


def _find_address(visitor: Visitor) -> str:
    default = queries.default_sender(visitor.workspace.pk)
    return default.address if default else ""


def _show_provider(
    request: HttpRequest, visitor: Visitor, attempt: Attempt, *, status: int, trouble: str = ""
) -> HttpResponse:
    context = {
        **attempt.describe(),
        "connected": steps.list_connected(visitor.workspace.pk),
        "trouble": trouble,
    }
    return _render(
        request, visitor, "dashboard/start_provider.html", "provider", context, status=status
    )


def _begin_with_sandbox(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    try:
        _use_sandbox(visitor)
    except RefusedError as error:  # its account or its sender was archived
        attempt = Attempt(connecting.make_form(_find_address(visitor)))
        trouble = translate(error)
        return _show_provider(request, visitor, attempt, status=409, trouble=trouble)
    return redirect("start_email", visitor.workspace.pk)


def _use_sandbox(visitor: Visitor) -> None:
    """A sender that the operator created keeps its address."""
    if steps.list_usable(visitor.workspace.pk):
        return
    sender = queries.default_sender(visitor.workspace.pk)
    sender_setup.connect_sender(
        visitor.workspace.pk,
        kind=registry.SANDBOX,
        settings={},
        address=sender.address if sender else _NOBODY,
        actor=visitor.actor,
    )


@require_http_methods(["GET", "HEAD", "POST"])
def send_email(request: HttpRequest, visitor: Visitor) -> HttpResponse:
    usable = steps.list_usable(visitor.workspace.pk)
    if not usable:
        return redirect("start_provider", visitor.workspace.pk)
    context: dict[str, Any] = {"sender": usable[0]}
    if request.method == "POST":
        try:
            return redirect("start_sent", visitor.workspace.pk, _send(request, visitor))
        except NoLetterSenderError:
            context["trouble"] = _(
                "No sender of this workspace can send now. Needs attention shows which one is held,"
                " and why."
            )
    return _render(request, visitor, "dashboard/start_email.html", "email", context)


def _send(request: HttpRequest, visitor: Visitor) -> str:
    """Mails the person who asks, and nobody else; returns the id of the mail."""
    path = reverse("overview", args=[visitor.workspace.pk])
    base_url = settings.PUBLIC_URL.rstrip("/")
    return own_letters.send_letter(
        visitor.workspace.pk,
        to=visitor.user.email,
        subject=_("Your first email from Postledger"),
        paragraphs=[
            _("If you read this, your provider took it and delivered it."),
            _("Its row in the ledger says the same: planned, handed over once, accepted."),
        ],
        link_url=base_url + path if base_url else request.build_absolute_uri(path),
        link_title=_("See the books"),
        secret_until=None,
        language=languages.choose(request),
        request_id=requests.id_of(request),
        now=datetime.now(UTC),
    )


@require_safe
def follow_email(request: HttpRequest, visitor: Visitor, email_id: UUID) -> HttpResponse:
    """The state of the mail; asked by htmx, the part that changes."""
    id_ = DeliveryId.parse(email_id)
    now = datetime.now(UTC)
    details = transactional_mail.find_mail(visitor.workspace.pk, id_, now=now) if id_ else None
    if details is None:
        raise Http404
    context: dict[str, Any] = {
        "mail": details.facts,
        "waiting": details.waiting,
        "is_moving": details.facts.state is State.WAITING,
        "is_sandbox": _is_sandbox(visitor, details),
        "url": request.path,
    }
    if "HX-Request" in request.headers:
        part = "dashboard/components/first_email.html"
        return _render(request, visitor, part, "email", {**context, "is_part": True})
    return _render(request, visitor, "dashboard/start_sent.html", "email", context)


def _is_sandbox(visitor: Visitor, details: MailDetails) -> bool:
    sender = queries.sender_by_address(visitor.workspace.pk, address=details.facts.sender)
    return sender is not None and not sender_setup.reaches_people(sender)


def _render(  # noqa: PLR0913  the parts of a page of the first run
    request: HttpRequest,
    visitor: Visitor,
    template: str,
    step: steps.StepName,
    context: dict[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    values = {
        **context,
        "workspace": visitor.workspace,
        "is_onlooker": not visitor.may(Permission.SET_UP),
        "steps": steps.list_steps(step, visitor.workspace.pk),
        "checklist": build_checklist(visitor),
    }
    return render(request, template, values, status=status)
