"""The tables of the ledger, as Django sees them; their SQL is in migrations/ledger.sql.

Only `ledger/` writes them. No foreign key leads to a stream: each insert of a child would lock
and write the stream's row, which thousands of inserts a second share.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from postledger.accounts.models import Member, Sender, Workspace


class Stream(models.Model):
    """A flow of deliveries that is held, cancelled and counted together."""

    id = models.BigIntegerField(primary_key=True)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    sender = models.ForeignKey(Sender, on_delete=models.PROTECT)
    # Who launched it, where a person did.
    member = models.ForeignKey(Member, on_delete=models.PROTECT, null=True)
    kind = models.TextField()
    title = models.TextField()
    is_test = models.BooleanField(db_default=False)
    is_trial = models.BooleanField(db_default=False)
    # Hours of each recipient's own day, as `accounts.working_hours` writes them; None: always.
    delivery_window = models.JSONField(null=True)
    epoch = models.IntegerField(db_default=1)  # in which it was opened
    lifted_epoch = models.IntegerField(null=True)  # in which the fence was lifted for it alone
    next_position = models.BigIntegerField(db_default=0)
    cancelled_at = models.DateTimeField(null=True)
    cancelled_by = models.TextField(null=True)
    block_code = models.TextField(null=True)
    block_category = models.TextField(null=True)
    block_original_code = models.TextField(null=True)
    block_detail = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    folded_at = models.DateTimeField(null=True)
    planned = models.BigIntegerField(db_default=0)
    accepted = models.BigIntegerField(db_default=0)
    failed = models.BigIntegerField(db_default=0)
    skipped = models.BigIntegerField(db_default=0)
    suppressed = models.BigIntegerField(db_default=0)
    expired = models.BigIntegerField(db_default=0)
    cancelled = models.BigIntegerField(db_default=0)
    in_doubt = models.BigIntegerField(db_default=0)
    # What providers reported, beside the books.
    delivered = models.BigIntegerField(db_default=0)
    bounced = models.BigIntegerField(db_default=0)
    soft_bounced = models.BigIntegerField(db_default=0)
    on_suppression_list = models.BigIntegerField(db_default=0)
    complained = models.BigIntegerField(db_default=0)
    dropped = models.BigIntegerField(db_default=0)
    opened = models.BigIntegerField(db_default=0)
    clicked = models.BigIntegerField(db_default=0)
    reported = models.BigIntegerField(db_default=0)
    # When a person last released it from the guard, and what was counted of the mail before.
    guard_since = models.DateTimeField(null=True)
    guard_accepted = models.BigIntegerField(db_default=0)
    guard_delivered = models.BigIntegerField(db_default=0)
    guard_bounced = models.BigIntegerField(db_default=0)
    guard_complained = models.BigIntegerField(db_default=0)


class StreamHold(models.Model):
    """One cause why a stream may not send, while its end has not come."""

    pk = models.CompositePrimaryKey("stream_id", "reason")
    stream_id = models.BigIntegerField()
    reason = models.TextField()
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    actor = models.TextField()
    detail = models.TextField()


class SenderHold(models.Model):
    """One cause why a sender may not send, while its end has not come."""

    pk = models.CompositePrimaryKey("sender_id", "reason")
    sender = models.ForeignKey(Sender, on_delete=models.PROTECT)
    reason = models.TextField()
    since = models.DateTimeField()
    until = models.DateTimeField(null=True)
    actor = models.TextField()
    detail = models.TextField()
    is_account = models.BooleanField()  # every sender of the account is held, each by its own row
    times = models.SmallIntegerField()  # how often in a row the provider was found broken
    code = models.TextField(null=True)
    category = models.TextField(null=True)
    original_code = models.TextField(null=True)
    fails_at = models.DateTimeField(null=True)  # waiting mail of a blocked sender, from then on
    probe_lease = models.BigIntegerField(null=True)  # the claim that may try one mail
    probe_until = models.DateTimeField(null=True)  # the others wait for it


class DeadAddress(models.Model):
    """A refusal that says that an address does not work, until the contacts follow."""

    pk = models.CompositePrimaryKey("stream_id", "position")
    stream_id = models.BigIntegerField()
    position = models.BigIntegerField()
    code = models.TextField()
    at = models.DateTimeField()


class Lane(models.Model):
    """A stream that may have work, and when it last had its turn; small, walked for fairness."""

    stream_id = models.BigIntegerField(primary_key=True)
    priority = models.SmallIntegerField()
    turn_at = models.DateTimeField()


class Batch(models.Model):
    """Live work: a run of positions with its time, its reason, its lease and its armed window."""

    id = models.BigAutoField(primary_key=True)
    stream_id = models.BigIntegerField()
    lo = models.BigIntegerField()
    hi = models.BigIntegerField()
    armed_to = models.BigIntegerField(null=True)
    is_single = models.BooleanField()
    try_number = models.IntegerField()
    due_at = models.DateTimeField()
    reason = models.TextField()
    since = models.DateTimeField()
    lease = models.BigIntegerField(null=True)
    lease_until = models.DateTimeField(null=True)
    version = models.IntegerField(db_default=0)
    losses = models.SmallIntegerField(db_default=0)  # leases lost before arming
    lone_losses = models.SmallIntegerField(db_default=0)  # of these, while it was claimed alone
    planned = models.IntegerField(db_default=0)


class Lease(models.Model):
    """One claim: who took which batches; where the sweep looks for lost ones."""

    token = models.BigIntegerField(primary_key=True)
    holder = models.TextField()
    taken_at = models.DateTimeField()
    check_at = models.DateTimeField()
    is_alone = models.BooleanField()
    batch_ids = ArrayField(models.BigIntegerField())


class StreamDelta(models.Model):
    """A change of a stream's counters, not yet folded into its row."""

    id = models.BigAutoField(primary_key=True)
    stream_id = models.BigIntegerField()
    at = models.DateTimeField(db_default=Now())
    planned = models.IntegerField(db_default=0)
    accepted = models.IntegerField(db_default=0)
    failed = models.IntegerField(db_default=0)
    skipped = models.IntegerField(db_default=0)
    suppressed = models.IntegerField(db_default=0)
    expired = models.IntegerField(db_default=0)
    cancelled = models.IntegerField(db_default=0)
    in_doubt = models.IntegerField(db_default=0)
    delivered = models.IntegerField(db_default=0)
    bounced = models.IntegerField(db_default=0)
    soft_bounced = models.IntegerField(db_default=0)
    on_suppression_list = models.IntegerField(db_default=0)
    complained = models.IntegerField(db_default=0)
    dropped = models.IntegerField(db_default=0)
    opened = models.IntegerField(db_default=0)
    clicked = models.IntegerField(db_default=0)
    reported = models.IntegerField(db_default=0)


class StreamPace(models.Model):
    """How many results and reports a stream got in one slot of time."""

    pk = models.CompositePrimaryKey("stream_id", "slot")
    stream_id = models.BigIntegerField()
    slot = models.DateTimeField()
    accepted = models.IntegerField()
    failed = models.IntegerField()
    skipped = models.IntegerField()
    suppressed = models.IntegerField()
    expired = models.IntegerField()
    cancelled = models.IntegerField()
    in_doubt = models.IntegerField()
    delivered = models.IntegerField()
    bounced = models.IntegerField()
    complained = models.IntegerField()
    reported = models.IntegerField()


class Delivery(models.Model):
    """One line of the books: written once when planned, once when settled."""

    pk = models.CompositePrimaryKey("stream_id", "position")
    stream_id = models.BigIntegerField()
    position = models.BigIntegerField()
    planned_at = models.DateTimeField()
    address = models.TextField()
    contact_id = models.BigIntegerField(null=True)
    dedupe_key = models.TextField(null=True, db_collation="C")
    variables = models.JSONField(null=True)
    letter = models.SmallIntegerField(db_default=0)
    state = models.TextField(db_default="waiting")
    last_try = models.IntegerField(db_default=0)
    attempts = models.IntegerField(db_default=0)
    code = models.TextField(null=True)
    message_id = models.TextField(null=True)
    duration_ms = models.IntegerField(null=True)
    settled_at = models.DateTimeField(null=True)
    doubts = ArrayField(models.IntegerField(), null=True)
    resend_after = models.DateTimeField(null=True)


class DroppedMonth(models.Model):
    """A month whose lines were dropped; its partitions are never made again."""

    month = models.IntegerField(primary_key=True)
    dropped_at = models.DateTimeField()


class Body(models.Model):
    """The content of one transactional mail; below 0, of all mails of one letter of its stream."""

    pk = models.CompositePrimaryKey("stream_id", "position")
    stream_id = models.BigIntegerField()
    position = models.BigIntegerField()
    request_id = models.TextField()
    subject = models.TextField()
    html = models.TextField()
    text = models.TextField()
    headers = models.JSONField(null=True)
    size = models.IntegerField(db_default=0)  # bytes, as it was stored
    to_name = models.TextField(db_default="")
    reply_to = models.TextField(db_default="")
    tags = models.JSONField(null=True)
    attachments = models.JSONField(null=True)
    letter = models.TextField(db_default="")
    list_key = models.TextField(db_default="")
    # Until when a link in it works that only its reader may see; None: it has none.
    secret_until = models.DateTimeField(null=True)
    digest = models.BinaryField(null=True)  # of what was stored; none once it was emptied


class Word(models.Model):
    """A word that a transactional mail is found by."""

    pk = models.CompositePrimaryKey("stream_id", "word", "position")
    stream_id = models.BigIntegerField()
    word = models.TextField(db_collation="C")
    position = models.BigIntegerField()


class Attempt(models.Model):
    """Every result but a first attempt that was accepted: that one lives on the delivery."""

    pk = models.CompositePrimaryKey("stream_id", "position", "id")
    id = models.BigIntegerField()
    stream_id = models.BigIntegerField()
    position = models.BigIntegerField()
    try_number = models.IntegerField()
    at = models.DateTimeField()
    outcome = models.TextField()
    state = models.TextField()
    code = models.TextField(null=True)
    detail = models.TextField(null=True)
    message_id = models.TextField(null=True)
    duration_ms = models.IntegerField(null=True)
    category = models.TextField(null=True)
    original_code = models.TextField(null=True)
    delay_ms = models.BigIntegerField(null=True)


class DeliveryEvent(models.Model):
    """What evidence and people did to a delivery, in the order it happened."""

    pk = models.CompositePrimaryKey("stream_id", "position", "id")
    id = models.BigIntegerField()
    stream_id = models.BigIntegerField()
    position = models.BigIntegerField()
    at = models.DateTimeField()
    kind = models.TextField()
    actor = models.TextField()
    data = models.JSONField()


class Feedback(models.Model):
    """One fact that a provider reported of a delivery after its hand-over."""

    pk = models.CompositePrimaryKey("stream_id", "position", "key")
    stream_id = models.BigIntegerField()
    position = models.BigIntegerField()
    key = models.TextField(db_collation="C")
    happened_at = models.DateTimeField()
    received_at = models.DateTimeField()
    try_number = models.IntegerField()
    kind = models.TextField()
    counts_as = models.TextField(null=True)
    name = models.TextField()
    code = models.TextField(null=True)
    detail = models.TextField(null=True)
    message_id = models.TextField(null=True)


class ProviderMessage(models.Model):
    """Which delivery a provider's own message id belongs to."""

    pk = models.CompositePrimaryKey("stream_id", "message_id")
    stream_id = models.BigIntegerField()
    message_id = models.TextField()
    position = models.BigIntegerField()
    try_number = models.IntegerField()
