"""What may be sent and what not: sizes, and every known way to hide a program in a mail."""

from hypothesis import example, given
from hypothesis import strategies as st

from postledger.content.rendering.html import checks

SOUND = [
    "<p>Hello</p>",
    "<!DOCTYPE html><html><head><style>a:hover{color:red}</style></head><body>x</body></html>",
    '<a href="https://example.com/?online=1&onclick=2">on = off</a>',
    "<p>Set onclick = 5 in your description: a subscription.</p>",
    '<p title="javascript: the good parts" data-on="1">JavaScript: The Good Parts</p>',
    '<img alt="JavaScript: The Good Parts" src="cid:1">',
    "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>",
    "<p>javascript:alert(1) is only text</p>",
    '<a href="https://example.com/javascript:x">x</a>',
    "<p>It&#39;s &#8217;fine&#8217;&#160;&amp; &#xa0; dandy</p>",
    "<!--[if mso]><table><tr><td><![endif]-->x<!--[if mso]></td></tr></table><![endif]-->",
    '<img src="data:image/png;base64,iVBORw0KGgo=">',
    "<p onclick>a handler without a program</p>",
    '<table title="a > b" width=100%><tr><td>1 < 2 </td></tr></table>',
    "<p>A prescription is not a script.</p>",
    '<p title="<3 and <b>bold</b>">once more</p>',
]

# code, HTML
DANGEROUS = [
    *(
        ("script_element", html)
        for html in (
            "<script>alert(1)</script>",
            "<SCRIPT SRC=//evil></SCRIPT>",
            "<script/src=x>",
            "<p>fine</p><sCrIpT x>",
            "<svg><script>1</script></svg>",
            "<!--><script>alert(1)</script>-->",
            "<!--[if IE]><script>alert(1)</script><![endif]-->",
            "<style></style x><script>1</script>",
            '<noscript><p title="</noscript><script>alert(1)</script>">',
            "<textarea><script>1</script></textarea>",
            '<iframe srcdoc="&lt;script&gt;alert(1)&lt;/script&gt;">',
        )
    ),
    *(
        ("event_handler", html)
        for html in (
            '<img src=x onerror="alert(1)">',
            "<svg/onload=alert(1)>",
            '<a href="x"onclick=alert(1)>',
            "<a\nonclick\n=\n'x'>",
            "<body onload = x>",
            "<a on-click=x>",
            '<img title=">" onerror=alert(1)>',
            '<img alt=c=" onerror=alert(1) x=">',
            '<a b==" c="x>y" onclick=z>',
            '<img alt=\xa0" onerror=alert(1) x=">',
            '<!-- <a b=" --><img src=x onerror=alert(1) title="y">',
            '<!-- <a b=" --><img src=x title=">" onerror=alert(1)>',
            "<a onclick=&#97;lert(1)>",
            '<img src="x` `<script>"` `onerror=1>' + "<i onclick=1>",
        )
    ),
    *(
        ("script_url", html)
        for html in (
            '<a href="javascript:alert(1)">',
            "<a href='JaVaScRiPt:alert(1)'>",
            '<a href="  javascript:alert(1)">',
            '<a href="\x01javascript:alert(1)">',
            '<a href="java\nscript:alert(1)">',
            '<a href="javascript\n:alert(1)">',
            '<a href="&#106;avascript:alert(1)">',
            '<a href="&#0000106;avascript:alert(1)">',
            '<a href="&#X6a&#x61vascript:alert(1)">',
            '<a href="javascript&colon;alert(1)">',
            '<a href="java&Tab;script:alert(1)">',
            '<a href="java&NewLine;script&#58;alert(1)">',
            '<form action="javascript:alert(1)">',
            '<svg><a xlink:href="javascript:alert(1)">',
            '<img src="javascript:alert(1)">',
            '<img srcset="a.png 1x, javascript:alert(1) 2x">',
            '<svg><animate values="x;javascript:alert(1)">',
            '<meta http-equiv=refresh content="0;url=javascript:alert(1)">',
            "<p style=\"background:url('javascript:alert(1)')\">",
            "<style>p{background:url( javascript:alert(1))}</style>",
            '<a href="' + " " * 1000 + 'javascript:x">',
        )
    ),
    ("markup_unreadable", '<a b="' * 50 + "<script>" + ">" * 50),
    ("markup_unreadable", "<iframe srcdoc=\"&lt;iframe srcdoc='x'&gt;\">"),
]


def codes(html: str) -> list[str]:
    return [finding.code for finding in checks.findings(subject="Hello", html=html)]


def test_a_sound_body_may_be_sent() -> None:
    for html in SOUND:
        assert codes(html) == [], html


def test_a_hidden_program_is_found() -> None:
    for code, html in DANGEROUS:
        assert code in codes(html), html


def test_a_subject_has_1_to_150_characters() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("", ["subject_missing"]),
        (" \u00a0", ["subject_missing"]),
        ("x", []),
        ("ä" * 150, []),
        ("x" * 151, ["subject_too_long"]),
    ]
    for subject, expected in cases:
        assert [f.code for f in checks.findings(subject=subject, html="<p>x</p>")] == expected, (
            subject
        )


def test_html_has_1_to_524288_bytes() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("", ["html_missing"]),
        (" \n\t", ["html_missing"]),
        ("x" * 524_288, []),
        ("x" * 524_289, ["html_too_large"]),
        ("ä" * 262_144, []),
        ("ä" * 262_145, ["html_too_large"]),
        ("\ud800", []),
    ]
    for html, expected in cases:
        assert codes(html) == expected, html


PIECES = st.sampled_from(
    [
        *("<", ">", "a", "<a ", "<img ", "</p>", "<!--", "-->", "<![CDATA[", "]]>", '"', "'", "`"),
        *("=", "/", " ", "\n", "\x0b", "\xa0", "title=", "href=", "x", "<style>", "</style>"),
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from(["", " ", "/", "\n"]))
@example('<!-- <a b="', " ")
def test_nothing_before_it_hides_a_plain_script_element(before: str, end: str) -> None:
    """Whatever stands before: if a browser could come to see this element, it is found."""
    assert codes(f"{before}--> '\"></style><script{end}>")
