"""Which workers are alive, as they say themselves."""

from django.db import models


class Worker(models.Model):
    """One worker process; the row is written every few seconds while it lives."""

    name = models.TextField(primary_key=True)  # host and process
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    busy_streams = models.IntegerField()  # streams it is working on
    claimed_at = models.DateTimeField(null=True)  # when it last got work
    ticked_at = models.DateTimeField(null=True)  # when it last heard beat
