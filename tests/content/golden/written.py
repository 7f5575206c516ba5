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
    data = _read(title)
    recipient = data["recipients"][person]
    return Specimen(
        name=name,
        way=Way(data["way"]),
        script=_script(data),
        address=recipient["address"],
        values=recipient["values"],
        locale=data["locale"],
        list_key=data.get("list", "news"),
        sender=Mailbox(specimen.SENDER.address, data.get("sender", specimen.SENDER.name)),
        reply_to=data.get("reply_to", ""),
    )


@cache
def _read(title: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{title}.toml").read_text("utf-8"))


def _script(data: dict[str, Any]) -> Script:
    source = Source(
        subject=data["subject"],
        body=data["body"],
        format=Format(data["format"]),
        text=data.get("text", ""),
        locale=data["locale"],
        preheader=data.get("preheader", ""),
    )
    footer = Footer(**data["footer"]) if "footer" in data else specimen.FOOTER
    return make_script(
        source,
        required=tuple(data.get("required", ())),
        optional=tuple(data.get("optional", ())),
        footer=None if data["way"] == Way.TRANSACTIONAL else footer,
    )
