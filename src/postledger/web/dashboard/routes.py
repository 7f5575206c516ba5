"""How a page of a workspace gets its URL and its permission."""

from typing import Any

from django.urls import URLPattern, path, register_converter

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.access import Page, member_page
from postledger.web.dashboard.parameters import NumberConverter

register_converter(NumberConverter, "number")


def page(
    route: str,
    view: Page[Any],
    permission: Permission,
    *,
    name: str,
    too_large: Page[Any] | None = None,
) -> URLPattern:
    """A page of a workspace, for its members who have the permission.

    In place of a general page, `too_large` answers a body that is larger than the page takes. It
    must not read the body, and changes nothing: nobody has compared the token of the form.
    """
    shown = member_page(view, permission)
    if too_large is not None:
        shown.too_large = member_page(too_large, permission)  # type: ignore[attr-defined]  # the middleware reads it
    return path(f"w/<number:workspace_id>/{route}", shown, name=name)
