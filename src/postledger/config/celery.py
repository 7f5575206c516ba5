"""The Celery application: `celery -A postledger.config worker`."""

import os

import django
from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
django.setup()

from django.conf import settings  # noqa: E402  settings are there once Django is set up

from postledger.lib import wake  # noqa: E402
from postledger.workers import beat, bell, engine, importer, queues, schedule, upkeep  # noqa: E402

app = Celery("postledger", fixups=[])
app.conf.update(
    queues.settings(settings.CELERY_BROKER_URL, settings.QUEUE_PREFIX),
    beat_schedule=schedule.SCHEDULE,
)
app.autodiscover_tasks(["postledger.workers"])
app.steps["worker"].add(engine.DispatchStep)
app.steps["worker"].add(importer.ImportStep)
app.steps["worker"].add(upkeep.UpkeepStep)
app.steps["worker"].add(beat.BeatStep)
app.set_default()
wake.install(bell.Bell().ring)


@setup_logging.connect
def _keep_logging(**_: object) -> None:
    """Celery sets no logging up where somebody listens: ours is there already."""
