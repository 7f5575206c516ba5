"""The wheel alone is enough: it has every file of the package, and its command works."""

import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from tests.cli import installations
from tests.uv import find_uv

pytestmark = [pytest.mark.slow, pytest.mark.server]

ROOT = Path(__file__).parents[2]


def uv(*arguments: str, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        [find_uv(), *arguments, "--quiet"],
        cwd=cwd,
        env={**os.environ, "UV_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--wheel", "--out-dir", str(folder))
    [path] = folder.glob("*.whl")
    return path


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    source = ROOT / "src"
    files = {
        str(path.relative_to(source))
        for path in (source / "postledger").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }

    with zipfile.ZipFile(wheel) as archive:
        assert files <= set(archive.namelist())


def test_a_fresh_environment_with_the_wheel_runs_init(wheel: Path, tmp_path: Path) -> None:
    environment, locked = tmp_path / "environment", tmp_path / "locked.txt"
    uv("venv", str(environment))
    uv("export", "--frozen", "--no-dev", "--no-emit-project", "-o", str(locked))
    uv("pip", "install", "--python", str(environment), "-r", str(locked), str(wheel))
    name = f"postledger_wheel_{uuid4().hex[:12]}"

    try:
        printed = postledger(environment, tmp_path, "--version")
        done = postledger(
            environment, tmp_path, "init", DATABASE_URL=installations.database_url(name)
        )
        listed = postledger(environment, tmp_path, "sender", "list", "default")
    finally:
        with psycopg.connect(installations.database_url("postgres"), autocommit=True) as server:
            drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            server.execute(drop.format(sql.Identifier(name)))

    assert printed == f"postledger {version('postledger')}\n"
    assert 'Created sender hello@example.com in workspace "default".' in done
    assert listed == "hello@example.com  through sandbox  default\n"


def postledger(environment: Path, folder: Path, *arguments: str, **variables: str) -> str:
    done = subprocess.run(
        [environment / "bin/postledger", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(folder / "state"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
