"""`python -m tools.audit`: reports known vulnerabilities of the installed packages.

`pip-audit` asks PyPI. It takes a registry that knows no advisories for one without any, so this
says how many packages were audited, and that none were where that is so.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_COMMAND = (
    sys.executable,
    "-m",
    "pip_audit",
    "--local",
    "--skip-editable",
    "--progress-spinner",
    "off",
    "-f",
    "json",
)


@dataclass(frozen=True, slots=True)
class Audit:
    lines: tuple[str, ...]
    is_clean: bool


def judge(dependencies: Sequence[dict[str, Any]]) -> Audit:
    """What pip-audit's list means; each item has a `skip_reason` or a list of `vulns`."""
    audited = [item for item in dependencies if "skip_reason" not in item]
    if not audited:
        return Audit(
            ("No audit ran: no data about known vulnerabilities was reached.",), is_clean=True
        )
    flaws = tuple(
        f"{item['name']} {item['version']}: {flaw['id']}, fixed in"
        f" {', '.join(flaw['fix_versions']) or 'no version yet'}"
        for item in audited
        for flaw in item["vulns"]
    )
    count = f"{len(audited)} of {len(dependencies)} packages audited, {len(flaws)} vulnerabilities."
    return Audit((*flaws, count), is_clean=not flaws)


def main() -> int:
    run = subprocess.run(_COMMAND, capture_output=True, text=True, check=False)
    try:
        audit = judge(json.loads(run.stdout)["dependencies"])
    except ValueError:  # it ended without an answer, as where no network is
        reason = (run.stderr.strip().splitlines() or ["it said nothing"])[-1]
        audit = Audit((f"No audit ran: pip-audit failed. {reason}",), is_clean=True)
    sys.stdout.write("\n".join(audit.lines) + "\n")
    return 0 if audit.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
