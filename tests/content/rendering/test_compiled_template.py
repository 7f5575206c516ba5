"""Liquid, taken apart: what is fixed, what is filled in, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from liquid import Environment
from liquid.undefined import StrictUndefined
from markupsafe import Markup

from postledger.content.rendering.compiled_template import (
    CompiledTemplate,
    InvalidTemplateError,
    MissingVariableError,
    RenderError,
)
from postledger.content.rendering.liquid.liquid import Budget

PLAIN = "Dear {{ name }}, {{ order.total }} for {{ name }}."


def html(source: str, **values: object) -> str:
    return CompiledTemplate(source, is_html=True).text(values)


def text(source: str, **values: object) -> str:
    return CompiledTemplate(source, is_html=False).text(values)


def test_a_text_that_only_substitutes_needs_no_liquid_to_be_filled() -> None:
    program = CompiledTemplate(PLAIN, is_html=True)

    assert program.is_plain
    assert program.literals == ("Dear ", ", ", " for ", ".")
    assert program.fill({"name": "Al", "order": {"total": 7}}) == ["Al", "7", "Al"]


SOURCES = [
    PLAIN,
    "{% if name == 'a' %}A{% elsif flag %}{{ name }}{% else %}{{ number }}{% endif %}!",
    "{% for item in list %}{{ forloop.index }}:{{ item }}{% unless forloop.last %},{% endunless %}{% endfor %}",  # noqa: E501
    "{% assign x = number | plus: 2 %}{{ x }}{% capture y %}<b>{{ x }}</b>{% endcapture %}{{ y }}",
    "a{{- name -}} b {% raw %}{{ name }}{% endraw %}",
    "{% case number %}{% when 1 %}one{% else %}many{% endcase %}{{ order.total }}",
    "{{ flag }}{{ number }}{{ ratio }}{{ list }}",
    "{% if name and name != blank %}<{{ name }}>{% elsif name == empty %} {% else %}{{ number }}{% endif %}",  # noqa: E501
    "{% if name == blank %} {% endif %}{% if name == nil or flag == nil %}a{% else %}{{ list }}{% endif %}",  # noqa: E501
    "{% if name %}{{ list.size }}{% endif %}{{ list.size }}",
    "{% cycle 'a', 'b' %}{% cycle 'a', 'b' %}{% increment n %}{% increment n %}",
    "{{ name | escape }}{{ name | append: '<i>' }}{{ list | join: '&' }}",
]


@pytest.mark.slow
@pytest.mark.parametrize("is_html", [True, False])
@pytest.mark.parametrize("source", SOURCES)
@given(
    name=st.text(max_size=20),
    number=st.integers(-5, 5),
    flag=st.booleans(),
    items=st.lists(st.text(max_size=5), max_size=4),
)
def test_taken_apart_it_gives_what_liquid_gives_in_one_piece(
    source: str,
    is_html: bool,  # noqa: FBT001
    name: str,
    number: int,
    flag: bool,  # noqa: FBT001
    items: list[str],
) -> None:
    values = {
        "name": name,
        "number": number,
        "flag": flag,
        "ratio": 1.5,
        "list": items,
        "order": {"total": number},
    }

    output = CompiledTemplate(source, is_html=is_html).text(values)

    environment = Environment(autoescape=is_html, undefined=StrictUndefined)
    assert output == environment.from_string(source).render(**values)


VALUE = st.sampled_from(
    ["", " ", "a", "b", "1", None, 1, True, 1.0, Markup("a"), Markup("<b>"), "<b>"]
)
KEPT = """{% if a == 'a' %}{{ b }}{% elsif b %}-{{ a }}{% endif %}{{ b | upcase }}
{% if a %}{% if c %}{{ c.d }}{% endif %}{% endif %}
{% if b and b != blank %}[{{ b }}{{ a }}]{% elsif a == blank %}-{% else %} {{ c.d }}{% endif %}
{% unless a %}{{ b }}{% endunless %}{% cycle 'x', 'y' %}"""


@given(
    mails=st.lists(
        st.fixed_dictionaries({"a": VALUE, "b": VALUE}, optional={"c": st.just({"d": "e"})}),
        min_size=2,
        max_size=6,
    )
)
def test_what_one_mail_gets_and_costs_does_not_depend_on_the_mails_before(
    mails: list[dict[str, object]],
) -> None:
    def fill_or_refuse(program: CompiledTemplate, values: dict[str, object]) -> tuple[object, int]:
        budget = Budget()
        try:
            return program.text(values, budget), budget.spent
        except MissingVariableError as missing:
            return missing.name, budget.spent

    program = CompiledTemplate(KEPT, is_html=True)
    for values in mails:
        alone = CompiledTemplate(KEPT, is_html=True)
        assert fill_or_refuse(program, values) == fill_or_refuse(alone, values)


def test_values_are_escaped_in_html_and_nowhere_else() -> None:
    assert html("{{ a }}{% if a %}{{ a }}{% endif %}", a="<&\"'>") == "&lt;&amp;&#34;&#39;&gt;" * 2
    assert text("{{ a }}{% if a %}{{ a }}{% endif %}", a="<&>") == "<&><&>"


def test_a_value_that_is_missing_is_named() -> None:
    for source, name in [
        ("{{ who }}", "who"),
        ("{{ order.total }}", "order.total"),
        ("{{ order.total.deeper }}", "order.total.deeper"),
        ("{% if true %}{{ who }}{% endif %}", "who"),
        ("{{ who | upcase }}", "who"),
    ]:
        with pytest.raises(MissingVariableError) as missing:
            html(source, order={})

        assert missing.value.name == name, source
        assert missing.value.code == "template_missing_variable", source


def test_a_value_may_be_nothing_and_a_missing_one_asked_for_or_given_a_default() -> None:
    assert html("[{{ a }}{% if a %}x{% endif %}{{ a | upcase }}]", a=None) == "[]"
    assert html("{% if who %}a{% else %}b{% endif %}{{ who | default: 'you' }}") == "byou"


def test_what_is_not_liquid_is_found_with_its_line() -> None:
    for source, code, line in [
        ("a\n{{ name", "liquid_unclosed", 2),
        ("a\n\n{% if x %", "liquid_unclosed", 3),
        ("{% raw %}x", "liquid_unclosed", 1),
        ("{% if x %}", "liquid_invalid", 1),
        ("a\n{% nosuch %}", "liquid_invalid", 2),
        ("a\n{{ x | nosuch }}", "liquid_invalid", 2),
        ("{{ x | safe }}", "liquid_invalid", 1),
        ("{% include 'a' %}", "liquid_invalid", 1),
        ("{% render 'a' %}", "liquid_invalid", 1),
        ("{% liquid\n assign a = 1 %}", "liquid_invalid", 1),
        ("{{ '" + "a" * 5_000 + "' }}", "liquid_too_long", 1),
        ("{{ a }}" * 2_001, "liquid_too_many", 1),
    ]:
        with pytest.raises(InvalidTemplateError) as bad:
            CompiledTemplate(source, is_html=True)

        assert (bad.value.code, bad.value.line) == (code, line), source


def test_a_template_that_costs_too_much_is_stopped() -> None:
    for source in [
        "{% for i in (1..1000000000) %}a{% endfor %}",
        "{% for i in (1..101) %}{% for j in (1..100) %}a{% endfor %}{% endfor %}",
        "{% for i in (1..9000) %}{% endfor %}{% for i in (1..9000) %}{% endfor %}",
        "{% assign a = 9 %}{% for i in (1..99) %}{% assign a = a | times: a %}{% endfor %}",
        "{% assign a = 'aa' %}{% for i in (1..99) %}{% assign a = a | append: a %}{% endfor %}",
        "{{ 'a'" + " | replace: 'a', 'aaaaaaaaaa'" * 9 + " }}",
        "{{ (1..100000000) | join: 'a' }}",
        "{% capture x %}{% for i in (1..999) %}"
        + "a" * 2_000
        + "{% endfor %}{% endcapture %}{{ x }}",
    ]:
        with pytest.raises(RenderError, match="too costly"):
            html(source)


def test_no_template_can_ask_for_the_time() -> None:
    assert html("{{ 'now' | date: '%Y' }}{{ 'today' | date: '%Y' }}") == "nowtoday"
    with pytest.raises(MissingVariableError):
        html("{{ now }}")


def test_a_date_is_written_as_asked_for() -> None:
    moment = "2026-11-15T09:05:00+00:00"

    assert html("{{ at | date: '%d.%m.%Y %H:%M %% %Q%9999999d' }}", at=moment) == (
        "15.11.2026 09:05 % Q9999999d"
    )


def test_what_fails_while_it_is_filled_is_a_refusal() -> None:
    for source in [
        "{% break %}",
        "{{ 1 | divided_by: 0 }}",
        "{{ 'a' | slice }}",
        "{% if name > 50 %}x{% endif %}",
    ]:
        with pytest.raises(RenderError, match=r"cannot be rendered|compares a number"):
            html(source, name="1234.5")
