"""The letter that is a page of Notion, read from a server like Notion's."""

import tempfile
from dataclasses import replace
from pathlib import Path

from postledger.content import notion_pages
from tests.content.golden import specimen
from tests.content.golden.specimen import Specimen, Way
from tests.content.notion import every_block, stage
from tests.fakes import notion


def every() -> Specimen:
    with notion.running() as fake, tempfile.TemporaryDirectory() as folder:
        page = stage.read(fake, every_block.page(fake), folder=Path(folder))
    script = notion_pages.make_script(1, page, locale="en", footer=specimen.FOOTER)
    return Specimen(
        name="notion-every-block.alice",
        way=Way.CAMPAIGN,
        # A page of Notion declares nothing; whoever sends this one has more to say of its readers.
        script=replace(script, optional=("vip",)),
        address="alice@example.com",
        values={"name": "Alice", "vip": True},
        locale="en",
    )
