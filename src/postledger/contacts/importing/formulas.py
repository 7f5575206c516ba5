"""Keeps spreadsheets from executing what somebody wrote into a cell."""

# What begins so is taken for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def read(cell: str) -> str:
    """A cell without the spaces around it, and without the apostrophe that `safe` put there."""
    cell = cell.strip()
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_FORMULA) else cell
