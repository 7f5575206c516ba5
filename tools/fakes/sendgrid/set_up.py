"""What was set up for events: it is written to the journal, and read back after a restart."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tools.fakes.events.disturbances import Disturbances
from tools.fakes.sendgrid.account import Account
from tools.fakes.sendgrid.events.outcomes import Shares
from tools.fakes.sendgrid.events.publisher import Publisher
from tools.fakes.sendgrid.webhooks import Webhook


def write(account: Account, publisher: Publisher) -> Mapping[str, object]:
    return {
        "webhooks": [asdict(webhook) for webhook in account.webhooks.values()],
        "events": asdict(publisher.disturbances),
        "reports": asdict(publisher.shares),
    }


def restore(document: Mapping[str, Any], account: Account, publisher: Publisher) -> None:
    webhooks = (Webhook(**entry) for entry in document["webhooks"])
    account.webhooks.update({webhook.id: webhook for webhook in webhooks})
    publisher.disturb(Disturbances(**document["events"]))
    publisher.shares = Shares(**document["reports"])
