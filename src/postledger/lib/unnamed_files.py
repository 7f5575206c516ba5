"""Files without a name: the system deletes one with the last process that holds it.

So nothing of them is left behind by a process that is killed.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO


@contextmanager
def keep_bytes(blocks: Iterable[bytes]) -> Iterator[Path]:
    """A file of these blocks, which this process can read by its path while the context lasts."""
    with TemporaryFile(prefix="postledger-") as file:
        file.writelines(blocks)
        file.flush()
        yield find_path(file)


def find_path(file: IO[bytes]) -> Path:
    """The path by which this process, or a child that was given the file, opens it anew."""
    return Path(f"/proc/self/fd/{file.fileno()}")
