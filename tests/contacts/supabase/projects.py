"""Connects workspaces of the tests to a Supabase project."""

from postledger.accounts import actions
from postledger.accounts.integrations import Kind
from tests.fakes.postgrest import FakePostgrest


def connect(workspace_id: int, fake: FakePostgrest) -> None:
    change(workspace_id, url=fake.url, api_key=fake.key)


def change(workspace_id: int, **changes: str) -> None:
    actions.set_integration(workspace_id, Kind.SUPABASE, changes=changes, actor="alice")


def remove(workspace_id: int) -> None:
    actions.remove_integration(workspace_id, Kind.SUPABASE, actor="alice")
