# `just` is in the virtual environment: `uv run just check`, or `.venv/bin/just check`.

export PATH := justfile_directory() / ".venv/bin:" + env("PATH")
# Hundreds of processes are started: none of them should compile everything again.
export PYTHONDONTWRITEBYTECODE := ""

_default:
    @just --list

# Before every commit: style, types, imports, Django's own checks, all tests but the slow ones, and one slow test of each kind.
check: _static (test "-m 'not slow or sample'")

# What continuous integration runs: `check`, and all that is slow.
everything: _before-tests (test "--durations=25")

[parallel]
_static: lint types imports django

# The drill mostly waits; the other checks use the processor meanwhile. Not the tests: beside them a
# mail server of the drill may answer too late, and a doubt has a cause that nobody recorded.
[parallel]
_before-tests: lint types imports django containers audit drill-quick

# Style, and the tests that need no server: a first answer in less than a minute.
quick: lint
    DATABASE_URL=postgresql://127.0.0.1:1/none REDIS_URL=redis://127.0.0.1:1/0 BROKER_URL=amqp://127.0.0.1:1// \
        pytest -q -n 2 -m "not server and not slow"

# Style and format, nothing changed.
lint:
    ruff check
    ruff format --check

# Types, strictly.
types:
    mypy

# Who may import whom.
imports:
    lint-imports --no-logo

# Settings, models and migrations agree.
django:
    DEBUG=true postledger check --fail-level WARNING --database default
    DEBUG=true postledger makemigrations --check --dry-run

# The Dockerfile and the compose file follow the rules of their formats.
containers:
    hadolint Dockerfile
    check-jsonschema --builtin-schema vendor.compose-spec compose.yaml

# Known vulnerabilities of the dependencies, or that nobody could be asked about them.
audit:
    python -m tools.audit

# Tests; arguments go to pytest.
test *args:
    pytest {{ args }}

# Repair style and format where a machine can.
fmt:
    ruff check --fix
    ruff format

# Bring the translations up to date and say what is missing; `--missing ru` prints it, `--fill ru FILE` takes it over.
translations *args:
    python -m tools.translations {{ args }}

# One measurement by its name: `just bench ledger`, `send`, `growth`, `holds`, `planning`, `importing`, `filters`, `render`, `pages`, `ses_events` or `limiter`.
bench name *args:
    python -m tools.bench.{{ name }} {{ args }}

# A measurement in this checkout beside another one, in turn: `just pairs send ../before`.
pairs name before *args:
    python -m tools.bench.pairs {{ name }} {{ before }} {{ args }}

# Explore the model of the ledger's protocol.
model *args:
    python -m tools.model {{ args }}

# A fake of a vendor until it is stopped, and its options: `just fakes ses --identity acme.example`, `just fakes sendgrid`.
fakes name *args:
    python -m tools.fakes.{{ name }} {{ args }}

# Break the product in a copy, one promise after the other, and see which test notices: `just breaks consent --record after.jsonl`.
breaks *args:
    python -m tools.breaks {{ args }}

# Break everything a mail depends on, a little: the books must balance. About five minutes.
drill-quick *args:
    python -m tools.drill quick {{ args }}

# The same at length, or some scenarios of it: `just drill stops cuts --seed 1 --record runs.jsonl`.
drill *args:
    python -m tools.drill full {{ args }}

# Add up the recorded drills of one commit: the figures that the README states.
drill-sum file:
    python -m tools.drill sum {{ file }}
