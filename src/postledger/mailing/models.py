"""Which letter of a stream each group of its recipients gets."""

from dataclasses import dataclass

from django.db import models


@dataclass(frozen=True, slots=True)
class LetterStream:
    """A stream of letters, and what all of them share."""

    id: int
    workspace_id: int
    list_key: str  # empty: all that the workspace sends
    request_id: str
    is_test: bool = False  # its mails say so, in the subject and in a header


class Variant(models.Model):
    """A group of a stream's recipients that share a letter; without a letter, the code says why."""

    pk = models.CompositePrimaryKey("stream_id", "digest")
    # No foreign key: nothing refers to a stream by one (docs/decisions, 0008).
    stream_id = models.BigIntegerField()
    digest = models.BinaryField()  # of the variant, which may be too long for an index
    variant = models.TextField(db_collation="C")  # their language, or their places
    letter = models.SmallIntegerField(null=True)
    code = models.TextField(db_default="")
