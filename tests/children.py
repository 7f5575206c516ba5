"""The child processes of a process, such as the worker under its supervisor."""

import re
from pathlib import Path


def pids(parent: int) -> list[int]:
    """The children of a process that still run."""
    try:
        return [
            int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_running(pid: int) -> bool:
    """Whether a process is there and not a zombie that nobody waits for."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return re.search(r"^State:\s+[ZX]", status, re.MULTILINE) is None
