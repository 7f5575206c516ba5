"""The first run: the operator's code creates the owner, who then connects a provider."""

from typing import Any, Final, override

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from postledger.accounts.models import Member, User
from postledger.accounts.people import first_run
from postledger.accounts.people.first_run import FirstRunCodeError, FirstRunOverError, NotSetUpError
from postledger.web.dashboard.first_steps import steps
from postledger.web.dashboard.forms import AddressField, PersonForm
from postledger.web.dashboard.people import arrivals
from postledger.web.shared import guesses, throttle
from postledger.web.shared.throttle import RateExceededError

# Strangers who guess must not keep the operator out: of all together very many are let through,
# and the code has 80 bits.
_GUESSES: Final = guesses.GuessLimit(
    "wrong first-run code", of_one="WRONG_PASSWORDS_OF_ONE", of_all="WRONG_KEYS_OF_ALL"
)


class OwnerForm(PersonForm):
    code = forms.CharField(
        label=gettext_lazy("One-time code"),
        max_length=100,
        help_text=gettext_lazy("postledger up printed it; postledger first-run prints a new one."),
        widget=forms.TextInput(
            {"class": "input mono", "autocomplete": "off", "autocapitalize": "characters"}
        ),
    )
    email = AddressField(
        label=gettext_lazy("Email address"), widget=forms.EmailInput({"autocomplete": "username"})
    )

    field_order = ("code", "name", "email", "password")

    @override
    def clean(self) -> dict[str, Any] | None:
        if "password" in self.cleaned_data:
            self.check_password(self.cleaned_data.get("email", ""))
        return super().clean()


@require_http_methods(["GET", "HEAD", "POST"])
def first_run_page(request: HttpRequest) -> HttpResponse:
    if not first_run.is_open():
        return _lead_on(request)
    form = OwnerForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        user = _create_owner(request, form)
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


def _create_owner(request: HttpRequest, form: OwnerForm) -> User | None:
    """The owner; None with the reason beside the code, if the code is not the operator's."""
    values, network = form.cleaned_data, throttle.client_network(request.META)
    code = values["code"]
    try:
        _GUESSES.check(code, network)
        return first_run.create_owner(
            code, email=values["email"], name=values["name"], password=values["password"]
        )
    except FirstRunCodeError:
        _GUESSES.note_wrong(code, network)
        text = _(
            "This is not the code. postledger up prints it when it starts; if it scrolled away,"
            " postledger first-run prints a new one."
        )
        form.add_error("code", text)
    except RateExceededError as exceeded:
        text = _("Too many wrong codes. Try again in %(minutes)s minutes.")
        form.add_error("code", text % {"minutes": -(-exceeded.retry_after // 60)})
    except FirstRunOverError:
        form.add_error(None, _("Somebody created the owner meanwhile: sign in instead."))
    except NotSetUpError:
        form.add_error(None, _("There is no workspace yet. Run postledger setup first."))
    return None


def _first_workspace_id(user: User) -> int:
    return Member.objects.values_list("workspace_id", flat=True).get(user=user)
