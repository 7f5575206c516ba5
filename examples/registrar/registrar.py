"""A registrar that does not exist: shows its sections as JSON, and lets you open and close them.

GET /sections answers with all sections. POST /sections/10001 with {"status": "Open"} changes one,
and POST /sections changes all of them. It needs nothing but Python.
"""

import argparse
import json
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import override

COURSES = (
    ("01:198:112", "Data Structures", "Mon, Thu 10:20"),
    ("01:640:152", "Calculus II", "Tue, Fri 8:40"),
    ("01:750:203", "General Physics", "Wed 12:10"),
)


def make_sections(count: int) -> dict[str, dict[str, str]]:
    """Closed sections by their index number."""
    sections = {}
    for number in range(count):
        course, title, meets = COURSES[number % len(COURSES)]
        index = str(10_001 + number)
        sections[index] = {
            "term": "92026",
            "campus": "NB",
            "index": index,
            "section": f"{number // len(COURSES) + 1:02}",
            "course": course,
            "title": title,
            "meets": meets,
            "status": "Closed",
        }
    return sections


class Registrar(ThreadingHTTPServer):
    def __init__(self, port: int, sections: int = 50) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.sections = make_sections(sections)

    def set_status(self, status: str, index: str = "") -> None:
        """Changes one section, or all of them; raises KeyError for an unknown one."""
        for section in [self.sections[index]] if index else self.sections.values():
            section["status"] = status


class Handler(BaseHTTPRequestHandler):
    server: Registrar

    def do_GET(self) -> None:
        if self.path == "/sections":
            self._answer(HTTPStatus.OK, {"sections": list(self.server.sections.values())})
        else:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "Ask for /sections."})

    def do_POST(self) -> None:
        try:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            status = str(json.loads(body)["status"])
            self.server.set_status(status, self.path.removeprefix("/sections").strip("/"))
        except (ValueError, KeyError, TypeError):
            words = 'Post {"status": "Open"} to /sections, or to /sections/10001.'
            self._answer(HTTPStatus.BAD_REQUEST, {"error": words})
        else:
            self._answer(HTTPStatus.OK, {"status": status})

    @override
    def log_message(self, *_: object) -> None:
        """Says nothing: it is polled every few seconds."""

    def _answer(self, status: HTTPStatus, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    parser = argparse.ArgumentParser(description="A registrar that does not exist.")
    parser.add_argument("--port", type=int, default=8700)
    parser.add_argument("--sections", type=int, default=50)
    given = parser.parse_args()
    with Registrar(given.port, given.sections) as server:
        sys.stderr.write(f"http://127.0.0.1:{server.server_port}/sections\n")
        server.serve_forever()


if __name__ == "__main__":
    main()
