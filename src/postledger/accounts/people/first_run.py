"""The first run: a one-time code, which the operator's command prints, creates the first owner."""

import hmac
import secrets
from hashlib import sha256

from django.db import transaction

from postledger.accounts import trail
from postledger.accounts.models import FirstRunCode, Member, User, Workspace
from postledger.accounts.people.roles import Role
from postledger.lib.errors import ConflictError, ForbiddenError
from postledger.lib.sentences import say
from postledger.providers import addresses

# Without letters and digits that look alike.
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_GROUPS, _GROUP_SIZE = 4, 4  # 80 bits


class FirstRunCodeError(ForbiddenError):
    code = "first_run_code"


class FirstRunOverError(ForbiddenError):
    code = "first_run_over"


class NotSetUpError(ConflictError):
    code = "not_set_up"


def is_open() -> bool:
    """Whether nobody can sign in yet."""
    return not User.objects.exists()


def issue_code() -> str | None:
    """A new code, of which only the hash is stored; an earlier one stops working.

    None if somebody can sign in already.
    """
    if not is_open():
        return None
    if not Workspace.objects.exists():
        raise _not_set_up()
    groups = (
        "".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_SIZE)) for _ in range(_GROUPS)
    )
    code = "-".join(groups)
    FirstRunCode.objects.update_or_create(pk=True, defaults={"code_hash": _hash(code)})
    return code


def check_code(code: str) -> None:
    stored = FirstRunCode.objects.values_list("code_hash", flat=True).first()
    if stored is None and not Workspace.objects.exists():
        raise _not_set_up()
    if stored is None or not hmac.compare_digest(bytes(stored), _hash(code)):
        raise FirstRunCodeError(
            say(
                "This is not the code. postledger up prints it when it starts; if it scrolled"
                " away, postledger first-run prints a new one."
            )
        )


def create_owner(code: str, *, email: str, name: str, password: str) -> User:
    """Creates the first person, as owner of the first workspace; the code is used up.

    The password was validated by the caller.
    """
    email = addresses.canonical(email)
    with transaction.atomic():
        # Of several who have the code, one creates the owner.
        workspace = Workspace.objects.select_for_update(no_key=True).order_by("pk").first()
        if workspace is None:
            raise _not_set_up()
        if not is_open():
            raise FirstRunOverError(say("This installation has an owner: sign in instead."))
        check_code(code)
        user = User(email=email.lower(), name=name)
        user.set_password(password)
        user.save()
        _add_owner(workspace, user, email)
        FirstRunCode.objects.all().delete()
    return user


def is_operator(member: Member) -> bool:
    """Whether a member counts as the operator: as an owner of the first workspace, whom the code of
    the operator's command made, or another such owner.
    """
    first = Workspace.objects.order_by("pk").values_list("pk", flat=True).first()
    return member.role == Role.OWNER and member.workspace_id == first


def _add_owner(workspace: Workspace, user: User, email: str) -> None:
    """A membership that the operator added by command becomes this person's."""
    member = Member.objects.filter(
        workspace=workspace, email__iexact=email, removed_at=None
    ).first() or Member(workspace=workspace, email=email)
    member.user, member.name, member.role = user, user.name, Role.OWNER.value
    member.invitation_hash = member.invited_until = None
    member.save()
    trail.note(
        workspace.pk,
        actor="first run",
        action="member.joined",
        subject=f"member {member.pk}",
        data={"role": Role.OWNER.value},
    )


def _not_set_up() -> NotSetUpError:
    return NotSetUpError(say("There is no workspace yet. Run postledger setup first."))


def _hash(code: str) -> bytes:
    text = "".join(character for character in code.upper() if character in _ALPHABET)
    return sha256(text.encode()).digest()
