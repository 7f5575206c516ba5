"""The import contracts hold, and each of them notices when it is broken."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import grimp
import pytest
from grimp import ImportGraph
from importlinter import Contract, configuration
from importlinter.application import use_cases
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

from postledger.providers import registry

ROOT = Path(__file__).parents[2]
TYPES: dict[str, type[Contract]] = {
    "acyclic_siblings": AcyclicSiblingsContract,
    "forbidden": ForbiddenContract,
    "independence": IndependenceContract,
    "layers": LayersContract,
    "protected": ProtectedContract,
}
# contract, module, what it imports; without that, the module itself is too much
BREAKS = [
    ("layers", "lib.broken", "postledger.observability.masking"),
    ("layers", "observability.broken", "postledger.accounts"),
    ("layers", "accounts.broken", "postledger.deliveries.states"),
    ("layers", "observability.broken", "postledger.providers.base"),
    ("layers", "providers.broken", "postledger.accounts"),
    ("layers", "contacts.broken", "postledger.supabase.models"),
    ("layers", "mailing.broken", "postledger.campaigns.models"),
    ("layers", "cli.broken", "postledger.workers.tasks"),
    ("layers", "cli.broken", "tools.fakes.ses.server"),
    ("layers", "fakes.ses.broken", "postledger.web.shared.problems"),
    ("layers", "deliveries.broken", "postledger.workers"),
    ("layers", "workers.broken", "postledger.config.env"),
    ("layers", "unheard_of", ""),
    ("web", "web.api.broken", "postledger.web.public.pages"),
    ("web", "web.public.broken", "postledger.web.api.api"),
    ("web", "web.shared.broken", "postledger.web.health"),
    ("web", "web.unheard_of", ""),
    ("notifications", "notifications.topics.broken", "postledger.notifications.events.queries"),
    ("notifications", "notifications.events.broken", "postledger.notifications.fan_out.planner"),
    ("notifications", "notifications.fan_out.broken", "postledger.notifications.jobs.intake"),
    ("notifications", "notifications.unheard_of", ""),
    ("wing", "campaigns.launches.launching", "postledger.campaigns.notion.mailouts"),
    ("wing", "campaigns.broken", "postledger.campaigns.notion"),
    ("circles", "content.rendering.letter", "postledger.content.letters"),
    ("circles", "dispatch.rounds.compose", "postledger.dispatch.stream_worker"),
    ("circles", "web.api.suppressions.schemas", "postledger.web.api.contacts.schemas"),
    ("circles", "lib.ids", "postledger.accounts.keys"),
    ("pure", "content.rendering.html.checks", "django"),
    ("pure", "content.rendering.html.html_tokens", "redis"),
    ("pure", "transactional.validation", "postledger.contacts.models"),
    ("pure", "transactional.requests", "psycopg"),
    ("pure", "contacts.filters.parsing", "postledger.contacts.filter_sql"),
    ("pure", "deliveries.states", "django"),
    ("pure", "deliveries.reasons", "celery"),
    ("pure", "deliveries.entries", "psycopg"),
    ("pure", "lib.ids", "redis"),
    ("pure", "dispatch.answers", "postledger.deliveries.ledger"),
    ("pure", "dispatch.retry", "celery"),
    ("pure", "dispatch.options", "django"),
    ("pure", "fakes.ses.service", "django"),
    ("pure", "observability.metrics", "django"),
    ("pure", "deliveries.states", "postledger.deliveries.models"),
    ("pure", "providers.base", "django"),
    ("pure", "providers.sandbox.provider", "redis"),
    ("pure", "providers.smtp.broken", "celery"),
    ("pure", "providers.smtp.session", "psycopg_pool"),
    ("pure", "providers.windows", "kombu"),
    ("tables", "workers.broken", "postledger.deliveries.models"),
    ("tables", "config.broken", "postledger.deliveries.models"),
    ("vendors", "providers.smtp.broken", "postledger.providers.sandbox.events"),
    ("vendors", "providers.sandbox.broken", "postledger.providers.smtp.outcomes"),
]


configuration.configure()
OPTIONS = use_cases.read_user_options(str(ROOT / "pyproject.toml"))
CONTRACTS: dict[str, dict[str, Any]] = {found["id"]: found for found in OPTIONS.contracts_options}


@pytest.fixture(scope="session")
def graph() -> ImportGraph:
    """Built once: it takes longer than all the checks on it."""
    return grimp.build_graph("postledger", include_external_packages=True, cache_dir=None)


def is_kept(name: str, graph: ImportGraph) -> bool:
    options = CONTRACTS[name]
    contract = TYPES[options["type"]](options["name"], OPTIONS.session_options, options)
    return contract.check(graph, verbose=False).kept


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_contract_is_kept(name: str, graph: ImportGraph) -> None:
    assert is_kept(name, deepcopy(graph))


@pytest.mark.parametrize(("name", "module", "imported"), BREAKS)
def test_a_broken_contract_is_noticed(
    name: str, module: str, imported: str, graph: ImportGraph
) -> None:
    broken, importer = deepcopy(graph), f"postledger.{module}"
    assert importer in broken.modules or module.endswith(("broken", "unheard_of"))
    assert not imported.startswith("postledger") or imported in broken.modules

    broken.add_module(importer)
    if imported:
        broken.add_import(importer=importer, imported=imported)

    assert not is_kept(name, broken)


def test_the_contract_of_vendors_names_every_provider_of_the_registry() -> None:
    packages = {module.rpartition(".")[0] for module in registry.KINDS.values()}

    assert set(CONTRACTS["vendors"]["modules"]) == packages


def test_every_contract_is_broken_above() -> None:
    assert {name for name, _, _ in BREAKS} == set(CONTRACTS)
