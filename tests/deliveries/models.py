"""The ledger's tables as models, where a test is shorter with them; only what tests use of them.

The label is of no app: Django neither migrates these models nor asks them when a row is deleted.
"""

from django.db import models
from django.db.models.functions import Now


class Stream(models.Model):
    id = models.BigIntegerField(primary_key=True)
    workspace_id = models.BigIntegerField()
    sender_id = models.BigIntegerField()
    kind = models.TextField()
    title = models.TextField()
    is_trial = models.BooleanField(db_default=False)
    created_at = models.DateTimeField(db_default=Now())
    folded_at = models.DateTimeField(null=True)
    planned = models.BigIntegerField(db_default=0)
    failed = models.BigIntegerField(db_default=0)
    reported = models.BigIntegerField(db_default=0)

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
    complained = models.IntegerField(db_default=0)
    reported = models.IntegerField(db_default=0)

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

    class Meta:
        app_label = "tests"
        managed = False
        db_table = "deliveries_body"
