"""The pages of content: templates, their versions, articles, Notion pages, pictures, branding."""

from postledger.accounts.people.roles import Permission
from postledger.web.dashboard.pages.content import (
    articles,
    branding,
    notion,
    pictures,
    slices,
    templates,
    versions,
)
from postledger.web.dashboard.routes import page

_TEMPLATES = "content/templates"
_TEMPLATE = f"{_TEMPLATES}/<slug:key>"
_VERSION = f"{_TEMPLATE}/versions/<number:number>"
_ARTICLE = "content/articles/<slug:key>"
_SLICE = f"{_ARTICLE}/slices/<number:slice_id>"

PAGES = [
    page(f"{_TEMPLATES}/", templates.show_list, Permission.READ, name="templates"),
    page("content/new-template/", templates.create, Permission.WRITE_CONTENT, name="new_template"),
    page(f"{_TEMPLATE}/", templates.show, Permission.READ, name="template"),
    page(
        f"{_TEMPLATE}/archive/",
        templates.archive,
        Permission.WRITE_CONTENT,
        name="template_archive",
    ),
    page(
        f"{_TEMPLATE}/restore/",
        templates.restore,
        Permission.WRITE_CONTENT,
        name="template_restore",
    ),
    page(f"{_TEMPLATE}/write/", versions.write, Permission.WRITE_CONTENT, name="template_write"),
    page(
        f"{_TEMPLATE}/try/",
        versions.try_text,
        Permission.WRITE_CONTENT,
        name="template_try",
        too_large=versions.refuse_large_try,
    ),
    page(f"{_TEMPLATE}/compare/", versions.compare, Permission.READ, name="template_compare"),
    page(f"{_VERSION}/", versions.show, Permission.READ, name="template_version"),
    page(f"{_VERSION}/letter/", versions.show_letter, Permission.READ, name="template_letter"),
    page("content/articles/", articles.show_list, Permission.READ, name="articles"),
    page("content/new-article/", articles.create, Permission.WRITE_CONTENT, name="new_article"),
    page(f"{_ARTICLE}/", articles.show, Permission.READ, name="article"),
    page(f"{_ARTICLE}/rename/", articles.rename, Permission.WRITE_CONTENT, name="article_rename"),
    page(f"{_ARTICLE}/delete/", articles.delete, Permission.WRITE_CONTENT, name="article_delete"),
    page(f"{_ARTICLE}/letter/", articles.show_letter, Permission.READ, name="article_letter"),
    page(f"{_ARTICLE}/slices/new/", slices.add, Permission.WRITE_CONTENT, name="new_slice"),
    page(f"{_SLICE}/", slices.change, Permission.WRITE_CONTENT, name="slice"),
    page(f"{_SLICE}/delete/", slices.delete, Permission.WRITE_CONTENT, name="slice_delete"),
    page("content/notion/", notion.show, Permission.WRITE_CONTENT, name="notion"),
    page(
        "content/notion/letter/", notion.show_letter, Permission.WRITE_CONTENT, name="notion_letter"
    ),
    page("content/pictures/", pictures.show_list, Permission.READ, name="pictures"),
    page("content/branding/", branding.show, Permission.READ, name="branding"),
    page(
        "content/branding/save/",
        branding.save,
        Permission.WRITE_CONTENT,
        name="branding_save",
        too_large=branding.refuse_large,
    ),
    page("content/branding/letter/", branding.show_letter, Permission.READ, name="branding_letter"),
]
