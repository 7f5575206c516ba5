"""The letters that were written by hand, one file for each, with the recipients they go to."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from postledger.content.rendering.footer import Footer
from postledger.content.rendering.letter import Script
from postledger.content.rendering.source import Format, Source, make_script
from postledger.providers.base import Mailbox
from tests.content.golden import specimen
from tests.content.golden.specimen import Specimen, Way

_FOLDER = Path(__file__).parent / "written"


def names() -> list[str]:
    return [
        f"{path.stem}.{recipient}"
        for path in sorted(_FOLDER.glob("*.toml"))
        for recipient in _read(path.stem)["recipients"]
    ]


def find(name: str) -> Specimen:
    title, _, person = name.rpartition(".")
    told = _read(title)
    recipient = told["recipients"][person]
    return Specimen(
        name=name,
        way=Way(told["way"]),
        script=_script(told),
        address=recipient["address"],
        values=recipient["values"],
        locale=told["locale"],
        list_key=told.get("list", "news"),
        sender=Mailbox(specimen.SENDER.address, told.get("sender", specimen.SENDER.name)),
        reply_to=told.get("reply_to", ""),
        shows=tuple(recipient.get("shows", ())),
    )


@cache
def _read(title: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{title}.toml").read_text("utf-8"))


def _script(told: dict[str, Any]) -> Script:
    source = Source(
        subject=told["subject"],
        body=told["body"],
        format=Format(told["format"]),
        text=told.get("text", ""),
        locale=told["locale"],
    )
    footer = Footer(**told["footer"]) if "footer" in told else specimen.FOOTER
    return make_script(
        source,
        required=tuple(told.get("required", ())),
        optional=tuple(told.get("optional", ())),
        footer=None if told["way"] == Way.TRANSACTIONAL else footer,
    )
