from pathlib import Path

import pytest

from tests.dispatch import office
from tests.dispatch.office import Office


@pytest.fixture
def acme(tmp_path: Path) -> Office:
    """A workspace whose sender's account is a sandbox."""
    return office.open_office(tmp_path)
