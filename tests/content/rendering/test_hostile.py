"""No template reaches anything but its values, runs long, or says much."""

import time

import pytest

from postledger.content.rendering.compiled_template import CompiledTemplate, InvalidTemplateError
from postledger.content.rendering.liquid import liquid
from postledger.lib.errors import RefusedError
from tests.content.rendering import hostile

VALUES: dict[str, object] = {
    "name": "Alice",
    "items": ["a", "b"],
    "order": {"total": 7},
    "a": "A",
}
# What a leak would look like: the names and looks of Python's own things.
# fmt: off
LEAKS = (
    "<class", "class '", "built-in", "builtin", "<bound", "<function", "<module", "object at 0x",
    "dict_items", "dict_keys", "__globals__", "root:x:", "SECRET", "uid=", "/bin/",
    "{'total': 7}.",
)
# fmt: on


@pytest.mark.slow
def test_a_hostile_template_is_refused_or_stays_text() -> None:
    for template in hostile.TEMPLATES:
        for is_html in (True, False):
            case = template[:200]
            began = time.process_time()
            try:
                output = CompiledTemplate(template, is_html=is_html).text(VALUES)
            except (InvalidTemplateError, RefusedError):
                output = ""

            assert time.process_time() - began < 10, case
            assert len(output) <= max(liquid.MOST_OUTPUT, len(template)), case
            # What stands in the template itself is no leak.
            assert not [leak for leak in LEAKS if leak in output and leak not in template], case
            assert not ("7" in template and "49" in output), case


def test_an_object_among_the_values_gives_nothing_away() -> None:
    for template in ["{{ secret.value }}", "{{ secret['value'] }}"]:

        class Secret:
            value = "hunter2"

        with pytest.raises(RefusedError) as refused:
            CompiledTemplate(template + "{% if secret.value %}{% endif %}", is_html=True).text(
                {"secret": Secret()}
            )

        assert "hunter2" not in str(refused.value), template
