"""Who sends: workspaces, their members and keys, and the identities and accounts they send with."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower, Now


class Workspace(models.Model):
    """A tenant: nothing is ever shared between two of them."""

    name = models.TextField()
    # What a footer says: who sends, from where, and the page on which mail can be stopped.
    org_name = models.TextField(db_default="")
    org_address = models.TextField(db_default="")
    unsubscribe_base_url = models.TextField(db_default="")
    time_zone = models.TextField(db_default="UTC")  # of contacts of whom nobody knows theirs
    test_emails = models.TextField(db_default="")  # whom a campaign's test goes to
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(Lower("name"), name="accounts_workspace_once"),)


class Member(models.Model):
    """A person who acts for a workspace."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    email = models.TextField()
    name = models.TextField(default="")
    role = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint("workspace", Lower("email"), name="accounts_member_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=("owner", "member")), name="accounts_member_role"
            ),
        )


class ApiKey(models.Model):
    """A program's way in: shown once as prefix.secret, kept as the prefix and the secret's hash."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    name = models.TextField()
    prefix = models.TextField(unique=True)
    secret_hash = models.BinaryField()
    scopes = ArrayField(models.TextField())
    # Mails of a test key go to the sandbox, whatever account the sender has.
    is_test = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now())
    last_used_at = models.DateTimeField(null=True)
    # A key that was rotated works on until then, so that both can be in use for a while.
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)


class ProviderAccount(models.Model):
    """An account at a provider; its settings, credentials among them, are sealed."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    name = models.TextField()
    kind = models.TextField()
    sealed_settings = models.BinaryField()
    created_at = models.DateTimeField(db_default=Now())
    # Who keeps an open provider sees by this that it must be opened anew.
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["workspace", "name"], name="accounts_account_once"),
            # What a sender refers to: the workspace and the account together, by a foreign key
            # that the migration adds, so that no sender has another workspace's account.
            models.UniqueConstraint(fields=["workspace", "id"], name="accounts_account_own"),
        )


class Sender(models.Model):
    """A From identity; limits and holds apply to it as a whole."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    # None: nobody has said yet who takes its mail, so its mail waits.
    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT, null=True)
    address = models.TextField()
    name = models.TextField(default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint("workspace", Lower("address"), name="accounts_sender_once"),
        )


class Integration(models.Model):
    """What a workspace works with beside sending; its settings, secrets among them, are sealed."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    kind = models.TextField()
    # None: taken away. The row stays, so that the environment does not bring it back.
    sealed_settings = models.BinaryField(null=True)
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["workspace", "kind"], name="accounts_integration_once"),
            models.CheckConstraint(
                condition=models.Q(kind__in=("notion", "supabase", "admin")),
                name="accounts_integration_kind",
            ),
        )


class AuditEntry(models.Model):
    """Who changed what of a workspace, and when; never changed, never holds a secret."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    at = models.DateTimeField(db_default=Now())
    actor = models.TextField()
    action = models.TextField()
    subject = models.TextField()
    data = models.JSONField(default=dict)

    class Meta:
        # Serves the newest entries of a workspace.
        indexes = (models.Index(fields=["workspace", "-at"], name="accounts_audit_newest"),)
