"""What variables of the environment offer for the first workspace's integrations."""

from collections.abc import Iterable, Mapping

from django.conf import settings

from postledger.accounts.integrations import Kind

# Which variable offers which setting.
_VARIABLES: Mapping[Kind, Mapping[str, str]] = {
    Kind.NOTION: {
        "token": "NOTION_TOKEN",
        "mailouts": "NOTION_DB_MAILOUTS",
        "errors": "NOTION_DB_ERRORS",
    },
    Kind.SUPABASE: {"url": "SUPABASE_URL", "api_key": "SUPABASE_SERVICE_ROLE_KEY"},
    Kind.ADMIN: {"password": "ADMIN_PASSWORD"},
}


def made() -> dict[Kind, dict[str, object]]:
    """Settings by their kinds, credentials among them; a kind that has none is left out."""
    found = {
        kind: {
            name: value
            for name, variable in variables.items()
            if (value := getattr(settings, variable))
        }
        for kind, variables in _VARIABLES.items()
    }
    return {kind: offered for kind, offered in found.items() if offered}


def named(kind: Kind, settings_: Iterable[str]) -> str:
    """The variables that offer some settings, as people read them."""
    return ", ".join(_VARIABLES[kind][name] for name in settings_)
