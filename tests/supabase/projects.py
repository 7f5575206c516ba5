"""Connects workspaces of the tests to a Supabase project."""

from postledger.accounts import integrations
from postledger.accounts.integrations import IntegrationKind
from tests.fakes.postgrest import FakePostgrest


def connect(workspace_id: int, fake: FakePostgrest) -> None:
    change(workspace_id, url=fake.url, api_key=fake.key)


def change(workspace_id: int, **changes: str) -> None:
    integrations.set_integration(
        workspace_id, IntegrationKind.SUPABASE, changes=changes, actor="alice"
    )


def remove(workspace_id: int) -> None:
    integrations.remove_integration(workspace_id, IntegrationKind.SUPABASE, actor="alice")
