"""The table of pages and roles in docs/reference/dashboard-access.md.

`python -m tests.web.dashboard.access_table` writes it after the URLs have changed.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import django

PAGE = Path(__file__).parents[3] / "docs/reference/dashboard-access.md"
_BEGIN, _END = "<!-- the tables -->", "<!-- end of the tables -->"


def render() -> str:
    """The page with tables that say what the URLs say."""
    text = PAGE.read_text()
    head, _, rest = text.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    return f"{head}{_BEGIN}\n\n{'\n'.join(_lines())}\n\n{_END}{tail}"


def _lines() -> Iterator[str]:
    from postledger.accounts.people.roles import Permission, Role, may
    from postledger.web.dashboard import page_rules, urls

    rules = page_rules.list_rules(urls.urlpatterns)
    yield f"| page | {' | '.join(Role)} |"
    yield f"|---|{'---|' * len(Role)}"
    for page in rules:
        if isinstance(page.rule, Permission):
            cells = ("yes" if may(role, page.rule) else "403" for role in Role)
            yield f"| `{_readable(page.route)}` | {' | '.join(cells)} |"
    yield ""
    yield "| page outside workspaces | for | why |"
    yield "|---|---|---|"
    for page in rules:
        if isinstance(page.rule, page_rules.OpenPage):
            yield f"| `{_readable(page.route)}` | {page.rule.audience} | {page.rule.reason} |"


def _readable(route: str) -> str:
    route = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", route)
    route = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
    return route.replace("^", "").replace("$", "").replace("{workspace_id}", "{workspace}")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "postledger.config.settings")
    django.setup()
    PAGE.write_text(render())
