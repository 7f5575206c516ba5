"""The import contracts hold, and each of them notices when it is broken."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# contract, module that is added, what it says
BREAKS = [
    ("layers", "lib/broken.py", "import postledger.observability.masking"),
    ("layers", "observability/broken.py", "import postledger.accounts"),
    ("layers", "accounts/broken.py", "from postledger.deliveries import states"),
    ("layers", "observability/broken.py", "import postledger.providers.base"),
    ("layers", "providers/broken.py", "import postledger.accounts"),
    ("layers", "deliveries/broken.py", "import postledger.workers"),
    ("layers", "workers/broken.py", "import postledger.config.env"),
    ("layers", "unheard_of/__init__.py", ""),
    ("pure", "content/checks.py", "import django"),
    ("pure", "content/markup.py", "import redis"),
    ("pure", "transactional/validation.py", "from postledger.contacts import models"),
    ("pure", "transactional/values.py", "import psycopg"),
    ("pure", "deliveries/states.py", "import django"),
    ("pure", "deliveries/reasons.py", "import celery"),
    ("pure", "deliveries/entries.py", "import psycopg"),
    ("pure", "lib/ids.py", "import redis"),
    ("pure", "dispatch/rounds/answers.py", "from postledger.deliveries import ledger"),
    ("pure", "dispatch/retry.py", "import celery"),
    ("pure", "dispatch/capacity.py", "from postledger.deliveries import queries"),
    ("pure", "dispatch/options.py", "from django.conf import settings"),
    ("pure", "dispatch/rounds/in_flight.py", "import psycopg"),
    ("pure", "dispatch/timing.py", "from django.utils import timezone"),
    ("pure", "observability/metrics.py", "import django"),
    ("pure", "deliveries/states.py", "import postledger.deliveries.models"),
    ("tables", "workers/broken.py", "from postledger.deliveries import models"),
    ("tables", "config/broken.py", "from postledger.deliveries.models import Delivery"),
    ("providers-pure", "providers/base.py", "import django"),
    ("providers-pure", "providers/sandbox/provider.py", "import redis"),
    ("providers-pure", "providers/smtp/broken.py", "import celery"),
    ("providers-pure", "providers/smtp/session.py", "from psycopg_pool import ConnectionPool"),
    ("providers-pure", "providers/windows.py", "import kombu"),
    ("vendors", "providers/smtp/broken.py", "import postledger.providers.sandbox.events"),
    ("vendors", "providers/sandbox/broken.py", "from postledger.providers.smtp import replies"),
]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def names() -> dict[str, str]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {found["id"]: found["name"] for found in config["tool"]["importlinter"]["contracts"]}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_contract_is_kept(copy: Path) -> None:
    result = lint(copy)

    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("contract", "module", "line"), BREAKS)
def test_a_broken_contract_is_noticed(contract: str, module: str, line: str, copy: Path) -> None:
    path = copy / "src" / "postledger" / module
    path.parent.mkdir(exist_ok=True)
    before = path.read_text() if path.exists() else ""
    path.write_text(f"{before}\n{line}\n")

    result = lint(copy)

    assert result.returncode == 1
    assert f"{names()[contract]} BROKEN" in result.stdout


def test_every_contract_is_broken_above() -> None:
    assert {contract for contract, _, _ in BREAKS} == set(names())
