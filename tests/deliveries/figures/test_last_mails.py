"""Claims about the last mail that a page of contacts shows of each person."""

import pytest

from postledger.deliveries import ledger
from postledger.deliveries.entries import NewDelivery
from postledger.deliveries.figures import last_mails
from postledger.lib.ids import DeliveryId
from tests import cast

pytestmark = pytest.mark.django_db

ANN = "ann@example.com"


def test_the_last_mail_is_the_workspaces_own_though_another_mailed_the_address_later() -> None:
    own = cast.stream()
    theirs = cast.stream(workspace="globex")
    for stream_id in (own, theirs):
        ledger.enqueue(stream_id, [NewDelivery(ANN, dedupe_key=ANN)])

    found = {
        name: last_mails.find_last_mails(cast.sender(name).workspace_id, [ANN])
        for name in ("acme", "globex", "initech")
    }

    assert {name: last[ANN].id for name, last in found.items() if last} == {
        "acme": DeliveryId(own, 0).text(),
        "globex": DeliveryId(theirs, 0).text(),
    }
