"""`postledger serve`: serves HTTP with granian."""

from argparse import ArgumentParser
from typing import override

from django.core.management.base import BaseCommand
from granian.constants import Interfaces
from granian.server import Server

_TARGET = "postledger.config.wsgi:application"


class Command(BaseCommand):
    help = "Serves HTTP until it is stopped; put a proxy with TLS in front of it."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--processes", type=int, default=1)
        parser.add_argument("--threads", type=int, default=4, help="of each process")

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
        server = Server(
            _TARGET,
            address=host,
            port=port,
            interface=Interfaces.WSGI,
            workers=processes,
            blocking_threads=threads,
            log_enabled=False,
        )
        self.stderr.write(f"Postledger serves http://{host}:{port}")
        server.serve()
