"""Where the focus of a page is when it opens, and what its wrong fields tell."""

from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, override

_VOID = {"br", "hr", "img", "input", "link", "meta"}

type Attributes = Mapping[str, str]


@dataclass(frozen=True)
class Element:
    attributes: Attributes
    group: Attributes  # of the group around it

    def __getitem__(self, name: str) -> str:
        return self.attributes.get(name, "")

    @property
    def described_by(self) -> list[str]:
        return [*self["aria-describedby"].split(), *self.group.get("aria-describedby", "").split()]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._opened: list[tuple[str, Attributes]] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        groups = (
            around
            for name, around in reversed(self._opened)
            if name == "fieldset" or around.get("role") == "group"
        )
        self.elements.append(Element(own, next(groups, {})))
        if tag not in _VOID:
            self._opened.append((tag, own))

    @override
    def handle_endtag(self, tag: str) -> None:
        while self._opened and self._opened.pop()[0] != tag:
            pass


def list_elements(answer: Any) -> list[Element]:
    """Those of a page, in its order."""
    reader = _Reader()
    reader.feed(answer.content.decode())
    return reader.elements


def check_focus(answer: Any, focused: str, *, status: int = 422) -> None:
    """The first wrong field alone has the focus, and every wrong one says why."""
    assert answer.status_code == status
    elements = list_elements(answer)
    wrong = [one for one in elements if one["aria-invalid"] == "true"]
    by_id = {one["id"]: one for one in elements if one["id"]}
    assert [one["name"] for one in elements if "autofocus" in one.attributes] == [focused]
    assert wrong[0]["name"] == focused
    for one in wrong:
        classes = [name for told in one.described_by for name in by_id[told]["class"].split()]
        assert {"error", "why", "wrong"} & set(classes), one
