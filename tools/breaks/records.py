"""What is recorded of breaks, one line of JSON each, and two such files side by side."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

_WORDS = {True: "caught", False: "**not caught**", None: "not judged"}


@dataclass(frozen=True, slots=True)
class Record:
    """One break and its verdict."""

    group: str
    name: str
    caught: bool | None
    test: str
    reason: str
    seconds: float

    def append_to(self, file: Path) -> None:
        with file.open("a") as lines:
            lines.write(json.dumps(asdict(self)) + "\n")


def read(file: Path) -> dict[tuple[str, str], Record]:
    """By group and name; of a break that was tried twice the last record."""
    records = [Record(**json.loads(line)) for line in file.read_text().splitlines()]
    return {(record.group, record.name): record for record in records}


def compare(before: Path, after: Path) -> Iterator[str]:
    """A table in Markdown; what was caught before and is not any more comes with a mark."""
    old, new = read(before), read(after)
    yield "| group | break | before | after | |"
    yield "|---|---|---|---|---|"
    for key in dict.fromkeys([*old, *new]):
        pair = old.get(key), new.get(key)
        is_lost = pair[1] is not None and _is_caught(pair[0]) and not pair[1].caught
        mark = "**lost**" if is_lost else ""
        yield f"| {key[0]} | {key[1]} | {_show(pair[0])} | {_show(pair[1])} | {mark} |"
    counts = [sum(map(_is_caught, records.values())) for records in (old, new)]
    yield f"\nCaught before: {counts[0]} of {len(old)}; after: {counts[1]} of {len(new)}."


def _is_caught(record: Record | None) -> bool:
    return record is not None and record.caught is True


def _show(record: Record | None) -> str:
    if record is None:
        return "not tried"
    test = record.test.rpartition("::")[2].partition("[")[0]
    return f"`{test}`" if record.caught else _WORDS[record.caught]
