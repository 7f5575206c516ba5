"""One mail: its story, its facts and ids, why it waits, and its letter in a frame of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from postledger.accounts import queries as accounts
from postledger.accounts.models import Sender
from postledger.accounts.people.roles import Permission
from postledger.campaigns.runs import requeueing, run_lookup
from postledger.contacts import queries as contacts
from postledger.deliveries import queries
from postledger.deliveries.attention import deciding
from postledger.deliveries.attention.deciding import NotDecidedError
from postledger.deliveries.entries import Body, StreamKind
from postledger.deliveries.explanations import remedies, why
from postledger.deliveries.queries import DeliveryFacts, EventFacts, StreamFacts
from postledger.deliveries.states import State
from postledger.dispatch import past_letters
from postledger.dispatch.past_letters import PastLetter
from postledger.feedback import event_flow
from postledger.lib.ids import DeliveryId
from postledger.providers import addresses
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components import actor_names, badges
from postledger.web.dashboard.components.why import Choice, Why, describe_cause
from postledger.web.dashboard.frame import render_page
from postledger.web.dashboard.letter_frame import show_in_frame
from postledger.web.dashboard.mails import timeline
from postledger.web.dashboard.runs import words
from postledger.web.shared.sentences import translate


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail of the visitor's workspace, with all that its page tells."""

    id: DeliveryId
    facts: DeliveryFacts
    stream: StreamFacts
    sender: Sender
    body: Body | None

    @property
    def title(self) -> str:
        """The subject of a single mail; that of others is a template, so their stream's title."""
        is_single = self.stream.kind is StreamKind.TRANSACTIONAL
        return (self.body.subject if self.body and is_single else "") or self.stream.title

    @property
    def took(self) -> timedelta | None:
        """From its line in the books to its result; None while it has none."""
        settled_at = self.facts.settled_at
        if settled_at is None or self.facts.state is State.IN_DOUBT:
            return None
        return settled_at - self.facts.planned_at

    @property
    def message_id(self) -> str:
        """The Message-ID that its reader's program shows."""
        return f"<{self.id.text()}@{addresses.domain_of(self.sender.address)}>"


@require_safe
def show(request: HttpRequest, visitor: Visitor, mail_id: UUID) -> HttpResponse:
    id_ = DeliveryId.parse(mail_id)
    if id_ is not None and id_.try_number:
        # Providers and logs name tries; the page is that of the mail.
        whole = DeliveryId(id_.stream_id, id_.position)
        return redirect("message", visitor.workspace.pk, whole.uuid())
    mail = _find_mail(visitor, id_)
    now = datetime.now(UTC)
    letter = past_letters.make_again(visitor.workspace.pk, mail.stream.id, mail.facts.position)
    shows_text = request.GET.get("part") == "text" or not getattr(letter, "html", "")
    names = _name_actors(mail)
    context = {
        "title": (letter.subject if isinstance(letter, PastLetter) else "") or mail.title,
        "mail": mail,
        "badge": badges.badge_of(mail.facts.state),
        "reason": words.describe_stop(mail.facts.state, mail.facts.code),
        "steps": timeline.tell_story(mail.facts, mail.stream, names, now=now),
        "whys": _list_whys(mail, names, now=now),
        "remedy": _find_remedy(mail),
        "is_hopeless": _is_hopeless(mail),
        "requeue_refusal": _refuse_requeue(mail, visitor),
        "letter": letter if isinstance(letter, PastLetter) else None,
        "absence": None if isinstance(letter, PastLetter) else letter,
        "shows_text": shows_text,
        "list_url": reverse("messages", args=[visitor.workspace.pk]),
        "contact_url": _find_contact_url(mail),
        "run_url": _find_run_url(mail),
    }
    return render_page(request, visitor, "dashboard/message.html", context)


@require_safe
def show_letter(request: HttpRequest, visitor: Visitor, mail_id: UUID) -> HttpResponse:  # noqa: ARG001  every view gets it
    """The letter alone, for the frame of the page and without anything of the page."""
    mail = _find_mail(visitor, DeliveryId.parse(mail_id))
    letter = past_letters.make_again(visitor.workspace.pk, mail.stream.id, mail.facts.position)
    if not isinstance(letter, PastLetter):
        raise Http404
    return show_in_frame(letter.html)


@require_POST
def requeue(request: HttpRequest, visitor: Visitor, mail_id: UUID) -> HttpResponse:
    mail = _find_mail(visitor, DeliveryId.parse(mail_id))
    try:
        last_try = int(request.POST.get("try", ""))
        seen = DeliveryId(mail.stream.id, mail.facts.position, last_try)
        seen.uuid()  # raises for a try that no id can have
        deciding.decide_one(requeueing.REQUEUE, visitor.workspace.pk, seen, actor=visitor.actor)
    except NotDecidedError as refused:
        messages.error(request, translate(refused))
    except ValueError:
        messages.error(request, _("The form was incomplete, so nothing changed. Try again."))
    else:
        messages.success(request, _("The next free worker tries it again."))
    return redirect("message", visitor.workspace.pk, mail_id)


def _find_mail(visitor: Visitor, id_: DeliveryId | None) -> Mail:
    stream = queries.find_stream(id_.stream_id) if id_ else None
    if id_ is None or stream is None or stream.workspace_id != visitor.workspace.pk:
        raise Http404
    facts = queries.find_delivery(stream.id, id_.position)
    content = queries.find_content(stream.id, id_.position)
    if facts is None or content is None:
        raise Http404
    sender = accounts.get_sender(visitor.workspace.pk, stream.sender_id)
    return Mail(DeliveryId(stream.id, id_.position), facts, stream, sender, content.body)


def _find_contact_url(mail: Mail) -> str:
    """The page of the recipient; empty if no contact has the address, or several had it."""
    workspace_id = mail.stream.workspace_id
    contact_ids = contacts.list_contact_ids(workspace_id, address=mail.facts.address or "")
    return reverse("contact", args=[workspace_id, contact_ids[0]]) if len(contact_ids) == 1 else ""


def _find_run_url(mail: Mail) -> str:
    """The page of its campaign's run; empty for a mail of none."""
    workspace_id = mail.stream.workspace_id
    run_ids = run_lookup.find_run_ids(workspace_id, [mail.stream.id])
    return reverse("run", args=[workspace_id, run_ids[mail.stream.id]]) if run_ids else ""


def _name_actors(mail: Mail) -> dict[str, str]:
    decided = [fact.actor for fact in mail.facts.history if isinstance(fact, EventFacts)]
    return actor_names.name_actors(
        mail.stream.workspace_id, [*decided, mail.stream.cancelled_by or ""]
    )


def _list_whys(mail: Mail, names: Mapping[str, str], *, now: datetime) -> list[Why]:
    """Why it stands still; nothing for a mail that has a result."""
    if mail.facts.state is State.WAITING:
        causes = why.list_delivery_causes(mail.facts, mail.stream, now=now)
        return [replace(describe_cause(cause, names=names), advice="") for cause in causes]
    if mail.facts.state is State.IN_DOUBT:
        return [_describe_doubt(mail, now=now)]
    return []


def _describe_doubt(mail: Mail, *, now: datetime) -> Why:
    url = reverse("attention", args=[mail.stream.workspace_id])
    return Why(
        what=_("Nobody knows whether the provider took it."),
        icon="doubt",
        is_for_person=True,
        since=mail.facts.settled_at,
        wakes=_("evidence of the provider, or your decision"),
        evidence=_describe_evidence(mail, now=now),
        choices=[Choice(_("Decide"), f"{url}#in-doubt")],
    )


def _describe_evidence(mail: Mail, *, now: datetime) -> str:
    """Whether the events arrive that would end the doubt."""
    if mail.stream.is_test:
        return ""
    return event_flow.describe(event_flow.find_flow(mail.stream.sender_id, now=now), now=now)


def _find_remedy(mail: Mail) -> Promise | str:
    failure = remedies.find_failure(mail.facts)
    return remedies.advise(failure.outcome, failure.code or "") if failure else ""


def _is_hopeless(mail: Mail) -> bool:
    failure = remedies.find_failure(mail.facts)
    return failure is not None and remedies.is_hopeless(failure.outcome, failure.code or "")


def _refuse_requeue(mail: Mail, visitor: Visitor) -> str:
    """Why the mail cannot be requeued here; empty if it can."""
    match mail.facts.state:
        case State.FAILED if not visitor.may(Permission.DECIDE):
            return _("Your role may look at emails, and not retry them.")
        case State.FAILED if mail.stream.cancelled_at is not None:
            return _("Its campaign was cancelled, so nothing of it is sent any more.")
        case State.FAILED:
            return ""
        case State.ACCEPTED:
            return _(
                "Retry is for failed emails. This one was accepted, so it can never be sent again."
            )
        case State.IN_DOUBT:
            return _("Retry is for failed emails. Decide first whether this one was sent.")
        case _:
            return _("Retry is for failed emails.")
