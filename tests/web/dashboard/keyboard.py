"""A person who uses a page by keyboard alone, and sees at every key where they are."""

import pytest
from playwright.sync_api import Page

# Whether the element in focus is the wanted one, and whether a person sees where they are.
_FOCUS = """selector => {
    const element = document.activeElement, style = getComputedStyle(element);
    const isOutlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    // A part that sticks to the window, such as the dock, may lie over it.
    const box = element.getBoundingClientRect();
    const isClear = [box.top + 2, box.bottom - 2].some((y) => {
        const above = document.elementFromPoint(box.left + box.width / 2, y);
        return above?.closest("label") || element.contains(above) || above?.contains(element);
    });
    return {
        isWanted: element.matches(selector),
        isSeen: (isOutlined || style.boxShadow !== "none") && style.clipPath === "none" && isClear,
        html: element.outerHTML.slice(0, 200),
        // The letter in its frame shows the focus itself; behind the last element comes the page.
        isSkip: element.matches(".skip"),
        isElsewhere: element === document.body || element.tagName === "IFRAME",
    };
}"""
_IN_FOCUS = "selector => document.activeElement.matches(selector)"


def press_until(page: Page, key: str, selector: str) -> None:
    """Moves the focus by a key until it is on an element; every one on the way shows its focus.

    What is in the content is reached past the menu, by the link that skips it.
    """
    passed: list[str] = []
    for _ in range(120):
        page.keyboard.press(key)
        focus = page.evaluate(_FOCUS, selector)
        passed.append(focus["html"])
        is_shown = focus["isSeen"] or focus["isElsewhere"]
        assert is_shown, f"does not show its focus: {focus['html']}"
        if focus["isWanted"]:
            return
        if focus["isSkip"] and selector.startswith("main"):
            page.keyboard.press("Enter")
    pytest.fail(f"no focus on {selector}, but on {passed[-3:]}")


def follow(page: Page, selector: str, url: str) -> None:
    """Goes to a link or a button by Tab, and takes it by Enter."""
    press_until(page, "Tab", selector)
    page.keyboard.press("Enter")
    arrive(page, url)


def arrive(page: Page, url: str) -> None:
    """Waits for a page; a form that posts to its own URL keeps the part that was skipped to."""
    page.wait_for_url(f"{url}{{,#main}}")


def write(page: Page, selector: str, text: str) -> None:
    """Goes to a field by Tab, which marks what it has, and writes over it."""
    press_until(page, "Tab", selector)
    page.keyboard.type(text)


def choose(page: Page, selector: str, label: str) -> None:
    """Goes to a choice by Tab, and takes one by the arrow keys."""
    press_until(page, "Tab", selector)
    chosen = "document.activeElement.selectedOptions[0].label"
    for _ in range(40):
        if page.evaluate(chosen) == label:
            return
        page.keyboard.press("ArrowDown")
    pytest.fail(f"no choice {label}, but {page.evaluate(chosen)}")


def is_in_focus(page: Page, selector: str) -> bool:
    """Whether the focus is where the next key should work."""
    return bool(page.evaluate(_IN_FOCUS, selector))
