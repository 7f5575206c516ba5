"""What programs do with the links of a mail before its reader does, without a press of a button."""

import re
import socket
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlencode, urljoin, urlsplit

import httpx

PAGE = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ONE_CLICK = "List-Unsubscribe=One-Click"
_FORM = "application/x-www-form-urlencoded"
_CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/130.0.0.0 Safari/537.36"
)


@dataclass
class Visitor:
    """A program that opens links, and counts the answers by their number.

    A dropped request raises and so fails the proof: every visitor must be answered.
    """

    http: httpx.Client
    answers: list[int] = field(default_factory=list)

    def ask(self, method: str, url: str, *, body: str = "", **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if body:
            named["Content-Type"] = _FORM
        response = self.http.request(method, url, headers=named, content=body or None)
        self.answers += [*(hop.status_code for hop in response.history), response.status_code]
        return response


type Behaviour = Callable[[Visitor, str], object]


def _asks(method: str, *, body: str = "", **headers: str) -> Behaviour:
    return lambda visitor, url: visitor.ask(method, url, body=body, **headers)


def _named(agent: str, accept: str = PAGE) -> Behaviour:
    return _asks("GET", User_Agent=agent, Accept=accept)


def _links(response: httpx.Response) -> Iterator[str]:
    """All addresses that a page names on this host, forms' included."""
    base = str(response.url)
    for name in re.findall(r'(?:href|src|action|content)="([^"#]+)"', response.text):
        url = urljoin(base, unescape(name))
        if urlsplit(url).netloc == urlsplit(base).netloc and ("/" in name or "?" in name):
            yield url


def _crawl(visitor: Visitor, url: str) -> None:
    """Opens the page, all it names, and all that those name."""
    seen, due = {url}, [url]
    for _ in range(3):
        pages = [visitor.ask("GET", one, Accept=PAGE) for one in due]
        due = list(dict.fromkeys(one for page in pages for one in _links(page) if one not in seen))
        seen.update(due)


def _each_link(method: str) -> Behaviour:
    def ask(visitor: Visitor, url: str) -> None:
        for one in _links(visitor.ask("GET", url, Accept=PAGE)):
            visitor.ask(method, one, Accept=PAGE)

    return ask


def _forms_by_get(visitor: Visitor, url: str) -> None:
    """Sends each form of the page and of the one for preferences, with all its fields, by GET."""
    first = visitor.ask("GET", url, Accept=PAGE)
    pages = [first, *(visitor.ask("GET", one) for one in _links(first) if "/preferences" in one)]
    for page in pages:
        for action, inside in re.findall(
            r'<form[^>]* action="([^"]*)"[^>]*>(.*?)</form>', page.text, re.DOTALL
        ):
            named = re.findall(r'name="([^"]+)" value="([^"]*)"', inside)
            fields = urlencode([*named, ("do", "leave"), ("List-Unsubscribe", "One-Click")])
            visitor.ask("GET", urljoin(url, unescape(action)) + "&" + fields, Accept=PAGE)


def _resources(visitor: Visitor, url: str) -> None:
    """What a browser loads beside a page, and what programs look for on every host."""
    page = visitor.ask("GET", url, Accept=PAGE)
    loaded = re.findall(r'(?:src|<link[^>]*href)="([^"]+)"', page.text)
    usual = ("/favicon.ico", "/robots.txt", "/.well-known/security.txt", "/apple-touch-icon.png")
    for name in (*loaded, *usual):
        visitor.ask("GET", urljoin(url, unescape(name)), Referer=url)


def _head_then_get(visitor: Visitor, url: str) -> None:
    for method in ("HEAD", "GET", "GET"):
        visitor.ask(method, url, Accept=PAGE)


def _at_once(visitor: Visitor, url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: visitor.ask("GET", url, Accept=PAGE), range(4)))


def _undo_by_get(visitor: Visitor, url: str) -> None:
    for page in ("/unsubscribe/undo", "/preferences"):
        visitor.ask("GET", url.replace("/unsubscribe", page), Accept=PAGE)


def _damaged(visitor: Visitor, url: str) -> None:
    """Links as programs cut them out of texts."""
    for one in (url + ">", url + ".", url + ")", url[:-1], url.replace("=", "=3D"), url.lower()):
        visitor.ask("GET", one, Accept=PAGE)


def _tracked(visitor: Visitor, url: str) -> None:
    for more in (f"&{ONE_CLICK}", "&utm_source=mail&confirm=1", "&_method=POST", "&do=leave"):
        visitor.ask("GET", url + more, Accept=PAGE)


def _hangs_up(visitor: Visitor, url: str) -> None:
    """Asks in HTTP/1.0 and is gone before the answer."""
    split = urlsplit(url)
    with socket.create_connection((str(split.hostname), split.port or 80), 10) as line:
        line.sendall(
            f"GET {split.path}?{split.query} HTTP/1.0\r\nHost: {split.netloc}\r\n\r\n".encode()
        )
    visitor.answers.append(0)


PLAIN: Mapping[str, Behaviour] = {
    "GET without any header": _asks("GET", Accept="", User_Agent=""),
    "GET, Chrome": _named(_CHROME),
    "GET, curl": _named("curl/8.9", "*/*"),
    "GET, Microsoft Safe Links": _named(_CHROME + " Edg/130.0 SafeLinks"),
    "GET, Outlook": _named("Mozilla/4.0 (compatible; ms-office; MSOffice 16)", "*/*"),
    "GET, Barracuda": _named("Mozilla/5.0 (compatible; BarracudaCentral; cybersecurity scan)"),
    "GET, Proofpoint": _named("Mozilla/5.0 (compatible; Proofpoint URL Defense)"),
    "GET, Mimecast": _named("Mozilla/5.0 (Mimecast URL Protect)"),
    "GET, Google's image proxy": _named("Mozilla/5.0 GoogleImageProxy", "image/avif,image/*,*/*"),
    "GET, Googlebot": _named("Mozilla/5.0 (compatible; Googlebot/2.1)"),
    "GET, Bing preview": _named("Mozilla/5.0 (Windows NT 10.0) BingPreview/1.0b"),
    "preview, Slack": _asks("GET", User_Agent="Slackbot-LinkExpanding 1.0", Range="bytes=0-32768"),
    "preview, Facebook": _asks("GET", User_Agent="facebookexternalhit/1.1", Range="bytes=0-524287"),
    "preview, WhatsApp": _named("WhatsApp/2.24", "*/*"),
    "preview, X": _named("Twitterbot/1.0", "text/html, application/json;q=0.9, */*"),
    "preview, Apple Messages": _asks("GET", X_Purpose="preview", Accept=PAGE),
    "prefetch, Chrome": _asks("GET", Sec_Purpose="prefetch;prerender", Accept=PAGE),
    "prefetch, Safari": _asks("GET", Purpose="prefetch", Accept=PAGE),
    "prefetch, Firefox": _asks("GET", X_Moz="prefetch", Accept=PAGE),
    "prefetch for JSON": _asks("GET", Sec_Purpose="prefetch", Accept="application/json"),
    "any kind of data": _asks("GET", Accept="application/*"),
    "GET by a script": _asks("GET", X_Requested_With="XMLHttpRequest", Accept="*/*"),
    "GET if changed": _asks("GET", If_None_Match="*", Cache_Control="max-age=0"),
    "GET that claims to be POST": _asks("GET", X_HTTP_Method_Override="POST", Accept=PAGE),
    "GET with the body of one-click": _asks("GET", body=ONE_CLICK, Accept=PAGE),
    "GET with a header of one-click": _asks("GET", List_Unsubscribe="One-Click", Accept=PAGE),
    "GET with a cookie and a referrer": _asks(
        "GET", Cookie="session=1", Referer="https://a.example"
    ),
    "GET with more in the query": _tracked,
    "GET of a damaged link": _damaged,
    "GET of undo and preferences": _undo_by_get,
    "GET four times at once": _at_once,
    "GET, gone before the answer": _hangs_up,
    "HEAD": _asks("HEAD", Accept=PAGE),
    "HEAD for JSON": _asks("HEAD", Accept="application/json"),
    "HEAD, then GET twice": _head_then_get,
    "OPTIONS": _asks("OPTIONS", Accept="*/*"),
    "OPTIONS before a POST": _asks(
        "OPTIONS", Origin="https://scan.example", Access_Control_Request_Method="POST"
    ),
    "PUT": _asks("PUT", body=ONE_CLICK),
    "PATCH": _asks("PATCH", body=ONE_CLICK),
    "DELETE": _asks("DELETE"),
    "TRACE": _asks("TRACE"),
    "PROPFIND": _asks("PROPFIND"),
    "every link and form, two deep": _crawl,
    "HEAD of every link and form": _each_link("HEAD"),
    "OPTIONS of every link and form": _each_link("OPTIONS"),
    "every form sent by GET": _forms_by_get,
    "what a browser loads beside it": _resources,
}
