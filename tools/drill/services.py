"""A PostgreSQL, a RabbitMQ and a Redis of the drill's own, made to be broken."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import override

import psycopg
from kombu import Connection
from redis import Redis

from tools.drill.waiting import free_port, until

_IS_ROOT = os.geteuid() == 0


@dataclass
class Postgres:
    """A cluster on a small file system of its own, where one may be mounted: it can be filled."""

    folder: Path
    port: int = field(default_factory=free_port)
    is_small: bool = False
    data: Path = Path()  # where the cluster lies now
    extra: dict[str, str] = field(default_factory=dict)  # of its environment

    SIZE = "2500m"

    def __post_init__(self) -> None:
        if self.data == Path():
            self.data = self.folder / "data"

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/drill"

    def create(self) -> None:
        self.folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "tmpfs", str(self.folder)]
        self.is_small = subprocess.run(mount, check=False, capture_output=True).returncode == 0
        if _IS_ROOT:
            shutil.chown(self.folder, "postgres", "postgres")
        self.run("initdb", "-U", "postgres", "-A", "trust", "--locale=C.UTF-8")
        settings = {
            "port": self.port,
            "listen_addresses": "'127.0.0.1'",
            "unix_socket_directories": "''",
            "max_connections": 150,
            "max_wal_size": "'192MB'",
            "min_wal_size": "'32MB'",
        }
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("".join(f"{name} = {value}\n" for name, value in settings.items()))
        self.start()
        with psycopg.connect(self.url.replace("/drill", "/postgres"), autocommit=True) as made:
            made.execute("CREATE DATABASE drill")

    def start(self) -> None:
        log = str(self.data / "log")
        self.run("pg_ctl", "start", "-w", "-t", "60", "-l", log, "-o", f"-p {self.port}")

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "stop", "-w", "-m", mode, check=False)

    def is_running(self) -> bool:
        return self.run("pg_ctl", "status", check=False) == 0

    def freeze(self) -> None:
        """Stops every process of the cluster: connections stand, and nothing answers."""
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in reversed(self._pids()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _pids(self) -> list[int]:
        """The postmaster first: once it stands, no process is added."""
        postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(
            ["pgrep", "-P", str(postmaster)], check=False, capture_output=True, text=True
        )
        return [postmaster, *map(int, children.stdout.split())]

    def lock_batches(self, seconds: float) -> None:
        """Holds a lock as VACUUM FULL does: statements about batches wait for so long."""
        with psycopg.connect(self.url) as connection:
            connection.execute("LOCK TABLE deliveries_batch IN ACCESS EXCLUSIVE MODE")
            time.sleep(seconds)

    def terminate_backends(self, count: int) -> int:
        statement = (
            "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity"
            " WHERE datname = 'drill' AND pid <> pg_backend_pid()"
            " ORDER BY random() LIMIT %s) AS picked"
        )
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(statement, [count]).fetchone()
        return int(row[0]) if row else 0

    def fill(self) -> None:
        """Takes all the room there is, to the last byte."""
        with (self.folder / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
            while True:
                ballast.write(b"\0" * 65536)

    def make_room(self) -> None:
        (self.folder / "ballast").unlink(missing_ok=True)

    def remove(self) -> None:
        self.stop()
        if self.is_small:
            subprocess.run(["umount", "-l", str(self.folder)], check=False)

    def run(self, name: str, *options: str, check: bool = True) -> int:
        paths = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
        command = [str(paths[-1]) if paths else name, "-D", str(self.data), *options]
        prefix = ["runuser", "-u", "postgres", "--"] if _IS_ROOT else []
        quiet = subprocess.DEVNULL
        return subprocess.run(
            [*prefix, *command],
            check=check,
            stdout=quiet,
            stderr=quiet,
            cwd="/",
            env={**os.environ, **self.extra},
        ).returncode


@dataclass
class _Server:
    """A process that is started, ended in several ways, and started again."""

    folder: Path
    port: int = field(default_factory=free_port)
    popen: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        return os.environ

    def answers(self) -> bool:
        raise NotImplementedError

    def begin(self) -> None:
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "out").open("ab") as out:
            self.popen = subprocess.Popen(
                self.command(),
                env=self.environment(),
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def start(self) -> None:
        self.begin()
        until(self.answers, seconds=120, every=0.2)

    def end(self, number: int = signal.SIGKILL) -> None:
        if self.popen is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.popen.pid, number)
            self.popen.wait(60)
            self.popen = None

    def empty(self) -> None:
        """Forgets everything; what comes up next has never heard of us."""


class Redis_(_Server):  # noqa: N801  the client library has the plain name
    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @override
    def command(self) -> list[str]:
        options = {"port": self.port, "bind": "127.0.0.1", "save": "", "dir": self.folder}
        return ["redis-server", *(f"--{k} {v}" if v else f'--{k} ""' for k, v in options.items())]

    @override
    def answers(self) -> bool:
        return _is_quiet(lambda: self.client().ping())

    def client(self) -> "Redis":
        return Redis(port=self.port, socket_timeout=2)


class RabbitMQ(_Server):
    epmd: int = 0

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    @override
    def command(self) -> list[str]:
        return ["/usr/lib/rabbitmq/bin/rabbitmq-server"]

    @override
    def environment(self) -> Mapping[str, str]:
        self.epmd = self.epmd or free_port()
        home = self.folder
        return {
            **os.environ,
            "HOME": str(home),
            "RABBITMQ_NODENAME": f"drill{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(self.epmd),
            "RABBITMQ_MNESIA_BASE": str(home / "data"),
            "RABBITMQ_LOG_BASE": str(home),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
            "RABBITMQ_CONFIG_FILE": str(home / "none"),
            "RABBITMQ_CONF_ENV_FILE": str(home / "none"),
            "RABBITMQ_PID_FILE": str(home / "pid"),
        }

    @override
    def answers(self) -> bool:
        def connect() -> None:
            with Connection(self.url, connect_timeout=2) as connection:
                connection.ensure_connection(max_retries=1)

        return _is_quiet(connect)

    @override
    def empty(self) -> None:
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def remove(self) -> None:
        self.end()
        environment = self.environment()
        # The port mapper is the node's child no more once it runs; it ends when nobody needs it.
        subprocess.run(["epmd", "-kill"], env=environment, check=False, capture_output=True)


def _is_quiet(call: Callable[[], object]) -> bool:
    try:
        call()
    except Exception:  # noqa: BLE001  a server on its way up or down fails in any way
        return False
    return True


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
