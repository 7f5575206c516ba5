import copy
import json
import pickle

from postledger.lib import sentences
from postledger.lib.sentences import Sentence, say


def test_a_sentence_is_its_english_text() -> None:
    sentence = say("At most %(most)s of %(what)s, 100%%.", most=12_000, what="them")

    assert sentence == "At most 12,000 of them, 100%."
    assert f"{sentence}" == "At most 12,000 of them, 100%."


def test_what_a_person_typed_is_no_form_and_cannot_command_a_terminal() -> None:
    assert say("There is no %(name)s.", name="%(name)s 100%") == "There is no %(name)s 100%."
    said = say("There is no %(name)s.", name="\x1b[2J\n\u00a0x")
    assert said == "There is no \\x1b[2J\\n\u00a0x."
    assert said.values == {"name": "\\x1b[2J\\n\u00a0x"}
    surrogate = say("'%(address)s' is not an email address.", address="a\ud800@example.com")
    assert surrogate.encode() == b"'a\\ud800@example.com' is not an email address."


def send_to_another_process(sentence: Sentence) -> Sentence:
    sent: Sentence = pickle.loads(pickle.dumps(sentence))  # noqa: S301  made by this test
    return sent


def test_a_copy_knows_its_form() -> None:
    for duplicate in (copy.copy, copy.deepcopy, send_to_another_process):
        sentence = duplicate(say("There is no list %(key)s.", key="news"))

        assert sentence == "There is no list news."
        assert sentence.form == "There is no list %(key)s."
        assert sentence.values == {"key": "news"}


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
