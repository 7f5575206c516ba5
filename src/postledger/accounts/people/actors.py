"""The people and keys behind the actors of the audit trail."""

from collections.abc import Iterable

from postledger.accounts.models import ApiKey, User

_LONGEST_NUMBER = 18  # digits


def name_actors(workspace_id: int, actors: Iterable[str]) -> dict[str, str]:
    """The name of each actor for people who read: a person's name, or that of a key.

    Others keep the names that the trail has: commands, and people of no such workspace.
    """
    names = {actor: actor for actor in actors}
    prefixes = [actor.removeprefix("key ") for actor in names if actor.startswith("key ")]
    if prefixes:
        for key in ApiKey.objects.filter(workspace_id=workspace_id, prefix__in=prefixes):
            names[f"key {key.prefix}"] = key.name
    numbers = [actor.removeprefix("user ") for actor in names if actor.startswith("user ")]
    ids = [int(text) for text in numbers if text.isdecimal() and len(text) <= _LONGEST_NUMBER]
    if ids:
        for user in User.objects.filter(pk__in=ids, member__workspace_id=workspace_id):
            names[f"user {user.pk}"] = user.name or user.email
    return names
