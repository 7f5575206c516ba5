"""A worker asks providers for their quotas by itself, without broker and beat."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pytest_django import Settings

from postledger.accounts import provider_accounts, senders
from postledger.accounts.models import AccountQuota
from postledger.workers.quota_step import QuotaStep
from tests import cast
from tests.workers.worker_processes import within
from tools.fakes.http.server import serving_in_thread
from tools.fakes.ses.quota import Quota
from tools.fakes.ses.server import FakeSes
from tools.fakes.ses.service import ACCESS_KEY_ID, SECRET_ACCESS_KEY

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def working() -> Iterator[None]:
    no_worker: Any = None
    step = QuotaStep(no_worker)
    step.start(no_worker)
    try:
        yield
    finally:
        step.stop(no_worker)
        step._thread.join()


def test_a_worker_reads_the_quota_of_an_account_in_use(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    sender = cast.sender()
    with serving_in_thread(FakeSes()) as fake:
        fake.service.account.quota = Quota(200, 14, sent_by_others=50)
        account_id = provider_accounts.create_account(
            sender.workspace_id,
            name="ses",
            kind="ses",
            settings={
                "region": "us-east-1",
                "access_key_id": ACCESS_KEY_ID,
                "secret_access_key": SECRET_ACCESS_KEY,
                "endpoint": fake.endpoint,
            },
            actor="test",
        )
        senders.attach_sender(
            sender.workspace_id, sender_id=sender.pk, account_id=account_id, actor="test"
        )
        with working():
            assert within(60, AccountQuota.objects.exclude(synced_at=None).exists)

    row = AccountQuota.objects.get()
    assert (row.remaining, row.size, row.max_rate) == (150, 200, 14)
