"""A page that asks before something is done: what happens, a form, and the way back."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.forms import PageForm
from postledger.web.dashboard.frame import render_page


@dataclass(frozen=True, slots=True)
class Question:
    heading: str
    sentences: Sequence[str]
    go: str
    stay: str
    back_url: str
    back_title: str


def ask(request: HttpRequest, visitor: Visitor, question: Question, form: PageForm) -> HttpResponse:
    """The question; again with what was typed if the form refused it."""
    values = {"title": question.heading, "question": question, "form": form}
    status = 422 if form.errors else 200
    return render_page(request, visitor, "dashboard/audience/question.html", values, status=status)
