"""The program of a child process that calls functions for its parent, within system limits.

`python -I -m postledger.lib.limited_child CPU_SECONDS MEMORY MODULE…` imports the modules, writes
one answer to say so, and then reads calls from its standard input and writes an answer to each. It
ends with its input, so it outlives no parent.
"""

import os
import pickle
import resource
import struct
import sys
from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO

from postledger.lib.errors import RefusedError

_NICENESS = 10  # requests that are waited for come first
LENGTH = struct.Struct("!Q")  # of the message behind it

type Call = tuple[Callable[..., object], tuple[object, ...], dict[str, object]]
# The result, a refusal to raise in the parent, or the name of any other exception.
type Answer = tuple[object, RefusedError | None, str]


def main(cpu_seconds: str, memory: str, *modules: str) -> None:
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    os.nice(_NICENESS)
    for module in modules:
        import_module(module)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, int(memory))
    _write(answers, (None, None, ""))
    while (call := _read(sys.stdin.buffer)) is not None:
        _allow(int(cpu_seconds))
        _write(answers, _answer(call))


def pack(message: Call | Answer) -> bytes:
    data = pickle.dumps(message)
    return LENGTH.pack(len(data)) + data


def _write(stream: BinaryIO, answer: Answer) -> None:
    stream.write(pack(answer))
    stream.flush()


def _read(stream: BinaryIO) -> Call | None:
    """The next call; None at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    call: Call = pickle.loads(stream.read(*LENGTH.unpack(head)))  # noqa: S301  of our own parent
    return call


def _answer(call: Call) -> Answer:
    function, args, kwargs = call
    try:
        return function(*args, **kwargs), None, ""
    except RefusedError as refused:
        return None, refused, ""
    except MemoryError:
        os._exit(1)  # a fresh process has more room than this one will ever have again
    except Exception as error:  # noqa: BLE001  the parent decides what it means
        return None, None, type(error).__name__


def _allow(seconds: int) -> None:
    """The kernel ends this process when its next call has taken this long."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + seconds)


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    lower = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (lower, hard))


if __name__ == "__main__":
    main(*sys.argv[1:])
