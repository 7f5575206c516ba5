"""People who are signed in to the dashboard: each with a role in a workspace."""

from dataclasses import dataclass
from typing import Any

from django.test import Client

from postledger.accounts.models import Member, User
from postledger.accounts.people.roles import Role


@dataclass(frozen=True)
class Person:
    client: Client
    user: User
    workspace_id: int

    @property
    def actor(self) -> str:
        return f"user {self.user.pk}"

    def url(self, path: str) -> str:
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


def sign_in(workspace_id: int, role: Role = Role.OWNER, *, name: str = "Anna") -> Person:
    email = f"{name.lower()}-{role}-{workspace_id}@example.com"
    user, _ = User.objects.get_or_create(email=email, defaults={"name": name})
    Member.objects.get_or_create(
        workspace_id=workspace_id, user=user, defaults={"email": email, "role": role.value}
    )
    client = Client()
    client.force_login(user)
    return Person(client, user, workspace_id)
