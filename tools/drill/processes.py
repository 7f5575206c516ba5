"""Processes that die: at named points, at random, and politely."""

import random
import subprocess
import sys
import time
from collections import deque

from postledger.lib.crashpoints import Point
from tools.drill import books
from tools.drill.drill import Drill
from tools.drill.fleet import Member
from tools.drill.process_groups import group_members
from tools.drill.size import Size

_OF_WEB = (Point.AFTER_ACCEPT_BEFORE_WAKE_UP, Point.IN_WAKE_UP)
_OF_PLANNER = (Point.IN_PLAN_CHUNK,)
_OF_SWEEPERS = (Point.IN_SWEEP,)
_OF_FEEDBACK = (Point.IN_FEEDBACK,)  # tests/feedback/test_processes.py
_OF_SOURCES = (Point.IN_SNAPSHOT,)  # tests/journeys/test_notifications.py
_OF_POISON = (Point.COMPOSE,)  # poison.py
_OF_WORKERS = tuple(
    point
    for point in Point
    if point
    not in (
        *(*_OF_WEB, *_OF_PLANNER, *_OF_SWEEPERS),
        *(*_OF_FEEDBACK, *_OF_SOURCES, *_OF_POISON),
    )
)
# These come round seldom: on the first pass, or nobody would die.
_SELDOM = {Point.BEFORE_GIVE_BACK, Point.ON_WAKE_UP}
# A point that nobody came to for so long is given to somebody else.
_PATIENCE = 20.0
_MOSTLY = 0.8


class _Wishes:
    """Who is to die where; what was not fulfilled comes back."""

    def __init__(self, count: int, latest_pass: int) -> None:
        self._latest_pass = latest_pass
        points = [point for point in _OF_WORKERS for _ in range(count)]
        random.shuffle(points)
        # Those that take long begin.
        self.of_workers = deque(sorted(points, key=lambda point: point not in _SELDOM))
        self.of_web = deque(point for _ in range(count) for point in _OF_WEB)

    def next(self, role: str) -> str | None:
        wishes = self.of_web if role == "web" else self.of_workers
        if not wishes:
            return None
        point = wishes.popleft()
        return f"{point}:{1 if point in _SELDOM else random.randint(1, self._latest_pass)}"

    def put_back(self, role: str, crash: str) -> None:
        wishes = self.of_web if role == "web" else self.of_workers
        wishes.append(Point(crash.partition(":")[0]))


def crash_points(drill: Drill, size: Size) -> None:
    _die_while_planning(drill, size.kills_of_a_point)
    _die_on_the_way(drill, size.kills_of_a_point, size.latest_pass)
    _die_while_sweeping(drill, size.kills_of_a_point)


def _die_on_the_way(drill: Drill, count: int, latest_pass: int) -> None:
    wishes, fleet = _Wishes(count, latest_pass), drill.fleet
    fleet.next_crash = wishes.next
    _replace_all(drill)
    end = time.monotonic() + 60 + 40 * count
    while any("CRASH_AT" in member.extra for member in fleet.members):
        if time.monotonic() > end:
            drill.skipped.append(f"{len(wishes.of_workers)} deaths at points: time ran out")
            break
        drill.pass_time(0.1)
        for member in list(fleet.members):
            crash = member.extra.get("CRASH_AT")
            if crash and time.monotonic() - member.started_at > _PATIENCE:
                wishes.put_back(member.role, crash)
                fleet.kill(member)
                fleet.start_like(member)
    fleet.next_crash = _nowhere


def _die_while_sweeping(drill: Drill, count: int) -> None:
    """Each death leaves the lost leases where they were, for the next one to die of."""
    fleet = drill.fleet
    fleet.next_crash = lambda role: None if role == "web" else f"{Point.IN_SWEEP}:1"
    _replace_all(drill)
    wanted, end = fleet.kills[Point.IN_SWEEP] + count, time.monotonic() + 40 + 12 * count
    while fleet.kills[Point.IN_SWEEP] < wanted and time.monotonic() < end:
        drill.pass_time(0.1)
    fleet.next_crash = _nowhere
    _replace_all(drill)


def _replace_all(drill: Drill) -> None:
    for member in list(drill.fleet.members):
        drill.fleet.kill(member)
        drill.fleet.start_like(member)


def _nowhere(_role: str) -> str | None:
    return None


def _die_while_planning(drill: Drill, count: int) -> None:
    """A planner that starts over after every death, until it comes through."""
    mails = 20 * (count + 1)
    first = drill.load.reserve(mails)
    command = [sys.executable, "-m", "tools.drill.planner", str(drill.load.stream_id)]
    for n in range(count + 1):
        crash = {"CRASH_AT": f"{Point.IN_PLAN_CHUNK}:{n + 1}"} if n < count else {}
        subprocess.run(
            [*command, str(first), str(mails)],
            env={**drill.fleet.environment, **crash},
            check=not crash,
        )
        drill.fleet.kills[Point.IN_PLAN_CHUNK] += bool(crash)


def random_kills(drill: Drill, size: Size) -> None:
    for _ in range(size.random_kills):
        drill.pass_time(random.uniform(0.3, 1.5))
        kill_one(drill)


def replace_workers(drill: Drill) -> None:
    """Kills all workers; their successors die where the fleet's next ones are to die."""
    for member in drill.fleet.workers():
        drill.fleet.kill(member)
        drill.fleet.start_like(member)


def kill_one(drill: Drill) -> None:
    """Kills a worker, for a scenario that goes on meanwhile."""
    victim = victim_of(drill)
    drill.fleet.kill(victim)
    drill.fleet.start_like(victim)


def victim_of(drill: Drill) -> Member:
    """Mostly one with mails under way: those that are only coming up prove little."""
    members = drill.fleet.members
    busy = [one for one in drill.fleet.workers() if books.armed_by(*group_members(one.popen.pid))]
    return random.choice(busy if busy and random.random() < _MOSTLY else members)


def deploys(drill: Drill, size: Size) -> None:
    """Every process is replaced by a new one and told to stop, under load."""
    drill.pass_time(1)
    for _ in range(size.deploys):
        for member in list(drill.fleet.members):
            is_web = member.role == "web"
            if not is_web:
                drill.fleet.start_like(member)
                drill.pass_time(3)
            code = drill.fleet.terminate(member)
            if is_web:
                drill.fleet.start_like(member)
            drill.faults["told to stop"] += 1
            if code != 0:
                drill.skipped.append(f"{member.role} ended with {code} when told to stop")


def beats(drill: Drill, size: Size) -> None:
    """Two beats at once, and then none while a worker is lost."""
    second = drill.fleet.start("beat")
    drill.pass_time(size.pause + 2)
    drill.faults["two beats"] += 1
    for member in (second, *drill.fleet.of_role("beat")):
        if member in drill.fleet.members:
            drill.fleet.terminate(member)
    drill.fleet.start("worker")
    drill.pass_time(4)
    drill.faults["no beat"] += 1
    victim = drill.fleet.any_worker()
    drill.fleet.kill(victim)
    drill.fleet.start_like(victim)
    drill.come_to_rest()
    drill.fleet.start("beat")
