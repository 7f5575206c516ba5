import copy
import json
import pickle
from collections.abc import Callable

from postledger.lib import sentences
from postledger.lib.sentences import Sentence, say


def test_a_sentence_is_its_english_text() -> None:
    sentence = say("At most %(most)s of %(what)s, 100%%.", most=12_000, what="them")

    assert sentence == "At most 12,000 of them, 100%."
    assert f"{sentence}" == "At most 12,000 of them, 100%."


def test_what_a_person_typed_is_no_form() -> None:
    assert say("There is no %(name)s.", name="%(name)s 100%") == "There is no %(name)s 100%."


def test_what_a_person_typed_cannot_command_a_terminal() -> None:
    said = say("There is no %(name)s.", name="\x1b[2J\n\u00a0x")

    assert said == "There is no \\x1b[2J\\n\u00a0x."
    assert said.values == {"name": "\\x1b[2J\\n\u00a0x"}


def test_what_no_text_can_hold_is_said_in_signs_that_can() -> None:
    said = say("'%(address)s' is not an email address.", address="a\ud800@example.com")

    assert said.encode() == b"'a\\ud800@example.com' is not an email address."


def send_to_another_process(sentence: Sentence) -> Sentence:
    sent: Sentence = pickle.loads(pickle.dumps(sentence))  # noqa: S301  made by this test
    return sent


def test_a_copy_knows_its_form() -> None:
    ways: list[Callable[[Sentence], Sentence]] = [
        *(copy.copy, copy.deepcopy, send_to_another_process),
    ]
    for duplicate in ways:
        sentence = duplicate(say("There is no list %(key)s.", key="news"))

        assert sentence == "There is no list news.", duplicate
        assert sentence.form == "There is no list %(key)s.", duplicate
        assert sentence.values == {"key": "news"}, duplicate


def test_joined_sentences_stay_sentences() -> None:
    joined = sentences.join([say("One."), "", say("Two %(n)s.", n=2), "three"])

    assert joined == "One. Two 2. three"
    assert [type(value) for value in joined.values.values()] == [Sentence, Sentence, str]


def test_a_sentence_that_was_kept_as_json_knows_its_form() -> None:
    sentence = say("%(what)s: %(most)s of %(name)s", what=say("Too many"), most=1_000, name="a.csv")

    kept = json.loads(json.dumps(sentences.write_document(sentence)))
    read = sentences.read_document(kept)

    assert read == "Too many: 1,000 of a.csv"
    assert isinstance(read, Sentence)
    assert read.values == sentence.values
    assert isinstance(read.values["what"], Sentence)
    assert sentences.read_document(sentences.write_document("As it is: 100%.")) == "As it is: 100%."
