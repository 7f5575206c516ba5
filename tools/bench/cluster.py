"""A private PostgreSQL for measurements: its own folder and socket, durable, gone afterwards."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

# Only names the socket in the folder; no port is opened.
PORT = 5432

# Everything that makes a commit durable stays on; memory and checkpoints fit the size measured.
SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "30min",
    "max_connections": "50",
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track": "top",
    "autovacuum_naptime": "5s",
    "listen_addresses": "",
}


@contextmanager
def running() -> Iterator[str]:
    """Starts a cluster with an empty database and yields its address."""
    folder = Path(tempfile.mkdtemp(prefix="postledger-bench-"))
    try:
        _prepare(folder)
        _pg_ctl(folder, "start", "-w", "-l", str(folder / "log"))
        address = f"postgresql://postgres@:{PORT}/{{}}?host={folder}"
        with psycopg.connect(address.format("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE bench")
        yield address.format("bench")
    finally:
        _pg_ctl(folder, "stop", "-m", "immediate")
        shutil.rmtree(folder)


def _prepare(folder: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    data = str(folder / "data")
    _run(_binary("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--locale=C.UTF-8")
    settings = {**SETTINGS, "port": str(PORT), "unix_socket_directories": str(folder)}
    lines = [f"{name} = '{value}'" for name, value in settings.items()]
    with (folder / "data" / "postgresql.conf").open("a") as file:
        file.write("\n".join(lines) + "\n")


def _pg_ctl(folder: Path, verb: str, *options: str) -> None:
    _run(_binary("pg_ctl"), "-D", str(folder / "data"), verb, *options)


def _run(*command: str) -> None:
    # PostgreSQL does not run as root.
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    subprocess.run([*prefix, *command], check=True, stdout=subprocess.DEVNULL, cwd="/")


def _binary(name: str) -> str:
    paths = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(paths[-1]) if paths else name
