"""The sessions of people who signed in."""

from datetime import datetime

from django.contrib.sessions.models import Session


def delete_expired(now: datetime) -> int:
    """Deletes the sessions that nobody can use any more; returns how many."""
    count, _ = Session.objects.filter(expire_date__lte=now).delete()
    return count
