"""The forms of allauth that differ here."""

from datetime import UTC, datetime
from typing import Any, override

from allauth.account import forms as allauth
from django.http import HttpRequest

from postledger.web.dashboard.sign_in import reset_letters
from postledger.web.shared import requests


class ResetForm(allauth.ResetPasswordForm):  # type: ignore[misc]  # allauth has no types
    """Mails through the ledger, and answers the same for every address."""

    can_send = property(lambda _form: reset_letters.can_send())

    @override
    def save(self, request: HttpRequest, **_options: Any) -> str:
        user = next(iter(self.users), None)
        reset_letters.send_reset_letter(
            user,
            to=user.email if user else self.cleaned_data["email"],
            request_id=requests.id_of(request),
            now=datetime.now(UTC),
        )
        return str(self.cleaned_data["email"])


class NewPasswordForm(allauth.ResetPasswordKeyForm):  # type: ignore[misc]
    password2 = None  # whoever mistypes asks for a new link


class ChangePasswordForm(allauth.ChangePasswordForm):  # type: ignore[misc]
    password2 = None
