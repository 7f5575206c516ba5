"""The page on the API tells the truth: its examples work and its codes are all there are."""

import json
import re
from pathlib import Path

import pytest

from postledger.transactional.values import Validation
from postledger.web.api.incoming import MailIn
from postledger.web.shared import problems
from tests.web.callers import Caller

PAGE = (Path(__file__).parents[2] / "docs/reference/api.md").read_text()
POSTS = re.findall(r"curl -X POST https://[^/]+(\S+).*?-d '(.*?)'\n", PAGE, re.DOTALL)


@pytest.mark.parametrize(("path", "body"), POSTS)
def test_an_example_is_taken(path: str, body: str, alice: Caller) -> None:
    assert alice.post(path, json.loads(body)).status == 202


def test_there_are_examples() -> None:
    assert [path for path, _ in POSTS] == ["/v1/email/send", "/v1/email/batch"]


def test_every_code_stands_on_the_page_with_its_status() -> None:
    rows = re.findall(r"^\| (\d{3}) \| (.*?) \|", PAGE, re.MULTILINE)
    told = {(int(status), code) for status, codes in rows for code in re.findall(r"\w+", codes)}

    assert told == {
        *((status, kind.code) for status, kind in problems.KINDS.items() if kind.code),
        *((status, code) for code, status in problems._STATUS_OF_CODE.items()),
        *((422, code.value) for code in Validation),
    }


def test_every_field_stands_on_the_page() -> None:
    fields = set(re.findall(r"^\| `(\w+)` \| (?:required)? ?\|", PAGE, re.MULTILINE))

    assert fields == set(MailIn.model_fields)
