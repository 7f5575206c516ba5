"""Liquid leaves a text before anything reads it, and comes back byte for byte."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.content.rendering.html.checks import Finding
from postledger.content.rendering.liquid import liquid_markers
from postledger.content.rendering.liquid.liquid_markers import MarkedText

PIECES = [
    "{{ name }}",
    "{{name}}",
    "{{- name -}}",
    '{{ a | default: "<b>" }}',
    "{{ '{{' }}",
    '{{ "{%" }}',
    "{{ a\n  | upcase }}",
    "{% if a < 3 and b != '>' %}",
    "{%- endif -%}",
    "{% # a note %}",
    "{% raw %}{{ x }} <td> {% if %}{% endraw %}",
    "{%- raw -%} }} {%- endraw -%}",
    "{% comment %} {{ unclosed <p> {% endcomment %}",
    "{% comment %}a{% comment %}b{% endcomment %}c{% endcomment %}",
    "{% doc %}{{ x {% enddoc %}",
    "{{}}",
    "{{ 'Привет' }}",
]


def mark_text(text: str) -> MarkedText:
    marked = liquid_markers.mark_liquid(text, place="body")
    assert isinstance(marked, MarkedText), marked
    return marked


def read_refusal(text: str) -> tuple[str, str]:
    finding = liquid_markers.mark_liquid(text, place="body")
    assert isinstance(finding, Finding)
    return finding.code, finding.place


def test_a_piece_is_one_mark_of_letters_and_digits() -> None:
    for piece in PIECES:
        marked = mark_text(f"a {piece} b")

        assert re.fullmatch(r"a [a-z0-9]+ b", marked.text), piece
        assert marked.put_back(marked.text) == f"a {piece} b", piece


@pytest.mark.slow
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text("ab<>\"'}% \n\r&é", max_size=9))))
def test_what_was_put_aside_comes_back_byte_for_byte(parts: list[str]) -> None:
    text = "".join(parts)

    marked = mark_text(text)

    assert marked.put_back(marked.text) == text
    assert "{" not in marked.text


def test_liquid_without_an_end_is_found_with_its_line() -> None:
    for text, line in [
        ("{{", 1),
        ("{%", 1),
        ("a\n\n{{ b", 3),
        ("a\n{{ b\n{{ c }}", 2),
        ("{{ a {% if b %} }}", 1),
        ("{% if {{ a }} %}", 1),
        ("x\n{% raw %} {{ a }}", 2),
        ("{{ a }}\n{% comment %}{% comment %}{% endcomment %}", 2),
        ("{{ it's }\n{{ b }}", 1),
        ("{% if a }}\nb", 1),
    ]:
        assert read_refusal(text) == ("liquid_unclosed", f"body, line {line}"), text


def test_nobody_can_type_a_mark_and_control_characters_stay_in_liquid_alone() -> None:
    mark = mark_text("{{ name }}").text
    imitation = f"{mark} {{{{ name }}}}"
    marked = mark_text(imitation)
    assert marked.put_back(marked.text) == imitation
    assert marked.text.startswith(mark)

    marked = mark_text("a\x0bb\tc\x7f{{ '\x0b' }}")
    assert marked.put_back(marked.text) == "a b\tc {{ '\x0b' }}"
    assert mark_text("@media x{a{b:c}} 100%}").tags == ()


def test_the_tags_of_a_block_are_known_to_belong_together() -> None:
    cases: list[tuple[str, list[tuple[int, ...]]]] = [
        ("{% if a %}{% else %}{% endif %}", [(0, 1, 2)]),
        ("{% for a in b %}{% assign c = a %}{% if d %}{% endif %}{% endfor %}", [(2, 3), (0, 4)]),
        ("{% case a %}{% when 1 %}{% when 2 %}{% endcase %}", [(0, 1, 2, 3)]),
        ("{% assign a = 1 %}{% else %}{% endif %}", []),
        ("{% for a in b %}{% if c %}{% endfor %}{% endif %}", [(0, 2)]),
    ]
    for text, blocks in cases:
        assert list(mark_text(text).blocks) == blocks, text


def test_tags_that_print_nothing_are_silent() -> None:
    for piece, is_silent in [
        ("{{ a }}", False),
        ("{% echo a %}", False),
        ("{% cycle 1, 2 %}", False),
        ("{% raw %}a{% endraw %}", False),
        ("{% if a %}", True),
        ("{% comment %}a{% endcomment %}", True),
        ("{% # a %}", True),
        ("{% assign a = 1 %}  {% if b %}", True),
        ("{% if a %}b", False),
        ("", False),
    ]:
        marked = mark_text(piece)

        assert marked.is_silent(marked.text) is is_silent, piece


def test_what_is_hidden_comes_back_as_a_word_a_comment_or_a_declaration() -> None:
    marked = mark_text("")
    word = marked.hide("<b>")

    text = f"{word} {liquid_markers.comment(word)} {word}: {word} {liquid_markers.doubled(word)}"

    assert marked.unhide(text) == "<b> <b> <b> <b>"
    assert marked.put_back(text) == text


def test_more_and_deeper_liquid_than_any_mail_needs_is_refused() -> None:
    assert read_refusal("{{ a }}" * 2_001) == ("liquid_too_many", "body")
    assert len(mark_text("{{ a }}" * 2_000).tags) == 2_000
    assert read_refusal("{% if a %}" * 31 + "{% endif %}" * 31) == ("liquid_too_deep", "body")
    assert len(mark_text("{% if a %}" * 30 + "{% endif %}" * 30).blocks) == 30
