"""Who did something, as pages name them: people and keys by name, others by what they are."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from postledger.accounts.people import actors

# Parts of Postledger, as the audit trail and the history of consents have them.
_OURSELVES = frozenset({"postledger", "guard", "dispatcher", "feedback", "erasure"})
_COMMAND_LINE = "command line ("


def name_actors(workspace_id: int, recorded: Iterable[str]) -> dict[str, str]:
    """The name of each actor in the reader's language."""
    names = actors.name_actors(workspace_id, recorded)
    return {actor: _translate(actor, name) for actor, name in names.items()}


def _translate(actor: str, name: str) -> str:
    if actor in _OURSELVES:
        return "Postledger"
    if actor == "recipient":
        return _("A recipient")
    if actor == "provider":
        return _("The provider")
    return name.replace(_COMMAND_LINE, _("Command line") + " (")
