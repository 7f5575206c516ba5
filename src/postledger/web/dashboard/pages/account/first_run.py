"""The first run: the operator's code creates the owner, who then connects a provider."""

from collections.abc import Mapping
from typing import Any, Final, override

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from postledger.accounts import queries, workspaces
from postledger.accounts.models import Member, User, Workspace
from postledger.accounts.people import first_run, invitations
from postledger.accounts.people.first_run import FirstRunCodeError, FirstRunOverError, NotSetUpError
from postledger.deliveries import account_changes
from postledger.web.dashboard import time_zones
from postledger.web.dashboard.first_steps import steps
from postledger.web.dashboard.forms import AddressField, PersonForm
from postledger.web.dashboard.people import arrivals
from postledger.web.shared import guesses, throttle
from postledger.web.shared.throttle import RateExceededError

_NO_ZONE: Final = "UTC"  # of a workspace for which nobody has chosen one

# Strangers who guess must not keep the operator out: of all together very many are let through,
# and the code has 80 bits.
_GUESSES: Final = guesses.GuessLimit(
    "wrong first-run code", of_one="WRONG_PASSWORDS_OF_ONE", of_all="WRONG_KEYS_OF_ALL"
)


class OwnerForm(PersonForm):
    code = forms.CharField(
        label=gettext_lazy("One-time code"),
        max_length=100,
        help_text=gettext_lazy(
            "Whoever started Postledger has it: `postledger up` printed it, and"
            " `postledger first-run` prints a new one."
        ),
        widget=forms.TextInput(
            {"class": "input mono", "autocomplete": "off", "autocapitalize": "characters"}
        ),
    )
    email = AddressField(
        label=gettext_lazy("Email address"), widget=forms.EmailInput({"autocomplete": "username"})
    )

    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"),
        initial=_NO_ZONE,
        required=False,
        help_text=gettext_lazy("Of these pages and of daily limits."),
    )

    field_order = ("code", "name", "email", "password", "time_zone")

    def __init__(self, network: str, values: Mapping[str, Any] | None) -> None:
        """`network` is the one that the code comes from."""
        stored = Workspace.objects.order_by("pk").values_list("time_zone", flat=True).first()
        super().__init__(values, initial={"time_zone": stored or _NO_ZONE})
        self._network = network
        zone = self.fields["time_zone"]
        zone.choices = time_zones.list_choices(stored or "")  # type: ignore[attr-defined]  # of a choice field
        if values is None and stored in {None, _NO_ZONE}:
            zone.widget.attrs["data-propose-zone"] = ""  # for zone.js

    def clean_code(self) -> str:
        """Checked here, so that a wrong code is said together with everything else."""
        code: str = self.cleaned_data["code"]
        try:
            _GUESSES.check(code, self._network)
            first_run.check_code(code)
        except FirstRunCodeError:
            _GUESSES.note_wrong(code, self._network)
            raise ValidationError(
                _(
                    "This is not the code. `postledger up` prints it when it starts; if it scrolled"
                    " away, `postledger first-run` prints a new one."
                )
            ) from None
        except NotSetUpError:
            text = _("There is no workspace yet. Run `postledger setup` first.")
            raise ValidationError(text) from None
        except RateExceededError as exceeded:
            text = throttle.describe_wait(_("Too many wrong codes."), exceeded.retry_after)
            raise ValidationError(text) from None
        return code

    @override
    def clean(self) -> dict[str, Any] | None:
        if "password" in self.cleaned_data:
            self.check_password(self.cleaned_data.get("email", ""))
        return super().clean()


@require_http_methods(["GET", "HEAD", "POST"])
def first_run_page(request: HttpRequest) -> HttpResponse:
    if not first_run.is_open():
        return _lead_on(request)
    form = OwnerForm(throttle.client_network(request.META), request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = _create_owner(form)
        if user is not None:
            arrivals.sign_in(request, user)
            return redirect(steps.find_next_url(_first_workspace_id(user)))
    context = {"form": form, "title": _("Welcome"), "steps": steps.list_steps("owner")}
    status = 422 if form.errors else 200
    return render(request, "dashboard/first_run.html", context, status=status)


def _lead_on(request: HttpRequest) -> HttpResponse:
    """The first run is over: whoever signed in goes on with what is left to do."""
    if isinstance(request.user, User):
        member = Member.objects.filter(user=request.user, removed_at=None).first()
        if member is not None:
            return redirect("start", member.workspace_id)
    return redirect("home")


def _create_owner(form: OwnerForm) -> User | None:
    """The owner; None with the reason, if nobody can become one now."""
    values = form.cleaned_data
    try:
        with transaction.atomic():
            user = first_run.create_owner(
                values["code"],
                email=values["email"],
                name=values["name"],
                password=values["password"],
            )
            _set_zone(user, values["time_zone"])
            return user
    except FirstRunCodeError:
        form.add_error("code", _("Another code was issued meanwhile: enter that one."))
    except FirstRunOverError:
        form.add_error(None, _("Somebody created the owner meanwhile: sign in instead."))
    return None


def _set_zone(user: User, zone: str) -> None:
    """Mail that programs have sent already may wait for the end of a former day."""
    workspace = Workspace.objects.get(member__user=user)
    if zone and zone != workspace.time_zone:
        workspaces.set_time_zone(workspace.pk, zone, actor=invitations.actor_of(user))
        account_changes.limits_changed(queries.sender_ids(workspace.pk))


def _first_workspace_id(user: User) -> int:
    return Member.objects.values_list("workspace_id", flat=True).get(user=user)
