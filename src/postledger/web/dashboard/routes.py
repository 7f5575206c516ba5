"""How a page of a workspace gets its URL and its permission."""

from typing import Any

from django.urls import URLPattern, path, register_converter

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.access import Page, member_page
from postledger.web.dashboard.parameters import NumberConverter

register_converter(NumberConverter, "number")


def page(route: str, view: Page[Any], permission: Permission, *, name: str) -> URLPattern:
    """A page of a workspace, for its members who have the permission."""
    return path(f"w/<number:workspace_id>/{route}", member_page(view, permission), name=name)
