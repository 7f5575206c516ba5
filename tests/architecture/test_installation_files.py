"""The image, the compose file and the units agree with the code and with one another."""

import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, get_commands, load_command_class

from postledger.config import env

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
# A line that ends with a backslash goes on.
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
UNITS = {path.name: path.read_text() for path in (ROOT / "examples/systemd").glob("*.service")}
PAGE = (ROOT / "docs/install.md").read_text()

SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "postledger"}
STOP_SECONDS = env.variables()["STOP_SECONDS"].default


def dockerfile(instruction: str) -> list[str]:
    return re.findall(rf"^{instruction} (.*)$", DOCKERFILE, re.MULTILINE)


def directives(unit: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNITS[unit], re.MULTILINE)


def image_environment() -> dict[str, str]:
    """The environment of the last stage, which is the image."""
    pairs = [pair for line in dockerfile("ENV")[1:] for pair in shlex.split(line)]
    return dict(pair.split("=", 1) for pair in pairs)


def unknown_variables(names: Mapping[str, object]) -> Iterator[str]:
    for name in names:
        info = env.variables().get(name.removesuffix("_FILE"))
        if info is None or (name.endswith("_FILE") and not env.is_secret(info)):
            yield name


def parse_command(arguments: list[str]) -> None:
    """Raises CommandError for a command or an option that does not exist."""
    name, *rest = arguments
    if name not in get_commands():
        raise CommandError(f"There is no command {name}.")
    package = get_commands()[name]
    assert isinstance(package, str)
    load_command_class(package, name).create_parser("postledger", name).parse_args(rest)


def commands() -> Iterator[tuple[str, str]]:
    """Every command that the files and the page about them run, with where it is."""
    [entrypoint], [default] = dockerfile("ENTRYPOINT"), dockerfile("CMD")
    assert yaml.safe_load(entrypoint) == ["postledger"]
    yield "Dockerfile", shlex.join(yaml.safe_load(default))
    for name, service in OURS.items():
        yield f"compose.yaml: {name}", shlex.join(service["command"])
    for unit in UNITS:
        for line in [*directives(unit, "ExecStartPre"), *directives(unit, "ExecStart")]:
            yield unit, line.removeprefix("/opt/postledger/bin/postledger ")
    for block in re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.search(r"(?:^|[\s/])postledger ([a-z]+(?: [^<>|]*)?)", line)
            if found:
                yield "docs/install.md", found[1].rstrip(" '")


def seconds(text: str) -> int:
    return int(re.sub(r"s$", "", text))


def test_every_command_that_a_file_runs_exists_with_its_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("a secret that a command reads"))
    unknown = []
    for place, line in sorted(set(commands())):
        try:
            parse_command(shlex.split(line))
        except CommandError as error:
            unknown.append((place, line, str(error)))

    assert unknown == []


def test_every_variable_of_a_service_of_the_image_and_of_the_units_is_a_setting() -> None:
    for service in OURS.values():
        assert list(unknown_variables(service["environment"])) == [], service
    pairs = [pair for unit in UNITS for pair in directives(unit, "Environment")]
    set_by_units = dict(pair.split("=", 1) for pair in pairs)

    assert list(unknown_variables({**image_environment(), **set_by_units})) == ["PATH"]


def test_a_service_is_given_every_secret_that_its_environment_names() -> None:
    for name, service in SERVICES.items():
        values = service.get("environment", {}).values()
        named = {
            value.removeprefix("/run/secrets/") for value in values if "/run/secrets/" in value
        }
        assert named == set(service.get("secrets", [])), name
        assert named <= set(COMPOSE["secrets"]), name
    assert all(secret["file"] in PAGE for secret in COMPOSE["secrets"].values())


def test_a_service_writes_to_its_state_and_to_tmp_alone() -> None:
    state = image_environment()["STATE_FOLDER"]

    assert dockerfile("VOLUME") == [state]
    for name, service in OURS.items():
        mounts = [mount.split(":")[0] for mount in service["tmpfs"]]
        assert service["read_only"], name
        assert service["volumes"] == [f"state:{state}"], name
        assert mounts == ["/tmp"], name  # noqa: S108  its own


def test_nothing_runs_as_root() -> None:
    [user] = dockerfile("USER")

    assert "0" not in user.split(":")
    assert all(directives(unit, "User") == ["postledger"] for unit in UNITS)


def test_web_and_worker_start_after_setup() -> None:
    for name in OURS.keys() - {"setup"}:
        [(needed, how)] = OURS[name]["depends_on"].items()
        assert (needed, how["condition"]) == ("setup", "service_completed_successfully")
    for unit in UNITS:
        assert directives(unit, "ExecStartPre") == ["/opt/postledger/bin/postledger setup"]


def test_what_must_be_healthy_has_a_health_check() -> None:
    needed = {
        name
        for service in SERVICES.values()
        for name, how in service.get("depends_on", {}).items()
        if how["condition"] == "service_healthy"
    }

    assert needed == {"postgres", "redis"}
    assert all("healthcheck" in SERVICES[name] for name in {*needed, "web", "rabbitmq"})


def test_a_worker_is_killed_only_after_it_had_its_time_to_stop() -> None:
    [unit_gives] = directives("postledger-worker.service", "TimeoutStopSec")

    assert seconds(SERVICES["worker"]["stop_grace_period"]) > STOP_SECONDS + 30
    assert seconds(unit_gives) > STOP_SECONDS + 30


def test_ports_are_open_to_this_machine_alone() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_image_has_the_python_and_a_uv_that_the_project_uses() -> None:
    [default_image] = dockerfile("ARG")
    [(uv,)] = [re.findall(r"uv==([\d.]+)", line) for line in dockerfile("RUN pip")]
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]
    least = required["required-version"].removeprefix(">=")

    assert f"python:{(ROOT / '.python-version').read_text().strip()}-" in default_image
    assert [int(part) for part in uv.split(".")] >= [int(part) for part in least.split(".")]


def test_both_units_are_hardened_alike() -> None:
    web, worker = (text.partition("\nUMask")[2] for text in UNITS.values())

    assert len(UNITS) == 2
    assert web == worker
    assert "ProtectSystem=strict" in web
