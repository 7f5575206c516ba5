"""`postledger doctor`: examines everything that sending depends on, and says how to repair it."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import asdict
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.cli.doctor import examination
from postledger.lib import check_results
from postledger.lib.check_results import CheckResult, Level


class Command(BaseCommand):
    help = "Examines everything that sending depends on, and says how to repair it. Read-only."
    # An invalid setting is reported beside the other findings, not instead of them.
    requires_system_checks = []

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON")

    @override
    def handle(self, *args: object, as_json: bool = False, **options: object) -> None:
        findings = self._print_json() if as_json else self._print_text()
        problems = [finding for finding in findings if finding.level is Level.PROBLEM]
        if problems:
            raise CommandError(f"Problems: {len(problems)}. The remedy is below each.")

    def _print_text(self) -> Iterable[CheckResult]:
        """Prints each finding at once: a server that does not answer takes some seconds."""
        for finding in examination.examine():
            for line in check_results.format_lines(finding):
                self.stdout.write(line)
            yield finding

    def _print_json(self) -> Iterable[CheckResult]:
        findings = list(examination.examine())
        self.stdout.write(json.dumps([asdict(finding) for finding in findings], indent=2))
        return findings
