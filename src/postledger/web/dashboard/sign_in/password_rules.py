"""Which passwords are too common, beside Django's own rules."""

from typing import override

from django.contrib.auth import password_validation

from postledger.accounts.models import User


class CommonPasswordValidator(password_validation.CommonPasswordValidator):
    """Refuses also what repeats a common password, as passwordpassword."""

    @override
    def validate(self, password: str, user: User | None = None) -> None:
        size = (password + password).find(password, 1)  # of the part that is repeated
        for length in range(size or 1, len(password) + 1, size or 1):
            super().validate(password[:length], user)
