"""What a test committed is gone for the next one, whatever protects it and however much it is."""

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection

from postledger.contacts.models import ConsentEvent
from postledger.deliveries import ledger
from postledger.deliveries.entries import NewDelivery, StreamKind
from tests import cast, flushing
from tests.contacts import people

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("largest", [flushing.LARGEST, 0])
def test_no_row_is_left(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flushing, "LARGEST", largest)
    acme = people.workspace()
    people.news(acme)
    people.member(acme)
    stream = cast.stream(StreamKind.TRANSACTIONAL)
    ledger.enqueue(stream, [NewDelivery("r1@example.com")])
    assert ConsentEvent.objects.exists()  # a trigger keeps it
    # One of them in the part of a month.
    assert {"deliveries_stream", "deliveries_delivery"} <= set(ledger_tables_with_rows())

    call_command("flush", verbosity=0, interactive=False, reset_sequences=False)

    assert [model for model in apps.get_models() if model._default_manager.exists()] == []
    assert ledger_tables_with_rows() == []


def ledger_tables_with_rows() -> list[str]:
    with connection.cursor() as cursor:
        return [
            name
            for name in flushing.list_ledger_tables()
            if cursor.execute(f"SELECT FROM {name} LIMIT 1").fetchone() is not None
        ]
