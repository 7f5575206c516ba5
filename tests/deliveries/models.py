"""The ledger's tables as models, where a test is shorter with them; only what tests use of them.

The label is of no app: Django neither migrates these models nor asks them when a row is deleted.
"""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now


class Stream(models.Model):
    id = models.BigIntegerField(primary_key=True)
    workspace_id = models.BigIntegerField()
    sender_id = models.BigIntegerField()
    is_trial = models.BooleanField(db_default=False)
    folded_at = models.DateTimeField(null=True)
    reported = models.BigIntegerField(db_default=0)
    objects: ClassVar[models.Manager["Stream"]] = models.Manager()

    class Meta:
        app_label = "tests"
        managed = False
        db_table = "deliveries_stream"


class StreamDelta(models.Model):
    id = models.BigAutoField(primary_key=True)
    stream_id = models.BigIntegerField()
    at = models.DateTimeField(db_default=Now())
    accepted = models.IntegerField(db_default=0)
    delivered = models.IntegerField(db_default=0)
    bounced = models.IntegerField(db_default=0)
    soft_bounced = models.IntegerField(db_default=0)
    on_suppression_list = models.IntegerField(db_default=0)
    complained = models.IntegerField(db_default=0)
    reported = models.IntegerField(db_default=0)
    objects: ClassVar[models.Manager["StreamDelta"]] = models.Manager()

    class Meta:
        app_label = "tests"
        managed = False
        db_table = "deliveries_streamdelta"


class StreamPace(models.Model):
    pk = models.CompositePrimaryKey("stream_id", "slot")
    stream_id = models.BigIntegerField()
    slot = models.DateTimeField()
    accepted = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    skipped = models.IntegerField(default=0)
    suppressed = models.IntegerField(default=0)
    expired = models.IntegerField(default=0)
    cancelled = models.IntegerField(default=0)
    in_doubt = models.IntegerField(default=0)
    delivered = models.IntegerField(default=0)
    bounced = models.IntegerField(default=0)
    complained = models.IntegerField(default=0)
    reported = models.IntegerField(default=0)
    objects: ClassVar[models.Manager["StreamPace"]] = models.Manager()

    class Meta:
        app_label = "tests"
        managed = False
        db_table = "deliveries_streampace"


class Delivery(models.Model):
    pk = models.CompositePrimaryKey("stream_id", "position")
    stream_id = models.BigIntegerField()
    position = models.BigIntegerField()
    address = models.TextField()
    state = models.TextField()
    settled_at = models.DateTimeField(null=True)
    objects: ClassVar[models.Manager["Delivery"]] = models.Manager()

    class Meta:
        app_label = "tests"
        managed = False
        db_table = "deliveries_delivery"


class Body(models.Model):
    pk = models.CompositePrimaryKey("stream_id", "position")
    stream_id = models.BigIntegerField()
    position = models.BigIntegerField()
    subject = models.TextField()
    html = models.TextField()
    text = models.TextField()
    tags = models.JSONField(null=True)
    objects: ClassVar[models.Manager["Body"]] = models.Manager()

    class Meta:
        app_label = "tests"
        managed = False
        db_table = "deliveries_body"
