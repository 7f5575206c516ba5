"""What Notion's colours look like in a mail."""

from collections.abc import Mapping

# Near Notion's own shades, but each dark enough on white, or light enough behind black.
_INK: Mapping[str, str] = {
    "gray": "#73726e",
    "brown": "#9f6b53",
    "orange": "#b35a00",
    "yellow": "#946400",
    "green": "#3b7a57",
    "blue": "#2b6cb0",
    "purple": "#8050a8",
    "pink": "#b03a7a",
    "red": "#c4423c",
}
_PAPER: Mapping[str, str] = {
    "gray": "#f1f1ef",
    "brown": "#f4eeee",
    "orange": "#fbecdd",
    "yellow": "#fbf3db",
    "green": "#edf3ec",
    "blue": "#e7f3f8",
    "purple": "#f6f3f9",
    "pink": "#faf1f5",
    "red": "#fdebec",
}


def css(color: str) -> str:
    """A declaration such as color:#c4423c; empty for the default and for names not known."""
    name = color.removesuffix("_background")
    if name != color:
        # With an ink of its own: on a dark page the reader's would be as pale as the paper.
        return f"background-color:{_PAPER[name]};color:#1f2937" if name in _PAPER else ""
    return f"color:{_INK[name]}" if name in _INK else ""
