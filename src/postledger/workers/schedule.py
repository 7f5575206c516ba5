"""How often each task of upkeep runs: the one list that beat and `upkeep` go by.

Two that ring at once ring twice, which changes nothing.
"""

from celery.schedules import schedule

# Seconds; `tasks.py` has a task of each name.
INTERVALS = {
    "sweep": 5.0,
    "plan": 2.0,
    "drain": 5.0,
    "fold": 10.0,
    "notion": 10.0,
    "supabase": 60.0,
    "tidy": 600.0,
}
TICK_EVERY = 1.0


def _every(name: str, seconds: float) -> dict[str, object]:
    # A message that is older than its interval has been overtaken by the next one.
    return {
        "task": f"postledger.{name}",
        "schedule": schedule(seconds),
        "options": {"expires": seconds},
    }


SCHEDULE = {
    name: _every(name, seconds) for name, seconds in {"tick": TICK_EVERY, **INTERVALS}.items()
}
