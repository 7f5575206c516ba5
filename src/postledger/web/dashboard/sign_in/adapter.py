"""How allauth signs people in here: by invitation only, and without telling who has an account."""

from typing import Any, override

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from postledger.accounts.models import User
from postledger.web.dashboard.sign_in import lock_out
from postledger.web.shared import throttle

_ERRORS = {
    "account_inactive": gettext_lazy("This account is closed. Ask an owner of your workspace."),
    "enter_current_password": gettext_lazy("This is not your current password."),
    "incorrect_code": gettext_lazy("This code is wrong, or was used already. Enter a new one."),
    "incorrect_password": gettext_lazy("This is not your password."),
    "invalid_password_reset": gettext_lazy("This link was used, or it is too old."),
}
# Of what allauth would say after an action; what is not listed needs no words.
_MESSAGES = {
    "account/messages/password_changed.txt": gettext_lazy(
        "Your password was changed. Other devices are signed out."
    ),
    "mfa/messages/totp_activated.txt": gettext_lazy("The authenticator app is set up."),
    "mfa/messages/totp_deactivated.txt": gettext_lazy("The authenticator app was removed."),
    "mfa/messages/recovery_codes_generated.txt": gettext_lazy("You have new recovery codes."),
    "mfa/messages/webauthn_added.txt": gettext_lazy("The passkey was added."),
    "mfa/messages/webauthn_removed.txt": gettext_lazy("The passkey was removed."),
}


class Adapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    error_messages = DefaultAccountAdapter.error_messages | _ERRORS
    _failure_key = ""  # under which failures of the address that was given are counted

    @override
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    @override
    def get_client_ip(self, request: HttpRequest) -> str:
        return throttle.client_network(request.META)

    @override
    def is_safe_url(self, url: str) -> bool:
        """After sign-in people stay here: only paths, and no other site, whatever it is called."""
        return url_has_allowed_host_and_scheme(url, allowed_hosts=None)

    @override
    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("security")

    @override
    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Without the host, which whoever asks may choose."""
        return str(credentials.get("email", "")).lower()

    @override
    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        self._failure_key = self._get_login_attempts_cache_key(request, **credentials)
        super().pre_authenticate(request, **credentials)

    @override
    def set_password(self, user: User, password: str) -> None:
        """A new password ends the lock-out of its address."""
        super().set_password(user, password)
        lock_out.forget(self.request, lock_out.FAILURES, user.email)

    @override
    def validation_error(self, code: str, *args: object) -> ValidationError:
        match code:
            case "email_password_mismatch":
                return ValidationError(self._describe_mismatch(), code=code)
            case "too_many_login_attempts" | "rate_limited":
                wait = lock_out.find_wait(self.request, lock_out.FAILURES, *self._failure_keys())
                return ValidationError(describe_wait(wait), code=code)
            case _:
                error: ValidationError = super().validation_error(code, *args)
                return error

    @override
    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        words = message or _MESSAGES.get(message_template or "")
        if words:
            messages.add_message(request, level, str(words), extra_tags=extra_tags)

    def _describe_mismatch(self) -> str:
        """Says the same of an address that nobody has."""
        standing = lock_out.find_standing(self.request, lock_out.FAILURES, self._failure_key)
        wrong = _("That address and password do not belong together.")
        if not standing.left:
            return f"{wrong} {describe_wait(standing.wait)}"
        left = ngettext(
            "%(left)s try left, then a rest of %(minutes)s minutes.",
            "%(left)s tries left, then a rest of %(minutes)s minutes.",
            standing.left,
        ) % {"left": standing.left, "minutes": round(standing.rest / 60)}
        return f"{wrong} {left}"

    def _failure_keys(self) -> list[str]:
        """The keys of this request: of the address, or of the person whose code was wrong."""
        if self._failure_key:
            return [self._failure_key]
        stage = getattr(self.request, "_login_stage", None)
        user = stage.login.user if stage else self.request.user
        return [f"mfa-auth-user-{user.pk}"]


def describe_wait(seconds: float) -> str:
    return throttle.describe_wait(_("Too many attempts."), seconds)
