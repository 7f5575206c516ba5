"""The process groups of this machine."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path


def group_members(group: int) -> list[int]:
    """The ids of all live processes of a group, its leader first."""
    return sorted(by_group().get(group, ()))


def by_group() -> Mapping[int, set[int]]:
    """All live processes of this machine by group; zombies are left out."""
    groups: defaultdict[int, set[int]] = defaultdict(set)
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            group = _group_of(path)
            if group is not None:
                groups[group].add(int(path.name))
    return groups


def _group_of(path: Path) -> int | None:
    try:
        status = (path / "stat").read_text()
    except OSError:  # it has ended
        return None
    # The name, in parentheses, may contain anything; after it: state, parent, group.
    state, _, group = status.rpartition(")")[2].split()[:3]
    return None if state == "Z" else int(group)
