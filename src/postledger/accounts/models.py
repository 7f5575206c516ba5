"""People; workspaces with their members, API keys, provider accounts, senders and integrations."""

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower, Now


class Workspace(models.Model):
    """A tenant: two workspaces share nothing."""

    name = models.TextField()
    # The footer: the sender's name and postal address, and the unsubscribe page.
    org_name = models.TextField(db_default="")
    org_address = models.TextField(db_default="")
    unsubscribe_base_url = models.TextField(db_default="")
    # Of daily limits, and of contacts and working hours without one of their own.
    time_zone = models.TextField(db_default="UTC")
    # When bulk mail may go, as `accounts.working_hours` writes it; None: always. A sender's own
    # hours apply beside these.
    working_hours = models.JSONField(null=True)
    test_emails = models.TextField(db_default="")  # recipients of test sends
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(Lower("name"), name="accounts_workspace_once"),)


class User(AbstractBaseUser):
    """A person who signs in. What they may do in a workspace is their membership's business."""

    email = models.EmailField(unique=True)  # in lower case
    email_changed_at = models.DateTimeField(null=True)
    name = models.TextField(default="")
    language = models.TextField(default="")  # of their pages; empty: as their browser asks
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = BaseUserManager()

    USERNAME_FIELD = "email"


class Member(models.Model):
    """A person's membership in a workspace; until they accept the invitation, without a user."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    user = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    email = models.TextField()
    name = models.TextField(default="")
    role = models.TextField()
    # Of the link that makes the membership a user's; None: there is no invitation to accept.
    invitation_hash = models.BinaryField(null=True)
    invited_until = models.DateTimeField(null=True)
    # From then on they may do nothing; the row stays for the keys and runs that name it.
    removed_at = models.DateTimeField(null=True)
    # Mails of the runs that they launch, in one day of the workspace's zone; None: no limit.
    daily_limit = models.IntegerField(null=True)
    counted_since = models.DateTimeField(null=True)  # when it was last added
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(
                "workspace",
                Lower("email"),
                condition=models.Q(removed_at=None),
                name="accounts_member_once",
            ),
            models.UniqueConstraint(
                fields=["user", "workspace"],
                condition=models.Q(removed_at=None),
                name="accounts_member_user_once",
            ),
            models.UniqueConstraint(
                fields=["invitation_hash"], name="accounts_member_invitation_once"
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=("owner", "manager", "developer", "viewer")),
                name="accounts_member_role",
            ),
            models.CheckConstraint(
                condition=models.Q(daily_limit__gte=1), name="accounts_member_limit"
            ),
            # The target of a foreign key (workspace, member) that the migration adds, so that no
            # key has another workspace's member.
            models.UniqueConstraint(fields=["workspace", "id"], name="accounts_member_own"),
        )


class FirstRunCode(models.Model):
    """The one-time code that lets a person create the first owner; one row at most."""

    id = models.BooleanField(primary_key=True, default=True)
    code_hash = models.BinaryField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(id=True), name="accounts_first_run_only"),
        )


class ApiKey(models.Model):
    """A program's credential: shown once as prefix.secret, stored as prefix and hash."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    name = models.TextField()
    prefix = models.TextField(unique=True)
    secret_hash = models.BinaryField()
    scopes = ArrayField(models.TextField())
    # Mail of a test key goes to the sandbox, whatever account the sender has.
    is_test = models.BooleanField(default=False)
    # Whose runs it launches; None: nobody's daily limit counts them.
    member = models.ForeignKey(Member, on_delete=models.PROTECT, null=True)
    created_at = models.DateTimeField(db_default=Now())
    last_used_at = models.DateTimeField(null=True)
    # A rotated key stays valid until then, so that both can be used for a while.
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)


class ProviderAccount(models.Model):
    """An account at a provider; its settings, credentials included, are sealed."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    name = models.TextField()
    kind = models.TextField()
    sealed_settings = models.BinaryField()
    # Mails a second of all its senders together. None: what its provider says, or no limit.
    rate_per_second = models.FloatField(null=True)
    # The rate that its provider was found to bear; None: it was never throttled.
    tuned_rate = models.FloatField(null=True)
    # Where the quota of an SMTP account is read: URL, header, token and JSON path.
    sealed_quota_source = models.BinaryField(null=True)
    # Connected although its check failed; until it is seen to take mail.
    is_unchecked = models.BooleanField(db_default=False)
    created_at = models.DateTimeField(db_default=Now())
    # An open provider is reopened when this changes.
    updated_at = models.DateTimeField(db_default=Now())
    archived_at = models.DateTimeField(null=True)  # from then on no sender can be attached to it

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["workspace", "name"], name="accounts_account_once"),
            # The target of a foreign key (workspace, account) that the migration adds, so that no
            # sender has another workspace's account.
            models.UniqueConstraint(fields=["workspace", "id"], name="accounts_account_own"),
        )


class Sender(models.Model):
    """A From identity; limits and holds apply to it as a whole."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    # None: its mail waits.
    account = models.ForeignKey(ProviderAccount, on_delete=models.PROTECT, null=True)
    address = models.TextField()
    name = models.TextField(default="")
    created_at = models.DateTimeField(db_default=Now())
    # The sender of mail for which the caller names none.
    is_default = models.BooleanField(db_default=False)
    # From then on it takes no new mail; mail that waits is still sent.
    archived_at = models.DateTimeField(null=True)
    # Limits; None is without one. An hour is one of the clock in UTC, a day one of the workspace.
    rate_per_second = models.FloatField(null=True)
    rate_per_hour = models.IntegerField(null=True)
    daily_limit = models.IntegerField(null=True)
    # When a limit of the hour or the day was last added: mail of before may not have been counted.
    counted_since = models.DateTimeField(null=True)
    working_hours = models.JSONField(null=True)  # as those of the workspace

    class Meta:
        constraints = (
            models.UniqueConstraint("workspace", Lower("address"), name="accounts_sender_once"),
            models.UniqueConstraint(
                fields=["workspace"],
                condition=models.Q(is_default=True),
                name="accounts_sender_default_once",
            ),
            models.CheckConstraint(
                condition=models.Q(is_default=False) | models.Q(archived_at=None),
                name="accounts_sender_default_in_use",
            ),
            # NaN is larger than every number, and refused with them.
            models.CheckConstraint(
                condition=models.Q(rate_per_second__gt=0, rate_per_second__lte=10_000),
                name="accounts_sender_rate",
            ),
            models.CheckConstraint(
                condition=models.Q(rate_per_hour__gte=1), name="accounts_sender_hourly_limit"
            ),
            models.CheckConstraint(
                condition=models.Q(daily_limit__gte=1), name="accounts_sender_daily_limit"
            ),
        )


class AccountQuota(models.Model):
    """What a provider said about an account's quota when it was last asked."""

    account = models.OneToOneField(ProviderAccount, on_delete=models.CASCADE, primary_key=True)
    remaining = models.BigIntegerField(null=True)  # None: unlimited
    size = models.BigIntegerField(null=True)  # None: unlimited, or not said
    max_rate = models.FloatField(null=True)  # mails a second, where the provider says it
    is_limit = models.BooleanField(default=True)  # False: mail does not wait when none remain
    sync_id = models.BigIntegerField(default=0)  # a later sync has a larger one
    # How many mails the limiter had granted when the provider was asked; None: Redis was away.
    mark_count_id = models.TextField(null=True)
    mark_granted = models.BigIntegerField(null=True)
    synced_at = models.DateTimeField(null=True)  # the last answer; None: there was none yet
    next_sync_at = models.DateTimeField(db_default=Now())
    failed_since = models.DateTimeField(null=True)  # asked in vain since then
    error = models.TextField(default="")  # without `failed_since`: why it is not shown to the keys

    @property
    def is_hidden(self) -> bool:
        return bool(self.error) and self.failed_since is None


class Integration(models.Model):
    """A connection to another service; its settings, secrets included, are sealed."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    kind = models.TextField()
    # None: removed. The row stays, so that setup does not recreate it.
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
    """Who changed what in a workspace, and when. Immutable; holds no secret."""

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    at = models.DateTimeField(db_default=Now())
    actor = models.TextField()
    action = models.TextField()
    subject = models.TextField()
    data = models.JSONField(default=dict)

    class Meta:
        indexes = (
            # Serves the newest entries of a workspace.
            models.Index(fields=["workspace", "-at"], name="accounts_audit_newest"),
            # Serves the story of a contact.
            models.Index(
                fields=["workspace", "subject"],
                condition=models.Q(action="contact.changed"),
                name="accounts_audit_of_contact",
            ),
        )
