"""Holds a sender by a person's word, with the reason; its page releases it."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from postledger.accounts import queries
from postledger.deliveries.attention import holds
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.audience.questions import Question, ask
from postledger.web.dashboard.forms import PageForm

_LONGEST_REASON = 200


class HoldForm(PageForm):
    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=_LONGEST_REASON,
        help_text=gettext_lazy("Everybody who asks why its emails wait reads it, with your name."),
        widget=forms.TextInput({"autocomplete": "off"}),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def hold(request: HttpRequest, visitor: Visitor, sender_id: int) -> HttpResponse:
    sender = queries.get_sender(visitor.workspace.pk, sender_id)
    form = HoldForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        is_held = holds.hold_sender(
            visitor.workspace.pk,
            sender.pk,
            reason=form.cleaned_data["reason"],
            actor=visitor.actor,
        )
        if is_held:
            messages.success(request, _("Held. Its emails wait until somebody releases it."))
        else:
            messages.error(request, _("Somebody holds it already."))
        return redirect("sender", visitor.workspace.pk, sender.pk)
    question = Question(
        heading=_("Hold %(address)s?") % {"address": sender.address},
        sentences=[
            _("None of its emails is sent until somebody releases it; nothing is lost."),
            _("What the provider has already goes on."),
        ],
        go=_("Hold"),
        stay=_("Leave it"),
        back_url=reverse("sender", args=[visitor.workspace.pk, sender.pk]),
        back_title=sender.address,
    )
    return ask(request, visitor, question, form)
