"""Every change of who sends; each notes its actor in the same transaction."""

from postledger.accounts.actions.accounts import (
    AccountChangedError,
    AccountExistsError,
    AccountUnknownError,
    InvalidSettingsError,
    create_account,
    reseal_accounts,
    update_account,
)
from postledger.accounts.actions.keys import (
    InvalidKeyError,
    KeyEndedError,
    KeyUnknownError,
    NewKey,
    create_key,
    revoke_key,
    rotate_key,
)
from postledger.accounts.actions.senders import (
    SenderExistsError,
    SenderUnknownError,
    attach_sender,
    create_sender,
)
from postledger.accounts.actions.workspaces import (
    FirstWorkspace,
    InvalidOrganisationError,
    MemberExistsError,
    Role,
    WorkspaceExistsError,
    add_member,
    create_workspace,
    ensure_default_workspace,
    set_organisation,
)

__all__ = [
    "AccountChangedError",
    "AccountExistsError",
    "AccountUnknownError",
    "FirstWorkspace",
    "InvalidKeyError",
    "InvalidOrganisationError",
    "InvalidSettingsError",
    "KeyEndedError",
    "KeyUnknownError",
    "MemberExistsError",
    "NewKey",
    "Role",
    "SenderExistsError",
    "SenderUnknownError",
    "WorkspaceExistsError",
    "add_member",
    "attach_sender",
    "create_account",
    "create_key",
    "create_sender",
    "create_workspace",
    "ensure_default_workspace",
    "reseal_accounts",
    "revoke_key",
    "rotate_key",
    "set_organisation",
    "update_account",
]
