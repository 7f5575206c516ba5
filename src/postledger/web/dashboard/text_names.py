"""Which attributes texts can name, and what others could be called instead. Pure."""

import re
import unicodedata

_BETWEEN = re.compile(r"[^a-z0-9]+")
_EXAMPLE = "plan"


def is_nameable(key: str) -> bool:
    """Whether Liquid can name it."""
    return key.isascii() and key.isidentifier()


def propose_name(key: str) -> str:
    """A name like it that Liquid can name."""
    plain = unicodedata.normalize("NFKD", key.casefold()).encode("ascii", "ignore").decode()
    proposed = _BETWEEN.sub("_", plain).strip("_")
    return proposed if is_nameable(proposed) else _EXAMPLE


def propose_other(key: str) -> str:
    """Another name for one that texts cannot name; empty if they can."""
    return "" if not key or is_nameable(key) else propose_name(key)
