"""Who may be mailed: a workspace's contacts and lists, what they agreed to, and who must not be.

A foreign key has no index of its own where another one begins with it, or where nobody looks that
way: ten million contacts pay for each index. Where a table has a row or more for each contact, it
has no constraint either: triggers of migration 0005 hold the reference, once for each statement.
"""

from enum import StrEnum

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, GinIndex
from django.db import models
from django.db.models.functions import Collate, Length, Lower, Now
from django.db.models.lookups import Exact

from postledger.accounts.models import Workspace
from postledger.contacts.states import (
    ConsentAction,
    ContactState,
    ListKind,
    SubscriptionState,
    SuppressionReason,
)


def _one_of(field: str, words: type[StrEnum], *, name: str) -> models.CheckConstraint:
    # Sorted: their order in the vocabulary may mean something, and may change.
    allowed = tuple(sorted(word.value for word in words))
    return models.CheckConstraint(condition=models.Q((f"{field}__in", allowed)), name=name)


def _minute(field: str) -> models.Q:
    return models.Q((f"{field}__gte", 0), (f"{field}__lte", 1440))


class Contact(models.Model):
    """A person a workspace knows by an address; a deleted one is never mailed."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, db_index=False, db_constraint=False
    )
    address = models.TextField()
    # The lower-case addresses it had before, written by a trigger of migration 0006; None: none.
    former_addresses = ArrayField(models.TextField(), null=True)
    external_id = models.TextField(null=True)  # the workspace's own name for this person
    name = models.TextField(db_default="")
    from_name = models.TextField(null=True)  # who mail to this person comes from; None: the sender
    locale = models.TextField(null=True)
    time_zone = models.TextField(null=True)  # None: the workspace's
    attributes = models.JSONField(db_default={})
    ocd_ids = ArrayField(models.TextField(), db_default=[])
    state = models.TextField(db_default=ContactState.ACTIVE.value)
    # Known by a form alone, which anybody can fill in; until one of its subscriptions is active.
    is_unconfirmed = models.BooleanField(db_default=False)
    # The provider's words on the last bounce, and when the state was last told.
    bounce_type = models.TextField(null=True)
    bounce_subtype = models.TextField(null=True)
    state_changed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # Serves look-ups by address and, by its collation, the order in which an audience is
            # walked through.
            models.UniqueConstraint(
                "workspace",
                Collate(Lower("address"), "C"),
                condition=models.Q(deleted_at=None),
                name="contacts_contact_once",
            ),
            # Serves look-ups by the workspace's own id.
            models.UniqueConstraint(
                fields=["workspace", "external_id"],
                condition=models.Q(deleted_at=None, external_id__isnull=False),
                name="contacts_contact_external_once",
            ),
            models.CheckConstraint(
                condition=Exact(
                    models.Func(
                        "attributes", function="jsonb_typeof", output_field=models.TextField()
                    ),
                    models.Value("object"),
                ),
                name="contacts_contact_attributes",
            ),
            _one_of("state", ContactState, name="contacts_contact_state"),
        )
        indexes = (
            # Serves the erasing of an address that a contact had before; of few rows.
            GinIndex(
                fields=["former_addresses"],
                condition=models.Q(former_addresses__isnull=False),
                name="contacts_contact_by_former",
            ),
            # Serves filters for what an attribute is or has.
            GinIndex(
                fields=["attributes"],
                opclasses=["jsonb_path_ops"],
                name="contacts_contact_by_attribute",
            ),
            # Serves filters by place.
            GinIndex(fields=["ocd_ids"], name="contacts_contact_by_place"),
            # Serves counts of everybody, of the active ones and of lists, without a look at the
            # table, whose rows are wide.
            models.Index(
                fields=["workspace", "id"],
                include=["state"],
                condition=models.Q(deleted_at=None),
                name="contacts_contact_there",
            ),
            # Serves filters by state: the active ones are nearly all, the others are few.
            models.Index(
                fields=["workspace", "state"],
                condition=models.Q(deleted_at=None) & ~models.Q(state=ContactState.ACTIVE.value),
                name="contacts_contact_not_active",
            ),
            # Serves syncs, which must not bring back whom somebody deleted; of few rows.
            models.Index(
                "workspace",
                Collate(Lower("address"), "C"),
                condition=models.Q(deleted_at__isnull=False),
                name="contacts_contact_deleted",
            ),
            # Serves filters for a language.
            models.Index(
                fields=["workspace", "locale"],
                condition=models.Q(deleted_at=None, locale__isnull=False),
                name="contacts_contact_by_locale",
            ),
            # Serves filters by age: rows lie in the order in which they came, so a small map of
            # page ranges is enough.
            BrinIndex(fields=["created_at"], autosummarize=True, name="contacts_contact_by_age"),
            # Serves filters for whose state changed lately.
            models.Index(
                fields=["workspace", "state_changed_at"],
                condition=models.Q(deleted_at=None, state_changed_at__isnull=False),
                name="contacts_contact_changed",
            ),
        )


class List(models.Model):
    """What can be subscribed to. `general` is none of them: it means all that a workspace sends."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    key = models.TextField()
    name = models.TextField()
    kind = models.TextField(db_default=ListKind.LIST.value)
    is_public = models.BooleanField(db_default=False)  # people may find it and subscribe
    created_at = models.DateTimeField(db_default=Now())
    archived_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # Serves the look-up of a list by its key, and a workspace's lists in their order.
            models.UniqueConstraint(fields=["workspace", "key"], name="contacts_list_once"),
            models.CheckConstraint(
                condition=models.Q(key__regex=r"^[a-z0-9][a-z0-9-]{0,63}$")
                & ~models.Q(key="general"),
                name="contacts_list_key",
            ),
            _one_of("kind", ListKind, name="contacts_list_kind"),
        )


class Subscription(models.Model):
    """A contact's consent to one list, and how it wants to be mailed."""

    contact = models.ForeignKey(
        Contact, on_delete=models.PROTECT, db_index=False, db_constraint=False
    )
    list = models.ForeignKey(List, on_delete=models.PROTECT, db_index=False, db_constraint=False)
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())
    state = models.TextField()
    locale = models.TextField(null=True)  # None: the contact's
    notify_on = ArrayField(models.TextField(), null=True)  # None: everything that happens
    max_notifications = models.IntegerField(null=True)
    # Minutes of the local day; until < from wraps midnight, equal ones are always open.
    window_from = models.SmallIntegerField(null=True)
    window_until = models.SmallIntegerField(null=True)
    snooze_until = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # Serves the gates' question for one list, and a contact's subscriptions.
            models.UniqueConstraint(fields=["contact", "list"], name="contacts_subscription_once"),
            _one_of("state", SubscriptionState, name="contacts_subscription_state"),
            models.CheckConstraint(
                condition=models.Q(window_from=None, window_until=None)
                | (_minute("window_from") & _minute("window_until")),
                name="contacts_subscription_window",
            ),
            models.CheckConstraint(
                condition=models.Q(max_notifications=None) | models.Q(max_notifications__gte=1),
                name="contacts_subscription_most",
            ),
        )
        indexes = (
            # Serves who is on a list and in which state, without a look at the table.
            models.Index(fields=["list", "state", "contact"], name="contacts_subscription_of_list"),
        )


class ConsentEvent(models.Model):
    """What happened to a consent: who, when, from where, and on which words.

    Rows are only added. A trigger of the migration refuses every change, and every deletion but
    those of `contacts_erase_consent` and `contacts_erase_address`, by which a person is forgotten.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, db_index=False, db_constraint=False
    )
    # None: nobody was known by the address then; its hash says which one it was.
    contact = models.ForeignKey(
        Contact, on_delete=models.PROTECT, null=True, db_index=False, db_constraint=False
    )
    address_hash = models.BinaryField(null=True)
    # None: everything that the workspace sends.
    list = models.ForeignKey(
        List, on_delete=models.PROTECT, null=True, db_index=False, db_constraint=False
    )
    at = models.DateTimeField(db_default=Now())
    action = models.TextField()
    before = models.TextField(null=True)  # the contact's state, or that of its subscription
    after = models.TextField(null=True)
    source = models.TextField()  # the form, page, file or event that it came by
    actor = models.TextField()
    text_version = models.TextField(db_default="")  # of the words that were agreed to
    ip = models.GenericIPAddressField(null=True)
    detail = models.TextField(db_default="")

    class Meta:
        constraints = (
            _one_of("action", ConsentAction, name="contacts_consent_action"),
            models.CheckConstraint(
                condition=models.Q(contact__isnull=False) | models.Q(address_hash__isnull=False),
                name="contacts_consent_whose",
            ),
        )
        indexes = (
            # Serves a contact's history, newest first.
            models.Index(fields=["contact", "-id"], name="contacts_consent_newest"),
            # Serves the history of an address from before it had a contact.
            models.Index(
                fields=["workspace", "address_hash"],
                condition=models.Q(contact=None),
                name="contacts_consent_of_address",
            ),
        )


class Suppression(models.Model):
    """An address that a workspace must not mail, or must not mail one list's mail.

    Found by the hash of the address alone, which a trigger of the migration writes: the address
    itself is there for people to read, and goes when its owner asks to be forgotten.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    address = models.TextField(null=True)
    address_hash = models.BinaryField()
    # None: all mail, whatever it is.
    list = models.ForeignKey(List, on_delete=models.PROTECT, null=True, db_index=False)
    reason = models.TextField()
    # Its owner left by a wish of their own, which is remembered under a stronger reason.
    has_left = models.BooleanField(db_default=False)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            # Serves the gates: one look-up finds the row for all mail and the one for a list.
            models.UniqueConstraint(
                fields=["workspace", "address_hash", "list"],
                nulls_distinct=False,
                name="contacts_suppression_once",
            ),
            models.CheckConstraint(
                condition=Exact(Length("address_hash"), 16), name="contacts_suppression_hash"
            ),
            _one_of("reason", SuppressionReason, name="contacts_suppression_reason"),
            models.CheckConstraint(
                condition=models.Q(has_left=True)
                | ~models.Q(reason=SuppressionReason.UNSUBSCRIBED.value),
                name="contacts_suppression_left",
            ),
        )
        indexes = (
            # Serves the question whether anybody is kept back whose state does not say so.
            models.Index(
                fields=["workspace"],
                condition=models.Q(reason=SuppressionReason.BY_HAND.value),
                name="contacts_suppression_by_hand",
            ),
        )


# Django finds models here and nowhere else.
from postledger.contacts.importing.models import Import as Import  # noqa: E402, PLC0414
from postledger.contacts.supabase.models import (  # noqa: E402
    SupabaseSync as SupabaseSync,  # noqa: PLC0414
)
