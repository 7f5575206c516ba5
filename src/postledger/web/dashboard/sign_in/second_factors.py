"""How allauth keeps second factors here: sealed, and in our words."""

from typing import override

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from postledger.accounts.models import User
from postledger.accounts.people import second_factors

_ERRORS = {
    "cannot_generate_recovery_codes": gettext_lazy(
        "Set up an authenticator app or a passkey first."
    ),
    "incorrect_code": gettext_lazy("This code is wrong, or was used already. Enter a new one."),
}


class MfaAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth has no types
    error_messages = DefaultMFAAdapter.error_messages | _ERRORS

    @override
    def encrypt(self, text: str) -> str:
        return second_factors.seal_secret(text)

    @override
    def decrypt(self, encrypted_text: str) -> str:
        return second_factors.unseal_secret(encrypted_text)

    @override
    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        count = Authenticator.objects.filter(user_id=user.pk, type=type).count()
        return _("Passkey %(number)s") % {"number": count + 1}
