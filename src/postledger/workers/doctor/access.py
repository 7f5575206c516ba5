"""Whether a program can get in: an API key that works."""

from collections.abc import Iterator

from django.db.models import Q
from django.db.models.functions import Now

from postledger.accounts.models import ApiKey
from postledger.workers.doctor.findings import Finding, ok, warning


def look() -> Iterator[Finding]:
    works = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=Now()))
    count = ApiKey.objects.filter(works).count()
    if count:
        yield ok("keys", f"API keys that work: {count}.")
    else:
        found = "No API key works, so no program can ask for mail."
        yield warning("keys", found, "Run postledger key create WORKSPACE --name NAME.")
