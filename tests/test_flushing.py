"""What a test committed is gone for the next one, whatever protects it and however much it is."""

import pytest
from django.apps import apps
from django.core.management import call_command

from postledger.contacts.models import ConsentEvent
from postledger.deliveries import ledger
from postledger.deliveries.entries import NewDelivery, StreamKind
from postledger.deliveries.models import Delivery
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
    assert Delivery.objects.exists()  # in the part of a month

    call_command("flush", verbosity=0, interactive=False, reset_sequences=False)

    assert [model for model in apps.get_models() if model._default_manager.exists()] == []
