"""Colours, type sizes, spaces and corners come from the tokens; vendored files are as published."""

import re
from hashlib import sha256
from pathlib import Path

import postledger.web.dashboard

_DASHBOARD = Path(postledger.web.dashboard.__file__).parent
_STATIC = _DASHBOARD / "static" / "dashboard"


def _own_sheets() -> list[Path]:
    return [path for path in _STATIC.glob("*.css") if path.name != "tokens.css"]


def test_every_token_that_is_used_is_defined() -> None:
    defined = set(re.findall(r"(--[\w-]+)\s*:", (_STATIC / "tokens.css").read_text()))
    used = {
        name
        for path in (*_own_sheets(), *_DASHBOARD.glob("templates/**/*.html"))
        for name in re.findall(r"var\((--[\w-]+)", path.read_text())
    }

    assert used <= defined


def test_no_template_has_a_style_or_a_script_of_its_own() -> None:
    inline = re.compile(
        r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]*\bsrc=)(?![^>]*json)"
    )
    templates = list(_DASHBOARD.glob("templates/**/*.html"))

    assert templates
    assert [path.name for path in templates if inline.search(path.read_text())] == []


def test_vendored_files_are_those_that_were_published() -> None:
    folder = _STATIC / "vendor"
    lines = (line.split() for line in (folder / "SHA256SUMS").read_text().splitlines())
    sums = {name: digest for digest, name in lines}

    files = {path.name: path for path in folder.iterdir() if path.suffix in {".js", ".css"}}
    assert {name: sha256(path.read_bytes()).hexdigest() for name, path in files.items()} == sums
    assert len(list(folder.glob("*-LICENSE.txt"))) == len({name.split("-")[0] for name in files})
