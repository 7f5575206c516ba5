import pytest

from tests.contacts import people


@pytest.fixture
def acme(db: None) -> int:
    return people.workspace("acme")


@pytest.fixture
def globex(db: None) -> int:
    return people.workspace("globex")
