"""Which names people may give to things."""

from postledger.lib.errors import RefusedError

LONGEST = 100


class InvalidNameError(RefusedError):
    code = "invalid_name"


def check(what: str, name: str) -> None:
    """Refuses names that cannot be seen, or told apart, in a list."""
    if name and name == name.strip() and name.isprintable() and len(name) <= LONGEST:
        return
    shown = name[:LONGEST]
    raise InvalidNameError(
        f"{shown!r} cannot be the name of {what}: write 1 to {LONGEST} visible characters,"
        " without a space at either end."
    )
