"""The pages of allauth that exist here: no sign-up, and no other addresses."""

from allauth.account import views as account
from allauth.mfa.base import views as mfa
from allauth.mfa.recovery_codes import views as recovery_codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as webauthn
from django.contrib.auth.decorators import login_required
from django.urls import URLPattern, path, re_path
from django.views.generic.base import RedirectView

from postledger.web.dashboard.sign_in.refusals import View, counted


def _page(route: str, view: View, name: str) -> URLPattern:
    return path(route, counted(view), name=name)


_to_security = login_required(RedirectView.as_view(pattern_name="security"))

urlpatterns: list[URLPattern] = [
    _page("login/", account.login, "account_login"),
    _page("logout/", account.logout, "account_logout"),
    _page("inactive/", account.account_inactive, "account_inactive"),
    _page("reauthenticate/", account.reauthenticate, "account_reauthenticate"),
    _page("password/change/", account.password_change, "account_change_password"),
    _page("password/reset/", account.password_reset, "account_reset_password"),
    _page("password/reset/done/", account.password_reset_done, "account_reset_password_done"),
    _page(
        "password/reset/key/done/",
        account.password_reset_from_key_done,
        "account_reset_password_from_key_done",
    ),
    re_path(
        r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        counted(account.password_reset_from_key),
        name="account_reset_password_from_key",
    ),
    path("two-factor/", _to_security, name="mfa_index"),
    _page("two-factor/authenticate/", mfa.authenticate, "mfa_authenticate"),
    _page("two-factor/reauthenticate/", mfa.reauthenticate, "mfa_reauthenticate"),
    _page("two-factor/totp/activate/", totp.activate_totp, "mfa_activate_totp"),
    _page("two-factor/totp/deactivate/", totp.deactivate_totp, "mfa_deactivate_totp"),
    _page("two-factor/codes/", recovery_codes.view_recovery_codes, "mfa_view_recovery_codes"),
    _page(
        "two-factor/codes/generate/",
        recovery_codes.generate_recovery_codes,
        "mfa_generate_recovery_codes",
    ),
    _page(
        "two-factor/codes/download/",
        recovery_codes.download_recovery_codes,
        "mfa_download_recovery_codes",
    ),
    _page("two-factor/passkeys/", webauthn.list_webauthn, "mfa_list_webauthn"),
    _page("two-factor/passkeys/add/", webauthn.add_webauthn, "mfa_add_webauthn"),
    _page("two-factor/passkeys/login/", webauthn.login_webauthn, "mfa_login_webauthn"),
    _page(
        "two-factor/passkeys/reauthenticate/",
        webauthn.reauthenticate_webauthn,
        "mfa_reauthenticate_webauthn",
    ),
    _page("two-factor/passkeys/<int:pk>/remove/", webauthn.remove_webauthn, "mfa_remove_webauthn"),
    _page("two-factor/passkeys/<int:pk>/edit/", webauthn.edit_webauthn, "mfa_edit_webauthn"),
]
