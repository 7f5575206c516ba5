"""The log lines of runs, from launch to end; they name no person."""

from functools import partial

import structlog
from django.db import transaction

from postledger.campaigns.models import Run

_log = structlog.get_logger(__name__)


def log(event: str, run: Run, **details: object) -> None:
    """Logs a change once it is committed."""
    line = partial(
        _log.info,
        event,
        workspace_id=run.workspace_id,
        campaign_id=run.campaign_id,
        run_id=str(run.pk),
        is_test=run.is_test,
        **details,
    )
    transaction.on_commit(line)
