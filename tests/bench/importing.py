"""`just bench importing`: how fast a CSV file becomes contacts, and how much memory that takes.

Beside it, in the same run: a bare COPY of the file into a table of texts without an index, and the
plain statements that put the same rows into the real tables, with their indexes and foreign keys.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

from tests.bench import cluster, work

_COLUMNS = ("email", "name", "locale", "time_zone", "city", "plan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    with cluster.running() as address, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        _write(path, options.rows)
        print(f"{options.rows:,} rows, {path.stat().st_size / 1e6:.0f} MB", flush=True)
        for measure in (_copy, _import, _again):
            # A process of its own: its highest memory is that of this measurement.
            child = get_context("spawn").Process(target=measure, args=(address, path, options.rows))
            child.start()
            child.join()
            assert child.exitcode == 0


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


def _copy(address: str, path: Path, rows: int) -> None:
    work.connect(address)
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    columns = ", ".join(f"{name} text" for name in _COLUMNS)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE plain ({columns})")

        def copy() -> None:
            with path.open("rb") as file, cursor.copy("COPY plain FROM STDIN (FORMAT csv)") as into:
                while block := file.read(1 << 20):
                    into.write(block)

        _timed("bare COPY", rows, copy)
        workspace_id, list_id = _workspace("bare")
        params = {"workspace": workspace_id, "list": list_id}
        _timed("bare statements", rows, lambda: [cursor.execute(one, params) for one in _BARE])
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")


_BARE = (
    """
    INSERT INTO contacts_contact (workspace_id, address, name, locale, time_zone, attributes)
    SELECT %(workspace)s, email, name, locale, time_zone,
           jsonb_build_object('city', city, 'plan', plan)
    FROM plain WHERE email <> 'email'
    """,
    """
    INSERT INTO contacts_subscription (contact_id, list_id, state)
    SELECT id, %(list)s, 'active' FROM contacts_contact WHERE workspace_id = %(workspace)s
    """,
    """
    INSERT INTO contacts_consentevent
        (workspace_id, contact_id, list_id, action, after, source, actor)
    SELECT %(workspace)s, id, %(list)s, 'imported', 'active', 'people.csv', 'bench'
    FROM contacts_contact WHERE workspace_id = %(workspace)s
    """,
)


def _import(address: str, path: Path, rows: int) -> None:
    work.connect(address)
    workspace_id, _ = _workspace("acme")
    _timed("import", rows, lambda: _run(workspace_id, path))
    print(f"{'':18}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:10,.0f} MB at most")


def _again(address: str, path: Path, rows: int) -> None:
    work.connect(address)
    from postledger.accounts import queries

    found = queries.workspace_named("acme")
    assert found is not None
    _timed("the same again", rows, lambda: _run(found.id, path))


def _run(workspace_id: int, path: Path) -> None:
    from postledger.contacts.importing import running

    import_id = running.start(workspace_id, path, mapping={}, list_key="news", actor="bench")
    done = running.run(workspace_id, path, import_id=import_id, tell=lambda _: None)
    assert done.done == done.created + done.unchanged == done.row_count


def _workspace(name: str) -> tuple[int, int]:
    from postledger.accounts import actions as accounts
    from postledger.contacts import actions, lists

    workspace_id = accounts.create_workspace(name, actor="bench")
    actions.create_list(workspace_id, key="news", name="News", actor="bench")
    return workspace_id, lists.named(workspace_id, "news")


def _timed(name: str, rows: int, verb: Callable[[], object]) -> None:
    began = time.perf_counter()
    verb()
    seconds = time.perf_counter() - began
    print(f"{name:18}{rows / seconds:10,.0f} rows/s{seconds:10.1f} s", flush=True)


if __name__ == "__main__":
    main()
