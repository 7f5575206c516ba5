from django.utils import translation

from postledger.lib import sentences
from postledger.lib.errors import RefusedError
from postledger.lib.sentences import say
from postledger.web.shared.sentences import translate

# Words of a button, which the catalogues have in any case.
SAVE = say("Save")


def test_a_refusal_speaks_the_language_of_the_page() -> None:
    with translation.override("ru"):
        assert translate(RefusedError(SAVE)) == "Сохранить"
    with translation.override("en"):
        assert translate(RefusedError(SAVE)) == "Save"


def test_a_sentence_inside_another_is_translated_and_a_name_is_not() -> None:
    nested = say("%(action)s: %(name)s", action=SAVE, name="Save")

    with translation.override("ru"):
        assert translate(nested) == "Сохранить: Save"
        assert translate(sentences.join([SAVE, "Save"])) == "Сохранить Save"
