"""`postledger fake-ses`: a server that speaks the protocol of Amazon SES and sends nothing."""

from argparse import ArgumentParser, Namespace
from typing import override

from django.core.management.base import BaseCommand

from postledger.fakes.ses import process


class Command(BaseCommand):
    help = "Runs a fake of Amazon SES, for tests and for trying without an account."
    # It needs no database and no other setting.
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        process.add_arguments(parser)

    @override
    def handle(self, *args: object, **options: object) -> None:
        process.serve(Namespace(**options))
