"""`postledger fake-sendgrid`: a server that speaks the protocol of SendGrid and sends nothing."""

from argparse import ArgumentParser, Namespace
from typing import override

from django.core.management.base import BaseCommand

from postledger.fakes.sendgrid import process


class Command(BaseCommand):
    help = "Runs a fake of Twilio SendGrid, for tests and for trying without an account."
    # It needs no database and no other setting.
    requires_system_checks = ()

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        process.add_arguments(parser)

    @override
    def handle(self, *args: object, **options: object) -> None:
        process.serve(Namespace(**options))
