"""Runs that are written down, one line each, and the sum of those of one commit."""

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def commit() -> str:
    """The commit that runs here; marked when files differ from it."""
    head = _git("rev-parse", "HEAD")
    return f"{head}-changed" if _git("status", "--porcelain") else head


def _git(*words: str) -> str:
    ran = subprocess.run(["git", *words], check=True, capture_output=True, text=True)
    return ran.stdout.strip()


def append(file: Path, figures: Mapping[str, Any]) -> None:
    with file.open("a") as written:
        written.write(json.dumps(figures) + "\n")


def add_up(lines: Iterable[str]) -> dict[str, Any]:
    """The figures of all runs; refused when they are of several commits."""
    runs = [json.loads(line) for line in lines if line.strip()]
    commits = {run["commit"] for run in runs}
    if len(commits) != 1:
        msg = f"runs of one commit can be added up, these are of {len(commits)}"
        raise ValueError(msg)
    total: dict[str, Any] = {"commit": commits.pop(), "runs": len(runs)}
    for run in runs:
        _add(total, {name: run[name] for name in run if name not in {"commit", "seed"}})
    return total


def _add(total: dict[str, Any], run: Mapping[str, Any]) -> None:
    for name, value in run.items():
        if isinstance(value, dict):
            _add(total.setdefault(name, {}), value)
        elif isinstance(value, list):
            total[name] = sorted({*total.get(name, ()), *value})
        else:
            total[name] = total.get(name, 0) + value
