"""Tables refer to one another in the direction in which packages import one another."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.apps import apps

from postledger.providers import registry

ROOT = Path(__file__).parents[2]
type Layers = Sequence[frozenset[str]]


def contract(name: str) -> dict[str, Any]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    found: dict[str, Any]
    [found] = (each for each in contracts if each["id"] == name)
    return found


def layers() -> Layers:
    """Top first, as the import contract lists them."""
    lines = contract("layers")["layers"]
    return [frozenset(name.strip(" ()") for name in line.split("|")) for line in lines]


def relations() -> Iterator[tuple[str, str]]:
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.get_fields():
            if field.is_relation and field.concrete and isinstance(field.related_model, type):
                yield package(model.__module__), package(field.related_model.__module__)


def package(module: str) -> str:
    root, _, rest = module.partition(".")
    return rest.partition(".")[0] if root == "postledger" else ""


def wrong(pairs: Iterable[tuple[str, str]], order: Layers) -> list[tuple[str, str]]:
    """The pairs that point up, or sideways to another package of the same line."""
    height = {name: -depth for depth, line in enumerate(order) for name in line}
    return [
        (source, target)
        for source, target in pairs
        if source and target and source != target and height[target] >= height[source]
    ]


def test_every_foreign_key_points_downwards() -> None:
    assert wrong(relations(), layers()) == []


def test_a_foreign_key_upwards_or_sideways_is_caught() -> None:
    wrong_ones = [("accounts", "deliveries"), ("contacts", "campaigns"), ("campaigns", "feedback")]
    fine = [("deliveries", "accounts"), ("deliveries", "deliveries")]

    assert wrong([*wrong_ones, *fine], layers()) == wrong_ones


def test_the_contract_of_vendors_names_every_provider_of_the_registry() -> None:
    packages = {module.rpartition(".")[0] for module in registry.KINDS.values()}

    assert set(contract("vendors")["modules"]) == packages
