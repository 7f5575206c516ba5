"""A workspace's contacts and lists, the consents of its contacts, and suppressed addresses.

A foreign key has no index of its own where another one begins with it, or where no query needs it:
ten million contacts pay for each index. Where a table has a row or more for each contact, it has no
constraint either: triggers of references.sql hold the reference, once for each statement.
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
from postledger.lib.values import KEY_PATTERN


def _one_of(field: str, words: type[StrEnum], *, name: str) -> models.CheckConstraint:
    # Sorted: the order of the enum may change.
    allowed = tuple(sorted(word.value for word in words))
    return models.CheckConstraint(condition=models.Q((f"{field}__in", allowed)), name=name)


def _minute(field: str) -> models.Q:
    return models.Q((f"{field}__gte", 0), (f"{field}__lte", 1440))


class Contact(models.Model):
    """A person with an address; a deleted contact is never mailed."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, db_index=False, db_constraint=False
    )
    address = models.TextField()
    # Its former addresses in lowercase, written by a trigger of consent.sql; None: it had none.
    former_addresses = ArrayField(models.TextField(), null=True)
    external_id = models.TextField(null=True)  # the workspace's own identifier
    name = models.TextField(db_default="")
    from_name = models.TextField(null=True)  # of the mail to this person; None: the sender's
    locale = models.TextField(null=True)
    time_zone = models.TextField(null=True)  # None: the workspace's
    attributes = models.JSONField(db_default={})
    ocd_ids = ArrayField(models.TextField(), db_default=[])
    state = models.TextField(db_default=ContactState.ACTIVE.value)
    # Created by a form, which anybody can fill in, or by an import whose file calls it unconfirmed
    # or not subscribed; and without an active subscription so far.
    is_unconfirmed = models.BooleanField(db_default=False)
    # The provider's types of the last bounce, and the time of the last report about the state.
    bounce_type = models.TextField(null=True)
    bounce_subtype = models.TextField(null=True)
    bounce_at = models.DateTimeField(null=True)  # as the provider says
    state_changed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # Serves look-ups by address and, by its collation, the order of an audience walk.
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
            # Serves the erasure of a former address; of few rows.
            GinIndex(
                fields=["former_addresses"],
                condition=models.Q(former_addresses__isnull=False),
                name="contacts_contact_by_former",
            ),
            # Serves filters by the value of an attribute.
            GinIndex(
                fields=["attributes"],
                opclasses=["jsonb_path_ops"],
                name="contacts_contact_by_attribute",
            ),
            # Serves filters by OCD id.
            GinIndex(fields=["ocd_ids"], name="contacts_contact_by_place"),
            # Serves counts of all contacts, of active ones and of lists, without reading the table,
            # whose rows are wide.
            models.Index(
                fields=["workspace", "id"],
                include=["state"],
                condition=models.Q(deleted_at=None),
                name="contacts_contact_there",
            ),
            # Serves filters by state: nearly all contacts are active.
            models.Index(
                fields=["workspace", "state"],
                condition=models.Q(deleted_at=None) & ~models.Q(state=ContactState.ACTIVE.value),
                name="contacts_contact_not_active",
            ),
            # Serves syncs, which must not restore a contact that a person deleted; of few rows.
            models.Index(
                "workspace",
                Collate(Lower("address"), "C"),
                condition=models.Q(deleted_at__isnull=False),
                name="contacts_contact_deleted",
            ),
            # Serves filters by locale.
            models.Index(
                fields=["workspace", "locale"],
                condition=models.Q(deleted_at=None, locale__isnull=False),
                name="contacts_contact_by_locale",
            ),
            # Serves filters by age: rows are stored in the order of creation, so a small map of
            # page ranges is enough.
            BrinIndex(fields=["created_at"], autosummarize=True, name="contacts_contact_by_age"),
            # Serves the removal of those who never confirmed; of few rows.
            models.Index(
                fields=["created_at"],
                condition=models.Q(deleted_at=None, is_unconfirmed=True),
                name="contacts_contact_unconfirmed",
            ),
            # Serves filters by the time of the last change of state.
            models.Index(
                fields=["workspace", "state_changed_at"],
                condition=models.Q(deleted_at=None, state_changed_at__isnull=False),
                name="contacts_contact_changed",
            ),
        )


class List(models.Model):
    """A list or topic. `general` is not one of them: it stands for all lists."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    key = models.TextField()
    name = models.TextField()
    kind = models.TextField(db_default=ListKind.LIST.value)
    is_public = models.BooleanField(db_default=False)  # recipients may find it and subscribe
    created_at = models.DateTimeField(db_default=Now())
    archived_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # Serves the look-up of a list by its key, and a workspace's lists in their order.
            models.UniqueConstraint(fields=["workspace", "key"], name="contacts_list_once"),
            models.CheckConstraint(
                condition=models.Q(key__regex=KEY_PATTERN) & ~models.Q(key="general"),
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
            # Serves the gates' look-up for one list, and a contact's subscriptions.
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
            # Serves the contacts of a list by state, without reading the table.
            models.Index(fields=["list", "state", "contact"], name="contacts_subscription_of_list"),
        )


class ConsentEvent(models.Model):
    """A change of consent: the action, its time, and its origin as the proof.

    Rows are only added. A trigger of the migration refuses every change, and every deletion but
    those of `contacts_erase_consent` and `contacts_erase_address`, by which a person is erased.
    """

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, db_index=False, db_constraint=False
    )
    # None: the address had no contact then; its hash identifies it.
    contact = models.ForeignKey(
        Contact, on_delete=models.PROTECT, null=True, db_index=False, db_constraint=False
    )
    address_hash = models.BinaryField(null=True)
    # None: all lists.
    list = models.ForeignKey(
        List, on_delete=models.PROTECT, null=True, db_index=False, db_constraint=False
    )
    at = models.DateTimeField(db_default=Now())
    action = models.TextField()
    before = models.TextField(null=True)  # the contact's state, or that of its subscription
    after = models.TextField(null=True)
    source = models.TextField()  # the form, page, file or event
    actor = models.TextField()
    text_version = models.TextField(db_default="")  # of the text that the contact agreed to
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
            # Serves the count of those who left after a campaign.
            models.Index(
                fields=["workspace", "at"],
                condition=models.Q(action=ConsentAction.UNSUBSCRIBED.value),
                name="contacts_consent_left",
            ),
        )


class Suppression(models.Model):
    """An address that a workspace must not mail, at all or for one list.

    It is looked up by the keyed hash of the address. The address itself is shown to people, and
    deleted when its owner is erased.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    address = models.TextField(null=True)
    address_hash = models.BinaryField()
    # None: all mail.
    list = models.ForeignKey(List, on_delete=models.PROTECT, null=True, db_index=False)
    reason = models.TextField()
    # Its owner unsubscribed, or complained and bounced; kept under a stronger reason.
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
            # Serves the audience walk: only these suppressions do not show in a state.
            models.Index(
                fields=["workspace"],
                condition=models.Q(reason=SuppressionReason.BY_HAND.value),
                name="contacts_suppression_by_hand",
            ),
            # Serves mail to all contacts: where nobody left a list, no address is looked up.
            models.Index(
                fields=["workspace", "list"],
                condition=models.Q(list__isnull=False),
                name="contacts_suppression_of_list",
            ),
            # Serves the pages of all of them, newest first.
            models.Index(fields=["workspace", "id"], name="contacts_suppression_by_age"),
        )


class Segment(models.Model):
    """A filter under a name, which people choose for searches and campaigns."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    name = models.TextField()
    filter = models.JSONField()  # as audience filters are written
    created_at = models.DateTimeField(db_default=Now())
    actor = models.TextField()

    class Meta:
        constraints = (
            # Serves a workspace's segments by name.
            models.UniqueConstraint(fields=["workspace", "name"], name="contacts_segment_once"),
        )


class FormBlock(models.Model):
    """The owner of a mailbox wants no mail that a subscribe form of the workspace sends."""

    pk = models.CompositePrimaryKey("workspace_id", "mailbox_hash")
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, db_index=False)
    mailbox_hash = models.BinaryField()  # keyed, of what all aliases of the mailbox share
    created_at = models.DateTimeField(db_default=Now())
