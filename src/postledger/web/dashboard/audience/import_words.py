"""What imports refuse and find, in the words of their page and in the reader's language.

The API and the command name fields and options; the page has selects.
"""

from collections.abc import Mapping

from django import template
from django.utils.translation import gettext_noop

from postledger.contacts.csv_columns import ATTRIBUTE
from postledger.imports.columns import split_target
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import Sentence
from postledger.web.dashboard.audience.import_columns import NAMED_ATTRIBUTE, TARGETS
from postledger.web.shared import sentences

register = template.Library()

# By the form of what services say; every other one has no words that the page lacks.
FORMS: Mapping[str, str] = {
    "No column holds the address. The first row must be the names of the columns;"
    ' map the right one to email (on a command line: --map "COLUMN=email").': gettext_noop(
        "No column holds the address. Choose “Address” beside the one that does. The first row"
        " of the file has to be the names of the columns."
    ),
    "Two columns named '%(first)s' are both mapped to %(target)s. Rename or remove"
    " one of them in the file.": gettext_noop(
        "Two columns are named '%(first)s', and both become the same: %(target)s. Rename or remove"
        " one of them in the file."
    ),
    "The columns '%(first)s' and '%(second)s' are both mapped to %(target)s. Ignore"
    " one of them, for example by mapping '%(second)s' to '%(ignored)s'.": gettext_noop(
        "The columns '%(first)s' and '%(second)s' become the same: %(target)s. Choose something"
        " else for one of them, or “Leave out”."
    ),
    "A contact can have %(most)s attributes, and the file has %(number)s. Ignore"
    " columns, by mapping them to '%(ignored)s'.": gettext_noop(
        "A contact can have %(most)s attributes, and the file has %(number)s. Choose “Leave out”"
        " for columns that are not needed."
    ),
    "The column '%(key)s' cannot be an attribute, whose name has 1 to"
    " %(longest)s visible characters. Rename it, or ignore it, by mapping it to"
    " '%(ignored)s'.": gettext_noop(
        "'%(key)s' cannot be the name of an attribute, which has 1 to %(longest)s visible"
        " characters. Write another one, or choose “Leave out”."
    ),
    "previewing: wait for its dry run, start it, or abandon it.": gettext_noop(
        "in its dry run: wait for it, or cancel it."
    ),
    "running: wait for it to finish, or abandon it.": gettext_noop(
        "running: wait for it to finish, or cancel it."
    ),
    "abandoned: upload the file again to import it.": gettext_noop(
        "cancelled: upload the file again to import it."
    ),
}


def say_on_page(said: str | RefusedError) -> str:
    """What a service says about an import."""
    return sentences.translate(_reword(said.sentence if isinstance(said, RefusedError) else said))


@register.filter
def of_import(text: str) -> str:
    return say_on_page(text)


def _reword(value: object) -> str:
    if not isinstance(value, Sentence):
        return str(value)
    values = {
        name: _reword(part) if isinstance(part, Sentence) else part
        for name, part in value.values.items()
    }
    if value.form in FORMS and "target" in values:
        values["target"] = _name_target(str(values["target"]))
    return Sentence(FORMS.get(value.form, value.form), values)


def _name_target(target: str) -> str:
    """What a column becomes, as its select has it."""
    target, _ = split_target(target)
    if target.startswith(ATTRIBUTE):
        return Sentence(NAMED_ATTRIBUTE, {"key": target.removeprefix(ATTRIBUTE)})
    return str(TARGETS.get(target, target))
