"""The processes of a group: a worker may be a parent with children."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path


def members(group: int) -> list[int]:
    """The ids of all living processes of a group, its leader first."""
    return sorted(by_group().get(group, ()))


def by_group() -> Mapping[int, set[int]]:
    """All living processes of this machine; one that ended and was not noticed yet is dead."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            group = _group_of(path)
            if group is not None:
                found[group].add(int(path.name))
    return found


def _group_of(path: Path) -> int | None:
    try:
        status = (path / "stat").read_text()
    except OSError:  # it has ended meanwhile
        return None
    # The name, in brackets, may contain anything; behind it: state, parent, group.
    state, _, group = status.rpartition(")")[2].split()[:3]
    return None if state == "Z" else int(group)
