"""Keeps programs running: starts them, receives their heartbeats, and replaces those that hang.

A child process writes a byte into a pipe every second, from the event loop that does its work: a
loop that waits for a database goes on beating, one that a long call blocks does not.
Children die with their parent, even if it is killed. Linux only.
"""

import asyncio
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial

import structlog

_log = structlog.get_logger(__name__)

BEAT_EVERY = 1.0
MOST_SILENCE = 60.0  # a loop that is silent for longer hangs
FIRST_BEAT_WITHIN = 300.0  # loading takes long on a busy machine
LONG_LIFE = 60.0  # a child that lived longer did not die of its start
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 30.0

_CHECK_EVERY = 0.5
_HEARTBEAT_FD = "HEARTBEAT_FD"
# A closed terminal sends SIGHUP.
_END = {signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP}
_AWAITED = {*_END, signal.SIGCHLD}
_SI_KERNEL = 0x80
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Program:
    """A command that beats by `heartbeat`, and the longest silence allowed."""

    name: str
    command: Sequence[str]
    most_silence: float = MOST_SILENCE


@cache
def heartbeat() -> Callable[[], None]:
    """For the child: returns a function that writes one beat; a no-op without a supervisor."""
    number = os.environ.pop(_HEARTBEAT_FD, None)
    if number is None:
        return lambda: None
    return partial(_beat, int(number))


def _beat(fd: int) -> None:
    # The pipe is full if the parent is stopped, and broken if it just died.
    with suppress(BlockingIOError, BrokenPipeError):
        os.write(fd, b".")


def beat_from(loop: asyncio.AbstractEventLoop) -> None:
    """For the child: beats from an event loop, for as long as it runs."""
    beat = heartbeat()

    def beat_again() -> None:
        beat()
        loop.call_later(BEAT_EVERY, beat_again)

    loop.call_soon(beat_again)


def die_with_parent(parent: int) -> None:
    """Has the kernel kill this process when its parent, which has this pid, ends."""
    # Not SIGTERM: a child that hangs would outlive its parent.
    if _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL):
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != parent:  # it died before prctl
        os._exit(1)


def counted_silence(elapsed: float) -> float:
    """How much of the time between two checks counts as silence: at most two intervals.

    If the parent was stopped or the machine slept, the child may have been stopped too.
    """
    return min(elapsed, 2 * _CHECK_EVERY)


def next_pause(pause: float, *, lived: float) -> float:
    """The pause before the next start; it doubles for each child that died young."""
    return SHORTEST_PAUSE if lived >= LONG_LIFE else min(pause * 2, LONGEST_PAUSE)


class _Child:
    """One program: its process, or the time at which the next process is started."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._started_at = 0.0
        self._restart_at = 0.0
        self._pause = SHORTEST_PAUSE / 2
        self._silence = 0.0
        self._has_beaten = False
        self._has_ever_beaten = False
        self._was_killed = False
        self.exit_code = 0  # of the last process

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def has_failed_to_start(self) -> bool:
        """Whether the program ended by itself before its first beat: a misconfiguration."""
        return self._process is None and not (self._has_ever_beaten or self._was_killed)

    def start(self) -> None:
        self._pipe, write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self._process = subprocess.Popen(  # noqa: S603  our own command
                self._program.command,
                env={**os.environ, _HEARTBEAT_FD: str(write_end)},
                pass_fds=(write_end,),
                preexec_fn=partial(_become_child, os.getpid()),  # noqa: PLW1509  we have one thread
            )
        finally:
            os.close(write_end)
        self._started_at = time.monotonic()
        self._silence, self._has_beaten = 0.0, False
        _log.info("started", program=self._program.name, pid=self._process.pid)

    def send(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def check(self, elapsed: float) -> None:
        """Records the end of a child, and kills a child that hangs."""
        if self._process is None:
            return
        if self._process.poll() is not None:
            self._note_end(self._process)
        elif self._is_beating():
            self._silence, self._has_beaten, self._has_ever_beaten = 0.0, True, True
        else:
            self._silence += counted_silence(elapsed)
            most = self._program.most_silence if self._has_beaten else FIRST_BEAT_WITHIN
            if self._silence > most:
                _log.critical(
                    "the event loop hangs; the process is killed",
                    program=self._program.name,
                    pid=self._process.pid,
                    silent_seconds=round(self._silence),
                )
                self._process.kill()
                self._silence = 0.0

    def restart_if_due(self) -> None:
        if self._process is None and time.monotonic() >= self._restart_at:
            self.start()

    def _is_beating(self) -> bool:
        with suppress(BlockingIOError):
            return bool(os.read(self._pipe, 65536))
        return False

    def _note_end(self, process: subprocess.Popen[bytes]) -> None:
        # The last beats may be unread: the process may have worked.
        self._has_ever_beaten |= self._is_beating()
        os.close(self._pipe)
        now = time.monotonic()
        self._pause = next_pause(self._pause, lived=now - self._started_at)
        self._restart_at = now + self._pause
        self._process, self._was_killed = None, process.returncode < 0
        self.exit_code = _exit_code(process.returncode)
        (_log.warning if process.returncode else _log.info)(
            "ended", program=self._program.name, pid=process.pid, exit_code=process.returncode
        )


class Supervisor:
    """Runs programs until a signal ends it. Needs the main thread, and no other.

    It passes the signal on and waits for the children to finish their work. A failed first start
    ends the supervisor; a process that ends later is replaced.
    """

    def __init__(self, programs: Sequence[Program]) -> None:
        self._children = [_Child(program) for program in programs]
        self._is_ending = False

    def run(self) -> int:
        """Returns the exit code: that of the first program that failed, or 0."""
        # Blocked for good: signals are awaited, and interrupt nothing.
        signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
        try:
            for child in self._children:
                child.start()
            self._watch()
        except BaseException:
            # Killed children would leave mail in doubt.
            _log.critical("the supervisor failed; its children are told to end", exc_info=True)
            self._end(signal.SIGTERM)
            self._watch()
            raise
        return next((child.exit_code for child in self._children if child.exit_code), 0)

    def _watch(self) -> None:
        checked_at = time.monotonic()
        while not self._is_ending or any(child.is_running for child in self._children):
            self._handle(signal.sigtimedwait(_AWAITED, _CHECK_EVERY))
            now = time.monotonic()
            for child in self._children:
                child.check(now - checked_at)
                if self._is_ending:
                    continue
                if child.has_failed_to_start:
                    self._end(signal.SIGTERM)
                else:
                    child.restart_if_due()
            checked_at = now

    def _handle(self, info: signal.struct_siginfo | None) -> None:
        if info is None or info.si_signo == signal.SIGCHLD:
            return
        if info.si_code == _SI_KERNEL and info.si_signo != signal.SIGHUP:
            self._is_ending = True  # typed at a terminal, which signals the children as well
        else:
            self._end(signal.SIGTERM if info.si_signo == signal.SIGHUP else info.si_signo)

    def _end(self, number: int) -> None:
        self._is_ending = True
        for child in self._children:
            child.send(number)


def _become_child(parent: int) -> None:
    """Runs in the child between fork and exec; the settings survive exec."""
    die_with_parent(parent)
    # The parent handles a closed terminal.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)


def _exit_code(returncode: int) -> int:
    """As in a shell: 128 plus the number of the signal that killed the process."""
    return 128 - returncode if returncode < 0 else returncode
