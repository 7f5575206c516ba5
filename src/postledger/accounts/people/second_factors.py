"""Second factors of people: their secrets are stored sealed, and counted without being shown."""

from base64 import b64decode, b64encode
from dataclasses import dataclass

from allauth.mfa.models import Authenticator
from django.db import transaction

from postledger.accounts import sealing
from postledger.accounts.models import User
from postledger.lib import secrets

_PURPOSE = "second factors"
_SEALED = ("secret", "seed")  # of an authenticator app, and of recovery codes


@dataclass(frozen=True, slots=True)
class SecondFactors:
    """What a person can prove themselves with beside the password."""

    has_app: bool
    passkeys: int
    codes_left: int

    @property
    def is_on(self) -> bool:
        return self.has_app or self.passkeys > 0


def describe_factors(user: User) -> SecondFactors:
    factors = list(Authenticator.objects.filter(user_id=user.pk))
    codes = next(
        (factor for factor in factors if factor.type == Authenticator.Type.RECOVERY_CODES), None
    )
    return SecondFactors(
        has_app=any(factor.type == Authenticator.Type.TOTP for factor in factors),
        passkeys=sum(factor.type == Authenticator.Type.WEBAUTHN for factor in factors),
        codes_left=len(codes.wrap().get_unused_codes()) if codes else 0,
    )


def seal_secret(text: str) -> str:
    sealed = secrets.seal(
        text.encode(), secrets=sealing.installation_secrets(), purpose=_PURPOSE, bound_to=""
    )
    return b64encode(sealed).decode()


def unseal_secret(text: str) -> str:
    data = secrets.unseal(
        b64decode(text), secrets=sealing.installation_secrets(), purpose=_PURPOSE, bound_to=""
    )
    return data.decode()


def reseal_secrets() -> int:
    """Seals every secret under the current SECRET_KEY, all or none; returns their number."""
    count = 0
    with transaction.atomic():
        for factor in Authenticator.objects.select_for_update().order_by("pk"):
            names = [name for name in _SEALED if name in factor.data]
            for name in names:
                factor.data[name] = seal_secret(unseal_secret(factor.data[name]))
            if names:
                factor.save(update_fields=["data"])
                count += 1
    return count
