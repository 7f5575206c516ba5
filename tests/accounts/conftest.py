"""Two workspaces that must not know of one another."""

import pytest

from postledger.accounts import workspaces


@pytest.fixture
def acme(db: None) -> int:
    return workspaces.create_workspace("acme", actor="alice")


@pytest.fixture
def globex(acme: int) -> int:
    return workspaces.create_workspace("globex", actor="charlie")
