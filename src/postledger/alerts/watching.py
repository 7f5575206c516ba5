"""Opens, updates and closes alerts, and has them told."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog
from django.db import transaction

from postledger.accounts.models import Workspace
from postledger.alerts import detection, facts, telling
from postledger.alerts.detection import Finding
from postledger.alerts.models import Alert, Watch
from postledger.dispatch import heartbeat
from postledger.lib.database_outage import OUTAGE_ERRORS

_log = structlog.get_logger(__name__)

# A cause that comes back sooner is the same alert again.
QUIET_FOR = timedelta(hours=6)


def watch(now: datetime) -> None:
    """Looks at all workspaces once. Several processes may do so at once: a cause opens one alert,
    and that is told once. Trouble with one workspace stops no other.
    """
    _note_watch(now)
    for workspace_id, read in facts.read_all(now).items():
        try:
            keep_alerts(workspace_id, detection.detect(read, now=now), now=now)
            telling.tell(workspace_id, now=now)
        except OUTAGE_ERRORS:
            raise
        except Exception:  # noqa: BLE001  the other workspaces still have to be looked at
            _log.exception("the alerts of a workspace were not kept", workspace=workspace_id)


def keep_alerts(workspace_id: int, findings: Sequence[Finding], *, now: datetime) -> None:
    """Makes the open alerts of a workspace agree with what was found.

    What was found earlier than somebody else looked changes nothing.
    """
    with transaction.atomic():
        # Whoever keeps the alerts of this workspace at the same time waits here.
        Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
        causes = {(finding.cause, finding.subject) for finding in findings}
        for finding in findings:
            _keep_open(workspace_id, finding, now)
        for alert in Alert.objects.filter(workspace_id=workspace_id, closed_at=None):
            if (alert.cause, alert.subject) not in causes and alert.last_at <= now:
                alert.closed_at = now
                alert.save(update_fields=["closed_at"])
                _log.info("alert closed", workspace=workspace_id, cause=alert.cause)


def _keep_open(workspace_id: int, finding: Finding, now: datetime) -> None:
    alert = _find_latest(workspace_id, finding, now)
    if alert is None:
        _open(workspace_id, finding, now)
        return
    if alert.last_at > now or (alert.closed_at is not None and alert.closed_at > now):
        return
    if alert.closed_at is not None:
        alert.closed_at = None
        alert.times += 1
    alert.last_at, alert.count, alert.data = now, finding.count, dict(finding.data)
    alert.save(update_fields=["closed_at", "times", "last_at", "count", "data"])


def _find_latest(workspace_id: int, finding: Finding, now: datetime) -> Alert | None:
    """The open alert of this cause and subject, or the last one if it has closed a while ago."""
    same = Alert.objects.filter(
        workspace_id=workspace_id, cause=finding.cause.value, subject=finding.subject
    )
    alert = same.order_by("-pk").first()
    is_over = alert and alert.closed_at is not None and alert.closed_at <= now - QUIET_FOR
    return None if is_over else alert


def _open(
    workspace_id: int, finding: Finding, now: datetime, *, closed_at: datetime | None = None
) -> None:
    Alert.objects.create(
        workspace_id=workspace_id,
        cause=finding.cause.value,
        subject=finding.subject,
        first_at=finding.since,
        last_at=now,
        count=finding.count,
        data=dict(finding.data),
        opened_at=now,
        closed_at=closed_at,
    )
    _log.warning("alert opened", workspace=workspace_id, cause=finding.cause.value)


def _note_watch(now: datetime) -> None:
    """Stores that somebody looks now. Where nobody could for a while because no worker ran, every
    workspace gets an alert that is closed already: it is over, and nobody is told by mail.
    """
    with transaction.atomic():
        Watch.objects.bulk_create([Watch(watched_at=now)], ignore_conflicts=True)
        row = Watch.objects.select_for_update().get()
        gap = detection.find_missing_worker(
            watched_at=row.watched_at, has_worker=_worker_lived_since(row.watched_at), now=now
        )
        if gap is not None:
            for workspace_id in Workspace.objects.values_list("pk", flat=True):
                _open(workspace_id, gap, now, closed_at=now)
        Watch.objects.filter(watched_at__lt=now).update(watched_at=now)


def _worker_lived_since(moment: datetime) -> bool:
    """Whether a worker that lives now lived already then: its upkeep was late, it was not gone."""
    return heartbeat.alive().filter(started_at__lte=moment).exists()
