"""What beat rings for, and how often; two beats ring twice, which changes nothing."""

from celery.schedules import schedule


def _every(task: str, seconds: float) -> dict[str, object]:
    # A message that is older than its interval has been overtaken by the next one.
    return {"task": task, "schedule": schedule(seconds), "options": {"expires": seconds}}


SCHEDULE = {
    "tick": _every("postledger.tick", 1),
    "sweep": _every("postledger.sweep", 5),
    "plan": _every("postledger.plan", 2),
    "drain": _every("postledger.drain", 5),
    "fold": _every("postledger.fold", 10),
    "notion": _every("postledger.notion", 10),
    "supabase": _every("postledger.supabase", 60),
    "tidy": _every("postledger.tidy", 600),
}
