"""`just bench importing`: how fast a CSV file becomes contacts, and how much memory that takes.

Beside it, in the same run: a bare COPY of the file into a table of texts without an index, and what
cannot be beaten while the tables are what they are: a bare COPY of ready-made rows into each of the
three real ones, with their indexes and checks, in three transactions that nobody could resume.
The processor time is that of the one PostgreSQL process that does it; it hardly depends on what
else the machine does.
"""

import argparse
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from tools.bench import cluster, work

if TYPE_CHECKING:
    from multiprocessing.queues import Queue

    from django.db.backends.utils import CursorWrapper

_COLUMNS = ("email", "name", "locale", "time_zone", "city", "plan")


@dataclass(frozen=True, slots=True)
class _Took:
    """What one measurement took, all rows together."""

    seconds: float
    processor: float
    megabytes: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        _write(path, options.rows)
        print(f"{options.rows:,} rows, {path.stat().st_size / 1e6:.0f} MB", flush=True)
        _compare([_round(path, options.rows) for _ in range(options.rounds)])


def _round(path: Path, rows: int) -> dict[str, _Took]:
    taken: dict[str, _Took] = {}
    with cluster.running() as address:
        for name, measure in _MEASURES.items():
            taken[name] = took = _alone(measure, address, path)
            each = f"{rows / took.seconds:10,.0f} rows/s{took.seconds:9.1f} s"
            cost = f"{took.processor / rows * 1e6:8.1f} µs of PostgreSQL each"
            print(f"{name:22}{each}{cost}{took.megabytes:6.0f} MB", flush=True)
    return taken


def _alone(measure: "_Measure", address: str, path: Path) -> _Took:
    """In a process of its own: its highest memory is that of this measurement."""
    context = get_context("spawn")
    answers: Queue[_Took] = context.Queue()
    child = context.Process(target=_tell, args=(measure, address, path, answers))
    child.start()
    child.join()
    assert child.exitcode == 0
    return answers.get()


def _tell(measure: "_Measure", address: str, path: Path, answers: "Queue[_Took]") -> None:
    work.connect(address)
    seconds, processor = measure(path)
    answers.put(
        _Took(seconds, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    )


def _compare(rounds: list[dict[str, _Took]]) -> None:
    """By ratios inside a round, of which the median: other work slows all of a round alike."""
    for name in ("bare COPY", "COPY into the tables"):
        by_time = statistics.median(one[name].seconds / one["import"].seconds for one in rounds)
        by_cost = statistics.median(one[name].processor / one["import"].processor for one in rounds)
        print(f"import : {name:22}{by_time:8.3f} by time{by_cost:8.3f} by PostgreSQL's processor")


def _write(path: Path, rows: int) -> None:
    with path.open("w", newline="") as file:
        file.write(",".join(_COLUMNS) + "\n")
        for n in range(rows):
            # Scattered over the alphabet, as people are.
            scattered = n * 2_654_435_761 % 4_294_967_296
            file.write(
                f"p{scattered:08x}.{n}@example{n % 97}.com,Person {n},en,Europe/Lisbon,"
                f"Town {n % 500},{'gold' if n % 3 else 'free'}\n"
            )


def _copy(path: Path) -> tuple[float, float]:
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    columns = ", ".join(f"{name} text" for name in _COLUMNS)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE plain ({columns})")
        return _timed(lambda: _copy_in(cursor, "plain", path, "(FORMAT csv, HEADER)"))


# The rows that an import makes of the file, in its order.
_READY = {
    "contacts_contact (id, workspace_id, address, name, locale, time_zone, attributes)": """
        SELECT nextval('contacts_contact_id_seq'), {workspace}, email, name, locale, time_zone,
               jsonb_build_object('city', city, 'plan', plan)
        FROM plain
    """,
    "contacts_subscription (contact_id, list_id, state)": """
        SELECT id, {list}, 'active' FROM contacts_contact WHERE workspace_id = {workspace}
    """,
    "contacts_consentevent (workspace_id, contact_id, list_id, action, after, source, actor)": """
        SELECT {workspace}, id, {list}, 'imported', 'active', 'import 1 of people.csv', 'bench'
        FROM contacts_contact WHERE workspace_id = {workspace}
    """,
}


def _copy_into_tables(path: Path) -> tuple[float, float]:
    from django.db import connection

    workspace_id, list_id = _workspace("bare")
    ready = path.with_suffix(".copy")
    took: list[tuple[float, float]] = []
    with connection.cursor() as cursor:
        for table, made in _READY.items():
            query = made.format(workspace=workspace_id, list=list_id)
            with ready.open("wb") as file, cursor.copy(f"COPY ({query}) TO STDOUT") as out:
                for block in out:
                    file.write(block)
            took.append(_timed(lambda table=table: _copy_in(cursor, table, ready)))  # type: ignore[misc]
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")
    return sum(seconds for seconds, _ in took), sum(processor for _, processor in took)


def _copy_in(cursor: "CursorWrapper", table: str, path: Path, options: str = "") -> None:
    with path.open("rb") as file, cursor.copy(f"COPY {table} FROM STDIN {options}") as into:
        while block := file.read(1 << 20):
            into.write(block)


def _import(path: Path) -> tuple[float, float]:
    workspace_id, _ = _workspace("acme")
    return _timed(lambda: _run(workspace_id, path))


def _again(path: Path) -> tuple[float, float]:
    from postledger.accounts import queries

    workspace = queries.workspace_named("acme")
    assert workspace is not None
    return _timed(lambda: _run(workspace.id, path))


type _Measure = Callable[[Path], tuple[float, float]]
_MEASURES: dict[str, _Measure] = {
    "bare COPY": _copy,
    "COPY into the tables": _copy_into_tables,
    "import": _import,
    "the same again": _again,
}


def _run(workspace_id: int, path: Path) -> None:
    from postledger.imports import running

    started = running.start_import(workspace_id, path, mapping={}, list_key="news", actor="bench")
    done = running.run_import(workspace_id, path, import_id=started.id, report=lambda _: None)
    assert done.done == done.created + done.unchanged == done.row_count


def _workspace(name: str) -> tuple[int, int]:
    from postledger.accounts import workspaces
    from postledger.contacts import lists

    workspace_id = workspaces.create_workspace(name, actor="bench")
    lists.create_list(workspace_id, key="news", name="News", actor="bench")
    return workspace_id, lists.get_active_id(workspace_id, "news")


def _timed(verb: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of the processor by the PostgreSQL process that serves us."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        [(served_by,)] = cursor.fetchall()
    began, used = time.perf_counter(), _processor(served_by)
    verb()
    return time.perf_counter() - began, _processor(served_by) - used


def _processor(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    main()
