"""`postledger drill`: on a scratch database it comes to a verdict, any other it leaves alone."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from postledger.cli.drill import run
from tests import cast

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_database_with_mail_is_refused_unless_its_name_says_scratch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run.refuse_real_data()
    cast.stream(mails=1)
    run.refuse_real_data()  # the test's own database is called test_…

    monkeypatch.setitem(connection.settings_dict, "NAME", "postledger")

    with pytest.raises(CommandError, match="The database postledger has mail in it"):
        call_command("drill")
