"""`postledger serve`: serves HTTP with granian."""

from argparse import ArgumentParser
from typing import override

from django.core.management.base import BaseCommand

from postledger.config import web_process


class Command(BaseCommand):
    help = "Serves HTTP until it is stopped; put a proxy with TLS in front of it."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        web_process.add_arguments(parser)

    @override
    def handle(
        self,
        *args: object,
        host: str = "",
        port: int = 0,
        processes: int = 1,
        threads: int = 4,
        **options: object,
    ) -> None:
        web_process.serve(host=host, port=port, processes=processes, threads=threads)
