"""One page with everything in it, from the API's JSON to the bytes of a mail."""

from pathlib import Path

from tests.content.notion import every_block, stage
from tests.fakes.notion import FakeNotion


def test_a_page_with_every_block_becomes_the_golden_files(fake: FakeNotion, tmp_path: Path) -> None:
    page_id = every_block.page(fake)

    first = stage.read(fake, page_id, folder=tmp_path / "a")
    fake.expire_files()  # the addresses of files differ from now on
    second = stage.read(fake, page_id, folder=tmp_path / "b")

    assert first == second
    for name, content in every_block.parts(first).items():
        assert content == (every_block.GOLDEN / name).read_text(), name
        assert "X-Amz" not in content, name
    assert "never shown" not in first.html + first.text


def test_250_blocks_come_in_three_parts_and_stay_in_order(fake: FakeNotion, tmp_path: Path) -> None:
    page_id = every_block.page(fake)

    page = stage.read(fake, page_id, folder=tmp_path)

    path = f"/v1/blocks/{page_id}/children"
    parts = [seen.query for seen in fake.requests if seen.path == path]
    assert [part["page_size"] for part in parts] == ["100", "100", "100"]
    assert ["start_cursor" in part for part in parts] == [False, True, True]
    shown = [line for line in page.html.split("\n") if line.startswith("<p>Paragraph ")]
    assert shown == [f"<p>Paragraph {n}</p>" for n in range(250 - len(shown) + 1, 251)]
