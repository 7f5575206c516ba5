"""The forms of allauth that differ here."""

from datetime import UTC, datetime
from typing import Any, override

from allauth.account import forms as allauth
from django.http import HttpRequest

from postledger.web.dashboard.forms import AddressField
from postledger.web.dashboard.sign_in import reset_letters
from postledger.web.shared import requests


class OwnAddressField(AddressField):
    """The address of a person, by the rule of those who let people in: also root@localhost."""

    @override
    def clean(self, value: Any) -> str:
        return super().clean(value).lower()  # as people are stored


class SignInForm(allauth.LoginForm):  # type: ignore[misc]  # allauth has no types
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"] = OwnAddressField()


class ResetForm(allauth.ResetPasswordForm):  # type: ignore[misc]  # allauth has no types
    """Mails through the ledger, and answers the same for every address."""

    email = OwnAddressField()
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
