"""`postledger doctor`: looks at everything mail depends on and says what to mend, and how."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import asdict
from typing import override

from django.core.management.base import BaseCommand, CommandError

from postledger.workers.doctor import examination
from postledger.workers.doctor.findings import Finding, Level


class Command(BaseCommand):
    help = "Looks at everything mail depends on, and says what to mend and how. Changes nothing."
    # A setting that cannot work is reported among the rest, not instead of it.
    requires_system_checks = []

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="for programs")

    @override
    def handle(self, *args: object, as_json: bool = False, **options: object) -> None:
        findings = self._shown(examination.examine()) if not as_json else self._printed()
        problems = [finding for finding in findings if finding.level is Level.PROBLEM]
        if problems:
            raise CommandError(f"Problems: {len(problems)}. Below each stands what to do.")

    def _shown(self, findings: Iterable[Finding]) -> Iterable[Finding]:
        """Each as soon as it is known: a server that does not answer takes some seconds."""
        for finding in findings:
            self.stdout.write(f"{finding.level.value:<9}{finding.subject:<14}{finding.found}")
            if finding.remedy:
                self.stdout.write(f"{'':<23}{finding.remedy}")
            yield finding

    def _printed(self) -> Iterable[Finding]:
        findings = list(examination.examine())
        self.stdout.write(json.dumps([asdict(finding) for finding in findings], indent=2))
        return findings
