"""Connects a sender to a provider by a form: read, screened, checked and stored."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from postledger.accounts import operator_settings, queries
from postledger.accounts.models import Sender
from postledger.accounts.operator_settings import (
    CredentialsHereError,
    OperatorOnlyError,
    ReservedSettingsError,
    ServerHereError,
)
from postledger.accounts.people import first_run
from postledger.accounts.provider_accounts import Settings
from postledger.accounts.queries import SenderArchivedError
from postledger.deliveries import sender_setup
from postledger.deliveries.sender_setup import SenderConnectedError
from postledger.lib.errors import RefusedError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.first_steps import provider_form
from postledger.web.dashboard.first_steps.provider_form import ProviderForm
from postledger.web.shared import throttle
from postledger.web.shared.sentences import translate
from postledger.web.shared.throttle import RateExceededError


@dataclass(frozen=True, slots=True)
class Attempt:
    form: ProviderForm
    may_ignore: bool = False  # a person may go on although the provider found something
    sender: Sender | None = None  # that was connected

    def describe(self) -> dict[str, Any]:
        """What the part `components/provider_fields.html` shows."""
        return {
            "form": self.form,
            "kind": self.form["kind"].value(),
            "regions": provider_form.REGIONS,
            "may_ignore": self.may_ignore,
            "events_url": f"{settings.PUBLIC_URL.rstrip('/') or 'https://HOST'}/sendgrid-events",
        }


def try_to_connect(
    request: HttpRequest, visitor: Visitor, address: str = "", *, replaces_sandbox: bool = False
) -> Attempt:
    """`address` stands in a form that nobody has filled in yet."""
    form = make_form(address, request.POST or None)
    given = _read_settings(form, visitor) if request.method == "POST" else None
    if given is None:
        return _refuse(form)
    may_ignore = _check(form, visitor, given, is_ignoring="anyway" in request.POST)
    if form.errors or not _store(
        form, visitor, given, is_unchecked=may_ignore, replaces_sandbox=replaces_sandbox
    ):
        return _refuse(form, may_ignore=may_ignore)
    address = form.cleaned_data["address"]
    return Attempt(form, sender=queries.sender_by_address(visitor.workspace.pk, address=address))


def _refuse(form: ProviderForm, *, may_ignore: bool = False) -> Attempt:
    if form.is_bound:
        form.ask_for_secret(may_ignore=may_ignore)
    return Attempt(form, may_ignore)


def make_form(address: str, posted: Any = None) -> ProviderForm:
    return ProviderForm(posted, initial={"kind": "smtp", "tls": "starttls", "address": address})


def _read_settings(form: ProviderForm, visitor: Visitor) -> Settings | None:
    """What was entered, before anybody is asked; None if it is wrong, or reaches the machine
    itself, which is its operator's to enter.
    """
    if not form.is_valid():
        return None
    kind, given = form.cleaned_data["kind"], form.read_settings()
    hosts = settings.PRIVATE_HOSTS
    is_operator = first_run.is_operator(visitor.member)
    try:
        if is_operator:
            return operator_settings.screen_hosts(kind, given, inside_hosts=hosts)
        return operator_settings.screen_settings(kind, given, is_whole=True, inside_hosts=hosts)
    except OperatorOnlyError as refused:
        field, text = _explain_refusal(refused, is_operator=is_operator)
        form.add_error(field, text)
        return None


def _explain_refusal(refused: OperatorOnlyError, *, is_operator: bool) -> tuple[str | None, str]:
    """What somebody can do about it, and the field that it stands beside."""
    match refused:
        case ServerHereError(setting=setting, server=server):
            return setting, _explain_server(server, is_here=True, is_operator=is_operator)
        case CredentialsHereError():
            return "access_key_id", _(
                "Without a key of its own it would use the credentials of this machine, which"
                " belong to its operator. Enter the access key of an IAM user."
            )
        case ReservedSettingsError(settings=["endpoint"]):
            return "endpoint", _(
                "Only the operator of this installation uses an endpoint. Leave it empty."
            )
        case _:
            return None, translate(refused)


def _explain_server(server: str, *, is_here: bool, is_operator: bool) -> str:
    if is_operator:
        where = (
            _("%(server)s is on this machine.")
            if is_here
            else _("%(server)s is inside your network.")
        )
        advice = _(
            "To let all workspaces use it, write `PRIVATE_HOSTS=%(servers)s` into `postledger.env`"
            " and start `postledger up` again."
        )
    else:
        where = (
            _("%(server)s is on the machine of this installation.")
            if is_here
            else _("%(server)s is inside the network of this installation.")
        )
        advice = _("Ask its operator to add it to `PRIVATE_HOSTS` in `postledger.env`.")
    servers = ",".join([*sorted(settings.PRIVATE_HOSTS), server])
    return f"{where} {advice}" % {"server": server, "servers": servers}


def _check(form: ProviderForm, visitor: Visitor, given: Settings, *, is_ignoring: bool) -> bool:
    """Asks the provider; what it says stands in the form.

    Returns whether a person may go on all the same: what was entered is right, and the rest is
    mended at the provider.
    """
    try:
        throttle.count_visit(
            settings.PROVIDER_CHECKS_OF_ONE, "provider check", str(visitor.workspace.pk)
        )
    except RateExceededError as exceeded:
        text = throttle.describe_wait(_("Too many checks."), exceeded.retry_after)
        form.add_error(None, text)
        return False
    problems = form.check_provider(given)
    may_ignore = bool(problems) and not any(map(provider_form.is_setting, problems))
    if any(problem.subject == "inside" for problem in problems):
        server = operator_settings.name_server(given)
        is_operator = first_run.is_operator(visitor.member)
        form.add_error("host", _explain_server(server, is_here=False, is_operator=is_operator))
    elif not (may_ignore and is_ignoring):
        form.refuse_findings(problems)
    return may_ignore


def _store(
    form: ProviderForm,
    visitor: Visitor,
    given: Settings,
    *,
    is_unchecked: bool,
    replaces_sandbox: bool,
) -> bool:
    try:
        sender_setup.connect_sender(
            visitor.workspace.pk,
            kind=form.cleaned_data["kind"],
            settings=given,
            address=form.cleaned_data["address"],
            is_unchecked=is_unchecked,
            replaces_sandbox=replaces_sandbox,
            actor=visitor.actor,
        )
    except SenderConnectedError as refused:
        form.add_error("address", _lead_to_sender(visitor, refused.sender_id))
    except SenderArchivedError:
        form.add_error("address", _("This sender is archived. Choose another address."))
    except RefusedError as refused:
        form.add_error(None, translate(refused))
    return not form.errors


def _lead_to_sender(visitor: Visitor, sender_id: int) -> str:
    text = _(
        "Emails from this address go out through another account already. Choose another address,"
        ' or <a href="{}">change that sender</a>.'
    )
    return format_html(text, reverse("sender", args=[visitor.workspace.pk, sender_id]))


def tell_success(request: HttpRequest, sender: Sender) -> None:
    if sender.account is not None and sender.account.is_unchecked:
        text = _("It is connected without being checked: nobody saw its provider take an email.")
        messages.warning(request, f"{text} {_describe_default(sender)}".rstrip())
        return
    text = _("The sandbox takes its emails: nothing leaves this machine.")
    if sender_setup.reaches_people(sender):
        text = _("The provider is connected.")
    messages.success(request, f"{text} {_describe_default(sender)}".rstrip())


def _describe_default(sender: Sender) -> str:
    """Which sender new campaigns have, where that is another one."""
    default = queries.default_sender(sender.workspace_id)
    if default is None or default.pk == sender.pk:
        return ""
    text = _("%(address)s stays the default sender; you can change that on the page of a sender.")
    return text % {"address": default.address}
