"""One page with everything in it, from the API's JSON to the bytes of a mail."""

from pathlib import Path

from postledger.content.notion import parsing
from tests.content.notion import every_block, stage
from tests.fakes.notion import FakeNotion


def test_a_page_with_every_block_becomes_the_golden_files(fake: FakeNotion, tmp_path: Path) -> None:
    page_id = every_block.page(fake)

    made = every_block.parts(stage.read(fake, page_id, folder=tmp_path))

    for name, content in made.items():
        assert content == (every_block.GOLDEN / name).read_text(), name


def test_250_blocks_come_in_three_parts_and_stay_in_order(fake: FakeNotion, tmp_path: Path) -> None:
    page_id = every_block.page(fake)

    page = stage.read(fake, page_id, folder=tmp_path)

    path = f"/v1/blocks/{page_id}/children"
    parts = [seen.query for seen in fake.requests if seen.path == path]
    assert [part["page_size"] for part in parts] == ["100", "100", "100"]
    assert ["start_cursor" in part for part in parts] == [False, True, True]
    shown = [line for line in page.html.split("\n") if line.startswith("<p>Paragraph ")]
    assert shown == [f"<p>Paragraph {n}</p>" for n in range(250 - len(shown) + 1, 251)]


def test_the_page_has_every_type_of_block_that_is_known(fake: FakeNotion) -> None:
    nodes = [*every_block._texts(), *every_block._structure(), *every_block._things()]

    seen = set()
    while nodes:
        node = nodes.pop()
        seen.add(node.type)
        nodes.extend(node.children)

    assert set(parsing._PARSERS) <= seen


def test_two_reads_give_the_same_bytes_though_the_addresses_of_files_differ(
    fake: FakeNotion, tmp_path: Path
) -> None:
    page_id = every_block.page(fake)

    first = stage.read(fake, page_id, folder=tmp_path / "a")
    fake.expire_files()
    second = stage.read(fake, page_id, folder=tmp_path / "b")

    assert first == second


def test_what_must_not_be_mailed_is_in_no_version() -> None:
    for name in ["every_block.html", "every_block.txt"]:
        golden = (every_block.GOLDEN / name).read_text()

        assert "never shown" not in golden, name
        assert "X-Amz" not in golden, name
