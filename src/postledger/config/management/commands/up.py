"""`postledger up`: everything that one machine needs, under one supervisor."""

import os
import sys
from argparse import ArgumentParser
from typing import override

from django.core.management.base import BaseCommand

from postledger.cli import first_run_notice
from postledger.config import env
from postledger.lib.check_results import SETTINGS_TAG
from postledger.workers.supervisor import Program, Supervisor

_LOOPBACK = {"localhost": "localhost", "127.0.0.1": "127.0.0.1", "::1": "[::1]"}
_SOON = "The page answers as soon as the web server has started."
# -P: nothing is imported from the current folder.
_PYTHON = (sys.executable, "-P", "-m")


class Command(BaseCommand):
    help = "Runs the web server, a worker and beat until it is stopped; replaces what dies."
    # Not those of the URLs: they would load the whole application into the supervisor.
    requires_system_checks = (SETTINGS_TAG,)

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)

    @override
    def handle(self, *args: object, host: str = "", port: int = 0, **options: object) -> None:
        os.environ["PUBLIC_URL"] = find_public_url(env.load(), host=host, port=port)
        _tell_of_first_run(first_run_notice.find_url(host=host, port=port))
        address = ["--host", host, "--port", str(port)]
        programs = [
            Program("web", [*_PYTHON, "postledger.config.web_process", *address]),
            # Beat is a thread of the worker.
            Program("worker", [*_PYTHON, "postledger.config.worker_process", "--beat"]),
        ]
        sys.exit(Supervisor(programs).run())


def find_public_url(given: env.Env, *, host: str, port: int) -> str:
    """The one that is set; else this machine's, if nobody else can reach the installation.

    Without one, who tries it could show no picture and offer no way to unsubscribe.
    """
    if given.public_url or given.allowed_hosts or host not in _LOOPBACK:
        return given.public_url
    return f"http://{_LOOPBACK[host]}:{port}"


def _tell_of_first_run(url: str) -> None:
    """Prints the code of the first run, if nobody can sign in yet; to the operator, not to the log.

    A child process asks the database: it leaves no connection, and no thread of a pool, in the
    supervisor.
    """
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            if notice := first_run_notice.invite_if_possible(url):
                sys.stdout.write(f"{notice}\n{_SOON}\n")
                sys.stdout.flush()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
