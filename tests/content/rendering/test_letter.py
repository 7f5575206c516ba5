"""A letter: compiled once, filled in for each, and never half filled."""

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postledger.content.rendering.compiled_template import MissingVariableError, RenderError
from postledger.content.rendering.letter import Letter, LetterError, Script
from postledger.lib.errors import RefusedError

SCRIPT = Script(
    subject="For {{ name }}",
    html='<p>Hello {{ name }}, <a href="{{ link }}">look</a>. {{ note }}</p>',
    text="Hello {{ name }}: {{ link }} {{ note }}",
    required=("link",),
    optional=("note",),
)
HERE = "https://acme.example/a?b=1&c=2"
VALUES: dict[str, object] = {"name": "Alice", "link": HERE}


def fill_letter(script: Script = SCRIPT, **values: object) -> tuple[str, str, str]:
    letter = Letter(script)
    fields = letter.fill({**VALUES, **values})
    return (fields.subject, *letter.join(fields))


def codes(script: Script) -> list[str]:
    with pytest.raises(LetterError) as refused:
        Letter(script)
    return [finding.code for finding in refused.value.findings]


def test_the_same_values_give_the_same_texts() -> None:
    assert fill_letter() == fill_letter()
    assert fill_letter() == (
        "For Alice",
        '<p>Hello Alice, <a href="https://acme.example/a?b=1&amp;c=2">look</a>. </p>',
        "Hello Alice: https://acme.example/a?b=1&c=2 ",
    )


def test_the_digest_names_everything_that_a_mail_is_made_from() -> None:
    others = [
        replace(SCRIPT, subject="a"),
        replace(SCRIPT, html="a"),
        replace(SCRIPT, text="a"),
        replace(SCRIPT, required=()),
        replace(SCRIPT, optional=()),
        replace(SCRIPT, subject_prefix="a"),
    ]

    assert Letter(SCRIPT).digest == SCRIPT.digest()
    assert len({script.digest() for script in [SCRIPT, *others]}) == 7


def test_a_prefix_stands_before_the_subject_which_is_cut_at_the_limit() -> None:
    script = replace(SCRIPT, subject_prefix="[Test] {{ name }} ")

    assert fill_letter(script)[0] == "[Test] {{ name }} For Alice"
    longest = fill_letter(script, name="x" * 146)[0]
    assert longest == f"[Test] {{{{ name }}}} For {'x' * 128}"
    assert len(longest) == 150
    # It hides no subject that could not be sent without it.
    with pytest.raises(LetterError):
        fill_letter(script, name="x" * 147)


def test_a_required_variable_without_a_value_is_named_even_where_a_condition_skips_it() -> None:
    skipping = replace(SCRIPT, html="<p>{% if name == 'x' %}{{ link }}{% endif %}</p>")
    cases: list[dict[str, object]] = [{"name": "Alice"}, {"name": "Alice", "link": None}]
    for script in (SCRIPT, skipping):
        for values in cases:
            with pytest.raises(MissingVariableError, match="The variable link has no value"):
                Letter(script).fill(values)


def test_optional_and_extra_values_are_allowed_and_unknown_variables_are_not() -> None:
    script = replace(SCRIPT, html="<p>{% if note %}Note: {{ note }}{% endif %}</p>")
    assert fill_letter(script)[1] == "<p></p>"
    assert fill_letter(script, note="a")[1] == "<p>Note: a</p>"
    assert fill_letter(colour="red") == fill_letter()
    assert codes(replace(SCRIPT, html="<p>{{ colour }}</p>")) == ["unknown_variable"]


def test_what_no_values_can_mend_is_found_when_it_is_compiled() -> None:
    for html, code in [
        ("<p>{{ name</p>", "liquid_unclosed"),
        ("<p>{{ name | nosuch }}</p>", "liquid_invalid"),
        ("<script>alert(1)</script>", "script_element"),
        ('<p onclick="x">a</p>', "event_handler"),
        ('<a href="javascript:x">a</a>', "script_url"),
        ("", "html_missing"),
        ("<p title={{ name }}>a</p>", "variable_unquoted"),
        ("<p {{ name }}>a</p>", "variable_unquoted"),
        ("<p {{ name }}='a'>a</p>", "variable_unquoted"),
        ("<{{ name }}>a", "variable_unquoted"),
        ("<p>{% if link %}<script>{% endif %}</p>", "script_element"),
        ("a" * 524_289, "html_too_large"),
    ]:
        assert code in codes(replace(SCRIPT, html=html)), html
    for subject, code in [
        ("", "subject_missing"),
        (" ", "subject_missing"),
        ("a" * 151, "subject_too_long"),
        ('{{ unsubscribe_url | split: "token=" | last }}', "link_in_subject"),
    ]:
        assert codes(replace(SCRIPT, subject=subject)) == [code], subject


def test_each_mail_of_a_letter_with_conditions_is_judged_whatever_the_one_before_was() -> None:
    letter = Letter(replace(SCRIPT, html="{% if name == 'b' %}<b>{{ link }}</b>{% endif %}"))

    def is_refused(name: str, link: str) -> bool:
        try:
            letter.fill({"name": name, "link": f"https://acme.example/{link}"})
        except LetterError:
            return True
        return False

    # Without the condition nothing is left of the mail.
    mails = [("a", "1"), ("b", "1"), ("b", "22"), ("a", "1"), ("a", "22"), ("b", "1")]
    verdicts = [is_refused(name, link) for name, link in mails]
    assert verdicts == [True, False, False, True, True, False]


def test_a_letter_counts_in_its_memory_whatever_it_keeps() -> None:
    holes = "".join(f"{{% if p{n} %}}{{{{ p{n} }}}}{{% endif %}}" for n in range(20))
    names = tuple(f"p{n}" for n in range(20))
    letter = Letter(replace(SCRIPT, html=f"<p>{holes}</p>", optional=(*names, *SCRIPT.optional)))
    tracemalloc.start()
    try:
        for name in names:
            letter.fill({**VALUES, **dict.fromkeys(names, False), name: "🌍" * 20_000})
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < letter.memory


def test_a_filled_subject_and_the_size_of_the_mail_are_judged_for_each() -> None:
    for name in ["", " ", "a" * 151]:
        with pytest.raises(LetterError):
            Letter(replace(SCRIPT, subject="{{ name }}")).fill({**VALUES, "name": name})
    with pytest.raises(LetterError, match="shorten it to 524,288"):
        fill_letter(note="я" * 262_145)


def test_line_ends_in_a_value_do_not_break_the_subject() -> None:
    for end in ["\n", "\r\n", "\u2028", "\x85", "\x0b"]:
        assert fill_letter(name=f"Al{end}ice")[0] == "For Al ice", end


def test_a_value_that_begins_a_link_must_be_an_address() -> None:
    for link in [
        "javascript:alert(1)",
        " javascript:x",
        "JaVaScRiPt:x",
        "data:text/html,x",
        "vbscript:x",
        "x",
    ]:
        with pytest.raises(RenderError, match="must begin with https://"):
            fill_letter(link=link)
    for link in ["https://a.example", "HTTP://a.example", "mailto:a@b.example", "tel:+1"]:
        assert link in fill_letter(link=link)[2], link


def test_what_values_and_conditions_put_together_is_judged_as_a_whole() -> None:
    for html, link, note in [
        ('<a href="{{ link }}{{ note }}">a</a>', "java", "script:alert(1)"),
        ('<a href="{% if note %}{{ note }}{% endif %}">a</a>', HERE, "javascript:alert(1)"),
        ("<p {% if note %}title={{ note }}{% endif %}>a</p>", HERE, "x onclick=alert(1)"),
        *(
            ('{% if note %}<p style="width:{{ link }}(alert(1))">a</p>{% endif %}', link, "x")
            for link in ("https://a/expression", "https://a/?token=" + "expression" * 5)
        ),
    ]:
        with pytest.raises(RefusedError):
            fill_letter(replace(SCRIPT, html=html), link=link, note=note)


NASTY = st.text(alphabet="<>\"'&;=/ onclickjavascript:{}%-!\n", max_size=60)


@given(name=NASTY, note=NASTY)
def test_no_value_becomes_markup(name: str, note: str) -> None:
    script = replace(SCRIPT, subject="x", html="<p title='{{ name }}'>{{ note }}</p>")

    html = fill_letter(script, name=name, note=note)[1]

    assert html.count("<") == html.count(">") == 2
    assert html.count("'") == 2
