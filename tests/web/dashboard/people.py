"""People who use the dashboard: each signed in, and a member of a workspace with a role."""

from dataclasses import dataclass

from django.test import Client

from postledger.accounts.models import Member, User, Workspace
from postledger.accounts.people.roles import Role


@dataclass(frozen=True, slots=True)
class Person:
    client: Client
    user: User
    member: Member

    @property
    def workspace(self) -> Workspace:
        return self.member.workspace

    def url(self, path: str = "") -> str:
        """A page of their workspace."""
        return f"/w/{self.member.workspace_id}/{path}"


def person(role: Role = Role.OWNER, *, workspace: str = "acme", name: str = "") -> Person:
    """Signed in without a password, whose hash would take longer than most tests."""
    tenant, _ = Workspace.objects.get_or_create(name=workspace)
    name = name or role.value
    user = User.objects.create(email=f"{name}@{workspace}.example", name=name.title())
    member = Member.objects.create(
        workspace=tenant, user=user, email=user.email, name=user.name, role=role.value
    )
    return Person(signed_in(user), user, member)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client


def plant_session(client: Client) -> str:
    """Gives a browser a session that somebody else knows the key of."""
    session = client.session
    session["planted"] = "by a stranger"
    session.save()
    assert session.session_key
    client.cookies["postledger_session"] = session.session_key
    return session.session_key
