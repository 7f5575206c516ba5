"""Checks how the web process is reached: by which URL, through how many proxies, with metrics."""

from collections.abc import Iterator

import httpx
from django.conf import settings

from postledger.accounts.models import Sender
from postledger.lib import loopback
from postledger.lib.check_results import CheckResult, ok, warning
from postledger.providers import registry

_TIMEOUT = 5.0  # seconds


def check_public_url() -> Iterator[CheckResult]:
    """An address of this machine is enough for the sandbox alone."""
    if not loopback.is_loopback(settings.PUBLIC_URL):
        url = settings.PUBLIC_URL or "not set"
        yield ok("public_url", f"PUBLIC_URL is {url}.")
        return
    message = f"PUBLIC_URL is {settings.PUBLIC_URL}, which leads to the machine of whoever opens it"
    senders = Sender.objects.filter(archived_at=None, account__isnull=False)
    if not senders.exclude(account__kind=registry.SANDBOX).exists():
        yield ok("public_url", f"{message}; no sender reaches anybody elsewhere.")
        return
    remedy = "Set PUBLIC_URL to an address that readers can reach, and start Postledger again."
    message += ": readers can open neither pictures nor unsubscribe links."
    yield warning("public_url", message, remedy)


def check_proxies() -> Iterator[CheckResult]:
    """Asks this installation, as a visitor does, how many addresses it was forwarded from."""
    if not settings.PUBLIC_URL:
        yield ok("proxies", "PUBLIC_URL is not set, so PROXY_COUNT cannot be compared.")
        return
    try:
        answer = httpx.get(
            f"{settings.PUBLIC_URL.rstrip('/')}/ready", timeout=_TIMEOUT, trust_env=False
        )
        forwarded = int(answer.json()["forwarded"])
    except (httpx.HTTPError, ValueError, TypeError, KeyError) as error:
        message = f"The web process does not answer at PUBLIC_URL ({type(error).__name__})."
        remedy = "Start postledger serve and its proxy, or correct PUBLIC_URL."
        yield warning("proxies", message, remedy)
        return
    yield judge_proxies(forwarded, proxy_count=settings.PROXY_COUNT)


def judge_proxies(forwarded: int, *, proxy_count: int) -> CheckResult:
    """Compares the proxies that added to X-Forwarded-For with those that are expected."""
    remedy = f"Set PROXY_COUNT to {forwarded}, if every visitor comes the way of this check."
    if forwarded > proxy_count:
        message = (
            f"Proxies that add to X-Forwarded-For: {forwarded}, but PROXY_COUNT is {proxy_count}:"
            " all visitors of a proxy count as one, and share one rate."
        )
        return warning("proxies", message, remedy)
    if forwarded < proxy_count:
        message = (
            f"Proxies that add to X-Forwarded-For: {forwarded}, but PROXY_COUNT is {proxy_count}:"
            " visitors can forge their address, and with it pass every limit."
        )
        return warning("proxies", message, remedy)
    return ok("proxies", f"Proxies that add to X-Forwarded-For: {forwarded}, as PROXY_COUNT says.")


def check_metrics() -> Iterator[CheckResult]:
    is_on = bool(settings.METRICS_TOKEN)
    message = "/metrics requires METRICS_TOKEN." if is_on else "/metrics is off: no METRICS_TOKEN."
    yield ok("metrics", message)
