"""Says which imports somebody works on, by leases that run out.

The lease of a process that dies runs out, and the next one that looks goes on after the last chunk
that counts.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from postledger.lib import work_leases
from postledger.lib.work_leases import Work


@contextmanager
def alone(import_id: int) -> Iterator[bool]:
    """Whether nobody else works on it, nor will while this lasts."""
    with work_leases.alone(Work.IMPORT, import_id) as is_alone:
        yield is_alone


@contextmanager
def seen(import_id: int) -> Iterator[None]:
    """Lets others see that somebody works on it; keeps nobody away who does the same."""
    with work_leases.alone(Work.IMPORT, import_id):
        yield


def all_held() -> frozenset[int]:
    """The imports that somebody works on."""
    return work_leases.held(Work.IMPORT)
