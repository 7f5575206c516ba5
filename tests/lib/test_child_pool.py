"""A call in a child process takes no more time and memory than it may, and harms nobody else."""

import operator
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.source import Format, Source, SourceError, make_script
from postledger.lib.child_pool import AllBusyError, ChildPool, NoAnswerError
from tests import children

pytestmark = pytest.mark.slow

PATIENCE = 60.0
# Linear search in C, for years.
ENDLESS = (range(10**18), "x")


@contextmanager
def pool(
    size: int = 1,
    *,
    cpu_seconds: int = 1,
    memory: int = 1 << 30,
    patience: float = PATIENCE,
    wait: float = PATIENCE,
    most_waiting: int = 8,
    modules: Sequence[str] = (),
) -> Iterator[ChildPool]:
    made = ChildPool(
        size=size,
        modules=modules,
        cpu_seconds=cpu_seconds,
        memory=memory,
        patience=patience,
        wait=wait,
        most_waiting=most_waiting,
    )
    try:
        yield made
    finally:
        made.stop()


def test_calls_are_answered_by_one_other_process() -> None:
    with pool() as made:
        first, second = made.call(os.getpid), made.call(os.getpid)

    assert first == second != os.getpid()


def test_a_call_that_holds_the_interpreter_is_ended_and_holds_nobody_else() -> None:
    steps = 0

    def step() -> None:
        nonlocal steps
        while not over.wait(0.01):
            steps += 1

    over = threading.Event()
    with pool() as made:
        before = made.call(os.getpid)
        threading.Thread(target=step).start()
        with pytest.raises(NoAnswerError):
            made.call(operator.contains, *ENDLESS)
        over.set()
        after = made.call(os.getpid)

    assert steps > 10
    assert after != before
    assert not children.is_running(before)


def test_the_processor_time_is_that_of_one_call_and_not_of_all() -> None:
    with pool() as made:
        pids = {made.call(os.getpid)}
        for _ in range(4):
            # Half a second of the limit's two.
            made.call(operator.contains, range(2_000_000), "x")
            pids.add(made.call(os.getpid))
        used = made.call(time.process_time)

    assert len(pids) == 1
    assert used > 0


def test_a_call_that_asks_for_too_much_memory_is_ended() -> None:
    with pool() as made:
        with pytest.raises(NoAnswerError):
            made.call(bytearray, 1 << 31)

        assert made.call(len, b"abc") == 3


def test_a_child_that_died_is_replaced() -> None:
    for number in (signal.SIGKILL, signal.SIGSEGV):
        with pool() as made:
            first = made.call(os.getpid)
            os.kill(first, number)
            while children.is_running(first):
                time.sleep(0.05)
            with pytest.raises(NoAnswerError):
                made.call(os.getpid)

            assert made.call(len, b"abc") == 3, number


def test_a_child_that_stands_still_is_replaced() -> None:
    for size in (1, 1_000_000):
        with pool(patience=2.0) as made:
            stopped = made.call(os.getpid)
            os.kill(stopped, signal.SIGSTOP)
            with pytest.raises(NoAnswerError):
                made.call(len, b"x" * size)

            assert made.call(len, b"x" * size) == size
        assert not children.is_running(stopped), size


def test_a_refusal_is_raised_as_in_this_process() -> None:
    source = Source("Hello", "<p>{{ name</p>", Format.HTML)

    with (
        pool(modules=["postledger.content.rendering.source"]) as made,
        pytest.raises(SourceError) as refused,
    ):
        made.call(make_script, source)

    with pytest.raises(SourceError) as expected:
        make_script(source)
    assert refused.value.findings == expected.value.findings
    assert isinstance(refused.value.findings[0], Finding)
    assert str(refused.value) == str(expected.value)


def test_any_other_exception_is_an_error_without_the_content() -> None:
    with pool() as made:
        with pytest.raises(RuntimeError, match="ValueError") as failed:
            made.call(int, "secret")

        assert "secret" not in str(failed.value)
        assert made.call(len, b"abc") == 3


def test_who_finds_every_child_busy_is_told_so() -> None:
    with pool(wait=0.1) as made:
        made.call(os.getpid)
        busy = threading.Thread(target=made.call, args=(time.sleep, 2))
        busy.start()
        time.sleep(0.5)
        with pytest.raises(AllBusyError):
            made.call(os.getpid)
        busy.join()

        assert made.call(len, b"abc") == 3


def test_one_owner_leaves_a_child_for_the_others() -> None:
    with pool(2, cpu_seconds=30, wait=0.1) as made:
        made.call(os.getpid)
        entered, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with made.share("acme"):
                entered.set()
                leave.wait(PATIENCE)

        holder = threading.Thread(target=hold)
        holder.start()
        entered.wait(PATIENCE)
        with pytest.raises(AllBusyError), made.share("acme"):
            pass
        with made.share("globex"):
            answer = made.call(len, b"abc")
        leave.set()
        holder.join()

        assert answer == 3
        with made.share("acme"):
            assert made.call(len, b"abc") == 3


def test_one_owner_leaves_threads_for_the_others() -> None:
    results: queue.SimpleQueue[str] = queue.SimpleQueue()

    def take_share() -> None:
        try:
            with made.share("acme"):
                results.put("taken")
        except AllBusyError:
            results.put("refused")

    with pool(2, most_waiting=2) as made:
        threads = [threading.Thread(target=take_share) for _ in range(5)]
        with made.share("acme"):
            for thread in threads:
                thread.start()
            refused = [results.get(timeout=PATIENCE / 2) for _ in range(3)]
            assert results.empty()
        for thread in threads:
            thread.join()

    assert refused == ["refused"] * 3
    assert [results.get_nowait() for _ in range(2)] == ["taken"] * 2


def test_many_threads_share_the_children() -> None:
    with pool(2) as made, ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: made.call(abs, -number), range(200)))

    assert answers == list(range(200))


def test_a_child_has_no_setting_and_no_open_file_of_its_parent() -> None:
    with open(__file__) as file, pool() as made:  # noqa: PTH123  a file that stays open
        os.set_inheritable(file.fileno(), True)  # noqa: FBT003  as Python has it
        environment = made.call(os.getenv, "PATH")
        files = made.call(os.listdir, "/proc/self/fd")
        links = [made.call(os.readlink, f"/proc/self/fd/{number}") for number in files[:4]]

    assert environment is None
    assert len(files) <= 5
    assert all(link.startswith(("pipe:", "/dev/null")) for link in links)


_PARENT = """
import operator, os, sys, threading, time
from postledger.lib.child_pool import ChildPool
limits = {"cpu_seconds": 2, "memory": 1 << 30, "patience": 60.0, "wait": 60.0}
pool = ChildPool(size=1, modules=(), most_waiting=8, **limits)
print(pool.call(os.getpid), flush=True)
if sys.argv[1] == "hanging":
    pool.call(operator.contains, range(10**18), "x")
time.sleep(60)
"""


@pytest.mark.parametrize("state", ["idle", "hanging"])
def test_no_child_outlives_its_parent_for_long(state: str) -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT, state], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        time.sleep(0.5)
        parent.kill()

    # A call that hangs ends by its processor time, of which a busy machine gives little.
    end = time.monotonic() + 10 * PATIENCE
    while children.is_running(child) and time.monotonic() < end:
        time.sleep(0.1)
    assert not children.is_running(child)


def test_a_fork_gets_children_of_its_own() -> None:
    with pool() as made:
        ours = made.call(os.getpid)
        read_end, write_end = os.pipe()
        forked = os.fork()
        if not forked:
            os.write(write_end, str(made.call(os.getpid)).encode())
            made.stop()
            os._exit(0)
        os.waitpid(forked, 0)
        theirs = int(os.read(read_end, 100))
        os.close(read_end)
        os.close(write_end)

        assert theirs != ours
        assert made.call(os.getpid) == ours
