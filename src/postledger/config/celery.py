"""The Celery application: `celery -A postledger.config worker`."""

import os

import django
from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
django.setup()

from django.conf import settings  # noqa: E402  settings exist once Django is set up

from postledger.lib import wake  # noqa: E402
from postledger.workers import (  # noqa: E402
    celery_settings,
    dispatcher_step,
    feedback_step,
    importer_step,
    quota_step,
    tasks,
    upkeep_step,
)
from postledger.workers.celery_parts import BeatStep  # noqa: E402

app = Celery("postledger", fixups=[])
app.conf.update(
    celery_settings.settings(settings.CELERY_BROKER_URL, settings.QUEUE_PREFIX),
    beat_schedule=tasks.SCHEDULE,
)
for step in (
    dispatcher_step.DispatchStep,
    importer_step.ImportStep,
    feedback_step.FeedbackStep,
    quota_step.QuotaStep,
    upkeep_step.UpkeepStep,
    BeatStep,
):
    app.steps["worker"].add(step)
app.set_default()
wake.install(wake.WakeSender(tasks.publish_wake_up).notify)


@setup_logging.connect
def _keep_logging(**_: object) -> None:
    """Keeps our logging: Celery configures none while this signal has a receiver."""
