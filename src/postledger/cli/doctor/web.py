"""Checks how the web process is reached: through how many proxies, and whether metrics are on."""

from collections.abc import Iterator

import httpx
from django.conf import settings

from postledger.lib.check_results import CheckResult, ok, warning

_TIMEOUT = 5.0  # seconds


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
