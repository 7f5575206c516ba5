"""Tables refer to one another in the direction in which packages import one another."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest
from django.apps import apps

ROOT = Path(__file__).parents[2]
type Layers = Sequence[frozenset[str]]


def layers() -> Layers:
    """Top first, as the import contract lists them."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = config["tool"]["importlinter"]["contracts"]
    (contract,) = (candidate for candidate in contracts if candidate["id"] == "layers")
    return [frozenset(name.strip(" ()") for name in line.split("|")) for line in contract["layers"]]


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


@pytest.mark.parametrize(
    "pair", [("accounts", "deliveries"), ("contacts", "campaigns"), ("campaigns", "feedback")]
)
def test_a_foreign_key_upwards_or_sideways_is_caught(pair: tuple[str, str]) -> None:
    assert wrong([pair], layers()) == [pair]


@pytest.mark.parametrize("pair", [("deliveries", "accounts"), ("deliveries", "deliveries")])
def test_a_foreign_key_downwards_or_at_home_is_fine(pair: tuple[str, str]) -> None:
    assert wrong([pair], layers()) == []
