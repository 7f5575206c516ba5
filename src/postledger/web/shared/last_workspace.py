"""The workspace in which a signed-in person is, on pages and calls that name none."""

from django.http import HttpRequest

from postledger.accounts.models import Member, User

_KEY = "last_workspace"  # in the session


def remember(request: HttpRequest, workspace_id: int) -> None:
    if request.session.get(_KEY) != workspace_id:
        request.session[_KEY] = workspace_id


def find(request: HttpRequest, user: User) -> int | None:
    """The one that they saw last, if they are still its member, else any of theirs."""
    own = Member.objects.filter(user=user, removed_at=None).order_by("workspace_id")
    ids = list(own.values_list("workspace_id", flat=True))
    last = request.session.get(_KEY)
    return last if last in ids else next(iter(ids), None)
