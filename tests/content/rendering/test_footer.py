"""The footer: in both parts, with what the law asks for, or no mail at all."""

import pytest

from postledger.content.rendering.footer import Footer, FooterEnvMissingError
from postledger.content.rendering.letter import Letter, Script
from postledger.content.rendering.source import Format, Source, make_script

ACME = Footer("Acme & Sons", "1 Main St, Springfield")
LINK = "https://mail.acme.example/u?token=a.b"


def fill_with_footer(html: str, org: Footer = ACME) -> tuple[str, str]:
    letter = Letter(Script("a", html, "Hello").with_footer(org))
    return letter.join(letter.fill({"unsubscribe_url": LINK}))


def test_both_parts_end_with_the_footer_word_for_word() -> None:
    html, text = fill_with_footer("<p>Hello</p>")

    assert html == (
        "<p>Hello</p><hr><p>Acme &amp; Sons — 1 Main St, Springfield</p>"
        f'<p><a href="{LINK}">Unsubscribe</a></p>'
    )
    assert text == f"Hello\n--\nAcme & Sons — 1 Main St, Springfield\nUnsubscribe: {LINK}"
    # Braces in a name are no Liquid.
    assert "{{ x }} — " in fill_with_footer("<p>a</p>", Footer("{{ x }}", "a"))[1]


def test_the_link_is_named_in_the_language_of_the_mail() -> None:
    for locale, word in [
        ("ru", "Отписаться"),
        ("pt-BR", "Cancelar a subscrição"),
        ("de-AT", "Abmelden"),
        ("en-GB", "Unsubscribe"),
        ("fr", "Unsubscribe"),
    ]:
        source = Source("a", "Hello", Format.MARKDOWN, locale=locale)
        letter = Letter(make_script(source, footer=ACME))

        html, text = letter.join(letter.fill({"unsubscribe_url": LINK}))

        assert f'<a href="{LINK}">{word}</a>' in html, locale
        assert text.endswith(f"\n{word}: {LINK}"), locale


def test_the_footer_stands_where_the_layout_wants_it() -> None:
    for html, before in [
        ("<body><p>a</p><!--footer--><p>b</p></body>", "<body><p>a</p>"),
        ("<!--footer--><body><p>a</p><!--footer--></body>", "<!--footer--><body><p>a</p>"),
    ]:
        assert fill_with_footer(html)[0].startswith(f"{before}<hr>"), html


WORDS = (
    f'<hr><p>Acme &amp; Sons — 1 Main St, Springfield</p><p><a href="{LINK}">Unsubscribe</a></p>'
)


def test_a_document_of_its_own_gets_the_footer_in_a_column_of_ours_at_its_end() -> None:
    for end in ["</body></html>", "</BODY></HTML>", "</body ></html>"]:
        html = fill_with_footer(f"<html><body><p>İİİ</p>{end}")[0]

        before, column, after = html.partition(WORDS)
        assert column, end
        assert before.startswith("<html><body><p>İİİ</p><!--[if mso]><table "), end
        assert before.endswith('word-break:break-word">'), end
        assert "background-color:#ffffff" in before, end
        assert (
            after == f"</td></tr></tbody></table><!--[if mso]></td></tr></table><![endif]-->{end}"
        ), end


def test_without_any_part_of_it_there_is_no_footer() -> None:
    given: dict[str, str] = {
        "org_name": "Acme",
        "org_address": "1 Main St",
        "unsubscribe_page": "https://acme.example/unsubscribe",
    }
    blank: list[tuple[dict[str, str], bool]] = [
        *(({**given, missing: " "}, True) for missing in given),
        (given, False),
    ]
    for texts, has_secret in blank:
        with pytest.raises(FooterEnvMissingError) as refused:
            Footer.require(
                org_name=texts["org_name"],
                org_address=texts["org_address"],
                unsubscribe_page=texts["unsubscribe_page"],
                has_secret=has_secret,
            )

        assert refused.value.code == "footer_env_missing", texts
