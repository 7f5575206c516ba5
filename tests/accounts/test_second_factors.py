"""Secrets of second factors: stored sealed, and kept when SECRET_KEY changes."""

from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from django.conf import LazySettings
from django.core.management import call_command

from postledger.accounts.people import second_factors
from postledger.lib.secrets import UnsealableError
from tests.web.dashboard import sign_ins

pytestmark = pytest.mark.django_db


def test_factors_survive_a_new_secret_key_once_they_are_resealed(settings: LazySettings) -> None:
    sign_ins.hash_cheaply(settings)
    user = sign_ins.person()
    secret = sign_ins.add_app(user)
    codes = sign_ins.recovery_codes(user)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another secret key of this installation, long enough"
    out = StringIO()

    call_command("account", "reseal", stdout=out)

    assert "and 2 second factors" in out.getvalue()
    settings.SECRET_KEY_FALLBACKS = []
    app = Authenticator.objects.get(user=user, type=Authenticator.Type.TOTP)
    assert second_factors.unseal_secret(app.data["secret"]) == secret
    assert sign_ins.recovery_codes(user) == codes


def test_a_copy_of_the_database_alone_tells_no_secret(settings: LazySettings) -> None:
    sealed = second_factors.seal_secret("JBSWY3DPEHPK3PXP")
    settings.SECRET_KEY = "another secret key of this installation, long enough"

    assert "JBSWY3DPEHPK3PXP" not in sealed
    with pytest.raises(UnsealableError):
        second_factors.unseal_secret(sealed)
