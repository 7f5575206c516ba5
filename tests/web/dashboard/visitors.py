"""People who are signed in to the dashboard: each with a role in a workspace."""

from dataclasses import dataclass
from typing import Any

from django.test import Client

from postledger.accounts.models import Member, User, Workspace
from postledger.accounts.people.roles import Role


@dataclass(frozen=True)
class Person:
    client: Client
    user: User
    member: Member

    @property
    def workspace(self) -> Workspace:
        return self.member.workspace

    @property
    def workspace_id(self) -> int:
        return self.member.workspace_id

    @property
    def actor(self) -> str:
        return f"user {self.user.pk}"

    def url(self, path: str = "") -> str:
        """A page of their workspace."""
        return f"/w/{self.workspace_id}/{path}"

    def get(self, path: str, **query: str) -> Any:
        return self.client.get(self.url(path), query)

    def read(self, path: str, **query: str) -> str:
        """A page as text, with every run of spaces as one."""
        response = self.get(path, **query)
        assert response.status_code == 200, response.content.decode()[:500]
        return " ".join(response.content.decode().split())

    def post(self, path: str, **fields: str) -> Any:
        return self.client.post(self.url(path), fields)


def sign_in(
    workspace_id: int, role: Role = Role.OWNER, *, name: str = "Anna", email: str = ""
) -> Person:
    """Without a password, whose hash would take longer than most tests."""
    email = email or f"{name.lower()}-{role}-{workspace_id}@example.com"
    user, _ = User.objects.get_or_create(email=email, defaults={"name": name})
    defaults = {"email": email, "name": name, "role": role.value}
    member, _ = Member.objects.get_or_create(
        workspace_id=workspace_id, user=user, defaults=defaults
    )
    client = Client()
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return Person(client, user, member)


def person(role: Role = Role.OWNER, *, workspace: str = "acme", name: str = "") -> Person:
    """Of a workspace that may be new."""
    tenant, _ = Workspace.objects.get_or_create(name=workspace)
    name = name or role.value
    email = f"{name}@{workspace}.example"
    return sign_in(tenant.pk, role, name=name.title(), email=email)


def plant_session(client: Client) -> str:
    """Gives a browser a session that somebody else knows the key of."""
    session = client.session
    session["planted"] = "by a stranger"
    session.save()
    assert session.session_key
    client.cookies["postledger_session"] = session.session_key
    return session.session_key
