"""What a template costs is counted wherever it arises, and what goes wrong is a refusal."""

import pytest

from postledger.content.rendering.compiled_template import (
    CompiledTemplate,
    RenderError,
)
from postledger.content.rendering.letter import Letter, Script

pytestmark = pytest.mark.slow

ENDLESS = "(1..1000000000000000000)"
ONES = ",".join("1" * 1_500)


def render(source: str, **values: object) -> str:
    return CompiledTemplate(source, is_html=True).text(values)


def test_a_range_longer_than_the_limit_is_refused_wherever_it_stands() -> None:
    for source in [
        "{% if RANGE contains 'x' %}y{% endif %}",
        "{% if false %}{% elsif RANGE contains 'x' %}y{% endif %}",
        "{% unless RANGE contains 'x' %}y{% endunless %}",
        "{% if a and RANGE contains 1.5 %}y{% endif %}",
        "{% assign r = RANGE %}{% if r contains 'x' %}y{% endif %}",
        "{% assign r = RANGE %}",
        "{% case RANGE %}{% when 1 %}{% endcase %}",
        "{% case 1 %}{% when RANGE %}{% endcase %}",
        "{% for i in RANGE %}{% endfor %}",
        "{% for i in RANGE reversed limit: 1 %}{% endfor %}",
        "{% for i in RANGE offset: 999999999999999999 %}{% endfor %}",
        "{% tablerow i in RANGE %}{% endtablerow %}",
        "{% cycle RANGE %}",
        "{% echo RANGE %}",
        "{{ RANGE }}",
        "{{ RANGE | first }}",
        "{{ 'x' | append: RANGE }}",
        "{{ 'x' | default: 1, allow_false: RANGE }}",
        "{% capture x %}{{ RANGE }}{% endcapture %}",
        "{% ifchanged %}{{ RANGE }}{% endifchanged %}",
    ]:
        with pytest.raises(RenderError, match="its range is too long"):
            render(source.replace("RANGE", ENDLESS), a=True)

    # It may depend on values, and is measured then.
    source = "{% for i in (1..most) %}{{ i }}{% endfor %}{% if (1..most) contains 3 %}!{% endif %}"
    assert render(source, most=3) == "123!"
    for most in (10**17, "9" * 400):
        with pytest.raises(RenderError, match="its range is too long"):
            render(source, most=most)


def test_whatever_is_walked_through_is_charged_by_its_size() -> None:
    for source, values in [
        # A block is rendered once for each equal value: 1,500 to the power of 5.
        ("{% case 1 %}{% when ONES %}" * 5 + "{% assign x = 1 %}" + "{% endcase %}" * 5, {}),
        ("{% for i in (1..9999) %}{% case 1 %}{% when ONES %}{% endcase %}{% endfor %}", {}),
        ("{% for i in (1..9999) %}{% cycle ONES %}{% endfor %}", {}),
        ("{% for i in (1..9999) %}{% if FALSES %}{% endif %}{% endfor %}", {}),
        ("{% for i in (1..9999) %}{% if text contains 'y' %}{% endif %}{% endfor %}", {}),
        ("{% for i in (1..9999) %}{% if list contains 'y' %}{% endif %}{% endfor %}", {}),
        ("{% for i in (1..9999) %}{% if list == other %}{% endif %}{% endfor %}", {}),
        ("{% for i in (1..9999) %}{% case list %}{% when other %}{% endcase %}{% endfor %}", {}),
        ("{% for i in (1..9999) %}{% capture x %}{{ text }}{% endcapture %}{% endfor %}", {}),
        ("{% for i in (1..9999) %}{% assign x = list %}{% endfor %}", {}),
        ("{% for i in (1..999) %}" + "{% if false %}{% endif %}" * 900 + "{% endfor %}", {}),
        *(
            ("{% for i in (1..999) %}{% assign x = list | FILTER %}{% endfor %}", {"FILTER": name})
            for name in (
                *("uniq", "sort", "sort_natural", "sum", "compact", "reverse", "join", "size"),
                *("map: 'a'", "where: 'a'", "concat: other", "first", "reject: 'a'", "has: 'a'"),
                *("find: 'a'", "find_index: 'a'", "last", "slice: 0, 9"),
            )
        ),
        *(
            ("{% for i in (1..999) %}{% assign x = text | FILTER %}{% endfor %}", {"FILTER": name})
            for name in ("split: ''", "upcase", "escape", "escape_once", "squish", "url_decode")
        ),
    ]:
        falses = " or ".join(["false"] * 300)
        written = source
        for name, text in {"ONES": ONES, "FALSES": falses, **values}.items():
            written = written.replace(name, text)

        with pytest.raises(RenderError, match="it has too much to do"):
            render(
                written,
                text="x" * 20_000,
                list=[str(number) for number in range(5_000)],
                other=[str(number) for number in range(5_000)],
            )


EMPTY_TEXTS = "{% capture s %}" + "," * 20_000 + "{% endcapture %}{% assign l = s | split: ',' %}"


def test_no_text_makes_much_out_of_little() -> None:
    text, texts, empty = "x" * 30_000, ["a"] * 30_000, [""] * 15_000
    cases: list[tuple[str, object, str]] = [
        ("{% assign s = (1..9999) | join: 'xx' %}{{ (1..9999) | join: s }}", "", "too large"),
        ("{{ a | join: 'xxxxxxxxxx' }}", texts, "too large"),
        ("{{ a | replace: 'x', a }}", text, "too large|too much to do"),
        ("{{ a | replace: '', a }}", text, "too large|too much to do"),
        ("{{ a }}" * 1_999, "<" * 60_000, "it prints more than"),
        ("{{ a }}{% if a %}{% endif %}" * 600, "<" * 60_000, "it prints more than"),
        ("{{ a }}" * 1_990, empty, "it has too much to do"),
        ("{{ a }}{{ a | size }}" * 100, empty, "it has too much to do"),
        (EMPTY_TEXTS + "{% assign x = l | join: '' %}" * 20, "", "it has too much to do"),
        (EMPTY_TEXTS + "{{ l }}" * 20, "", "it has too much to do"),
        ("{{ a }}", [""] * 99_000, "a value that is too large"),
    ]
    for source, value, refusal in cases:
        with pytest.raises(RenderError, match=refusal):
            render(source, a=value)


def test_the_texts_of_a_mail_have_one_budget() -> None:
    half = EMPTY_TEXTS + "{% assign x = l | join: '' %}" * 3
    assert Letter(Script("News", f"<p>{half}a</p>", "a")).fill({}).subject == "News"

    with pytest.raises(RenderError, match="it has too much to do"):
        Letter(Script("News", f"<p>{half}a</p>", half)).fill({})


def test_a_value_that_a_filter_fails_with_is_a_refusal() -> None:
    cases: list[tuple[str, dict[str, object]]] = [
        ("{{ score | floor }}", {"score": "nan"}),
        ("{{ score | ceil }}", {"score": "inf"}),
        ("{{ score | round }}", {"score": "-inf"}),
        ("{{ score | plus: 1 }}", {"score": "nan"}),
        ("{{ score | times: 1.5 | times: score }}", {"score": 1e308}),
        ("{{ 1.0 | modulo: 0.0 }}", {}),
        ("{{ 1 | modulo: score }}", {"score": 0}),
        ("{{ list | sum }}", {"list": ["1e9999999999999999999"]}),
        ("{{ list | sum }}", {"list": ["nan", "sNaN"]}),
        ("{% for i in list limit:-5 %}{{ i }}{% endfor %}", {"list": [1, 2, 3]}),
        ("{% tablerow i in list limit:-5 %}{{ i }}{% endtablerow %}", {"list": [1, 2, 3]}),
        ("{{ text | escape_once }}", {"text": "&#" + "9" * 5_000 + ";"}),
        ("{{ text | round: 1 }}", {"text": "9" * 5_000}),
        ("{{ list | uniq: 'a' }}", {"list": [1]}),
        ("{{ number }}", {"number": 10**5_000}),
        ("{{ number | append: 'x' }}", {"number": 10**5_000}),
    ]
    for source, values in cases:
        with pytest.raises(RenderError):
            render(source, **values)


def test_uniq_keeps_the_first_of_equal_items() -> None:
    source = "{% assign u = items | uniq %}{{ u | size }}{% if u == expected %}!{% endif %}"
    cases: list[tuple[list[object], list[object]]] = [
        (["b", "a", "b"], ["b", "a"]),
        ([1, 1.0, True, "1"], [1, "1"]),
        ([{"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 1}], [{"a": 1, "b": [2]}, {"a": 1}]),
        ([None, None, 0], [None, 0]),
        ([], []),
    ]
    for items, expected in cases:
        assert render(source, items=items, expected=expected) == f"{len(expected)}!"

    keyed = [{"k": 1, "n": "a"}, {"k": 1, "n": "b"}, {"n": "c"}, {"n": "d"}, {"k": [2], "n": "e"}]
    assert render("{{ items | uniq: 'k' | map: 'n' | join: ',' }}", items=keyed) == "a,c,e"


def test_a_long_bill_is_no_costly_template() -> None:
    line = (
        "<tr>{% if item.price > 10 and item.tags contains 'new' %}<b>{% endif %}"
        "{{ item.name | upcase | truncate: 40 }}: {{ item.price | times: item.count | round: 2 }}"
        "{% unless forloop.last %},{% endunless %}{% cycle 'odd', 'even' %}</tr>"
    )
    items = [
        {"name": f"Thing {number}", "price": number / 7, "count": 3, "tags": ["new", "blue"]}
        for number in range(1_000)
    ]
    source = (
        "{% for item in order.items %}"
        + line
        + "{% endfor %}{{ order.items | map: 'price' | sum }}"
    )

    assert len(render(source, order={"items": items})) > 20_000
