"""Reads whether the tool that a file comes from mailed a person, as its exports say it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache

from postledger.contacts.consent import StateReport
from postledger.contacts.state_columns import ANSWERS, StateColumn, find_kind
from postledger.contacts.states import ConsentAction, ContactState, SuppressionReason
from postledger.lib.folding import fold_words

# Of the values of a column, to look like such states: programs add words of their own.
_MOST_UNKNOWN = 0.1


class OldState(StrEnum):
    """The state of a person in the old tool; empty where nothing keeps them off a list."""

    SUBSCRIBED = ""
    NOT_SUBSCRIBED = "old_not_subscribed"  # or not confirmed: nobody agreed
    UNSUBSCRIBED = "old_unsubscribed"
    COMPLAINED = "old_complained"
    BOUNCED = "old_bounced"
    UNKNOWN = "old_unknown"


_REPORTED: Mapping[OldState, tuple[ContactState, SuppressionReason]] = {
    OldState.UNSUBSCRIBED: (ContactState.UNSUBSCRIBED, SuppressionReason.UNSUBSCRIBED),
    OldState.COMPLAINED: (ContactState.UNSUBSCRIBED, SuppressionReason.COMPLAINED),
    OldState.BOUNCED: (ContactState.BOUNCED, SuppressionReason.BOUNCED),
}
# In English, German, Russian, Portuguese, Polish, Spanish and French.
_WORDS: Mapping[OldState, str] = {
    OldState.SUBSCRIBED: (
        "subscribed, subscriber, active, confirmed, opted in, opt in, enabled,"
        " angemeldet, abonniert, abonnent, aktiv, bestätigt, eingetragen,"
        " подписан, подписана, подписано, подписался, подписалась, подписчик, активен, активна,"
        " активный, активная, активно, подтверждён, подтверждена, подтверждено,"
        " inscrito, inscrita, subscrito, subscrita, assinante, ativo, ativa, confirmado,"
        " confirmada, subskrybent, subskrybuje, zapisany, zapisana, aktywny, aktywna,"
        " potwierdzony, potwierdzona, suscrito, suscrita, suscripto, suscripta, suscriptor,"
        " activo, activa, abonné, abonnée, inscrit, inscrite, actif, active, confirmé, confirmée"
    ),
    OldState.NOT_SUBSCRIBED: (
        "non subscribed, nonsubscribed, not subscribed, never subscribed, transactional, pending,"
        " unconfirmed, not confirmed, inactive, archived, disabled, deleted, removed, blocked,"
        " suppressed, invited,"
        " nicht abonniert, nicht angemeldet, nicht bestätigt, unbestätigt, ausstehend, inaktiv,"
        " archiviert, gelöscht, gesperrt, blockiert,"
        " не подписан, не подписана, не подтверждён, не подтверждена, ожидает, неактивен,"
        " неактивна, неактивный, неактивная, архив, удалён, удалена, заблокирован,"
        " заблокирована, não inscrito, não inscrita, não subscrito, não subscrita, pendente,"
        " não confirmado, não confirmada, inativo, inativa, arquivado, arquivada, excluído,"
        " excluída, removido, removida, bloqueado, bloqueada,"
        " niezapisany, niezapisana, niepotwierdzony, niepotwierdzona, oczekujący, oczekująca,"
        " nieaktywny, nieaktywna, zarchiwizowany, zarchiwizowana, usunięty, usunięta,"
        " zablokowany, zablokowana, no suscrito, no suscrita, pendiente, no confirmado,"
        " no confirmada, inactivo, inactiva, archivado, archivada, eliminado, eliminada,"
        " non abonné, non abonnée, non inscrit, non inscrite, en attente, non confirmé,"
        " non confirmée, inactif, archivé, archivée, supprimé, supprimée, bloqué, bloquée"
    ),
    OldState.UNSUBSCRIBED: (
        "unsubscribed, unsubscriber, unsubscribe, opted out, opt out,"
        " abgemeldet, abbestellt, ausgetragen, gekündigt,"
        " отписан, отписана, отписано, отписался, отписалась, отписка,"
        " cancelado, cancelada, descadastrado, descadastrada, desinscrito, desinscrita,"
        " inscrição cancelada, subscrição cancelada, assinatura cancelada,"
        " wypisany, wypisana, wypisał się, wypisała się, zrezygnował, zrezygnowała,"
        " rezygnacja, desuscrito, desuscrita, baja, dado de baja, dada de baja,"
        " suscripción cancelada, désabonné, désabonnée, désinscrit, désinscrite"
    ),
    OldState.COMPLAINED: (
        "complained, complaint, complainer, spam, spam complaint, spam report, reported spam,"
        " marked as spam, abuse, abuse complaint, beschwerde, spambeschwerde, spam-beschwerde,"
        " als spam gemeldet, жалоба, пожаловался, пожаловалась, жалоба на спам, спам,"
        " reclamação, denúncia, denunciou spam, marcado como spam, skarga, zgłoszony spam,"
        " queja, queja de spam, plainte, signalé comme spam"
    ),
    OldState.BOUNCED: (
        "bounced, bounce, hard bounce, hard bounced, hardbounce, cleaned, undeliverable, invalid,"
        " invalid email, gebounct, gebounced, bereinigt, unzustellbar, nicht zustellbar,"
        " ungültig, hardbounced,"
        " очищен, очищена, очищено, недоставлено, не доставлено, недоступен, недействителен,"
        " rejeitado, rejeitada, devolvido, devolvida, limpo, limpa, inválido, inválida,"
        " odrzucony, odrzucona, odbity, odbita, wyczyszczony, wyczyszczona, nieprawidłowy,"
        " niedostarczalny, rebotado, rebotada, rebote, limpiado, limpiada, depurado, depurada,"
        " nettoyé, nettoyée, rejeté, rejetée, invalide"
    ),
}
_BY_WORD = {
    fold_words(word): state for state, words in _WORDS.items() for word in words.split(", ")
}


class Answer(StrEnum):
    """What a cell answers to the question that its column asks."""

    YES = "yes"
    NO = "no"
    MISSING = "missing"


_ANSWERS: Mapping[Answer, str] = {
    Answer.YES: (
        "yes, y, true, t, 1, on, x, ✓, ja, j, да, истина, sim, tak, sí, verdadero, oui, vrai"
    ),
    Answer.NO: "no, n, false, f, 0, off, nein, нет, ложь, não, nie, falso, non, faux",
    Answer.MISSING: "null, none, n/a, nan",
}
_BY_ANSWER = {"": Answer.MISSING} | {
    fold_words(word): answer for answer, words in _ANSWERS.items() for word in words.split(", ")
}
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
# A whole cell: a date with a word behind it may say the contrary.
_DATE = re.compile(
    rf"""(?:
        [12]\d{{3}}([-/.])\d{{1,2}}\1\d{{1,2}}
        | \d{{1,2}}([-/.])\d{{1,2}}\2(?:\d{{2}}){{1,2}}
        | {_MONTH}[ ]\d{{1,2}},?[ ]\d{{4}}
        | \d{{1,2}}\.?[ -]{_MONTH}[ -]\d{{4}}
    )
    (?:(?:T|,?[ ])\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d{{1,9}})?)?(?:[ ]?[AP]M)?)?
    (?:[ ]?(?:Z|UTC|GMT|[+-]\d{{2}}:?(?:\d{{2}})?))?""",
    re.VERBOSE | re.IGNORECASE,
)
# Words that say the same whatever was asked.
_NO_MAIL: Mapping[Answer | OldState, OldState] = {
    state: state
    for state in (
        OldState.NOT_SUBSCRIBED,
        OldState.UNSUBSCRIBED,
        OldState.COMPLAINED,
        OldState.BOUNCED,
    )
}
_CONSENT: Mapping[Answer | OldState, OldState] = {
    **_NO_MAIL,
    Answer.YES: OldState.SUBSCRIBED,
    Answer.NO: OldState.UNSUBSCRIBED,
    OldState.SUBSCRIBED: OldState.SUBSCRIBED,
}
# Of an answer, and of a word; every other one cannot be read.
_MEANINGS: Mapping[StateColumn, Mapping[Answer | OldState, OldState]] = {
    StateColumn.OPT_OUT: {
        **_NO_MAIL,
        Answer.YES: OldState.UNSUBSCRIBED,
        Answer.NO: OldState.SUBSCRIBED,
        Answer.MISSING: OldState.SUBSCRIBED,
    },
    StateColumn.CONSENT: _CONSENT,
    StateColumn.CONSENT_TIME: {**_CONSENT, Answer.MISSING: OldState.SUBSCRIBED},
    StateColumn.CONFIRMATION: {**_CONSENT, Answer.NO: OldState.NOT_SUBSCRIBED},
}
# Of what several columns say of a person, the last one here counts.
_STRENGTH = (
    OldState.SUBSCRIBED,
    OldState.UNKNOWN,
    OldState.NOT_SUBSCRIBED,
    OldState.UNSUBSCRIBED,
    OldState.COMPLAINED,
    OldState.BOUNCED,
)


@lru_cache(maxsize=4096)
def read_old_state(cell: str, column: StateColumn = StateColumn.STATE) -> OldState:
    """What a cell says; an unknown one says nothing that a consent could rest on.

    An empty one is unknown, unless the column has those who opted out, or when people agreed.
    """
    state = _BY_WORD.get(fold_words(cell), OldState.UNKNOWN)
    if column is StateColumn.STATE:
        return state
    said = read_answer(cell) or state
    return _MEANINGS[column].get(said, OldState.UNKNOWN)


def read_answer(cell: str) -> Answer | None:
    """A yes or a no; a date is a yes, and None is no answer."""
    if _is_zero_date(cell):
        return Answer.MISSING
    if _DATE.fullmatch(cell):
        return Answer.YES
    return _BY_ANSWER.get(fold_words(cell))


def _is_zero_date(cell: str) -> bool:
    """Whether it is what databases write for no date, in any order: 00.00.0000 00:00."""
    signs = set(cell)
    return "0" in signs and not signs.isdisjoint("-/.") and signs <= set("0-/.: TZ")


def find_strongest(states: Iterable[OldState]) -> OldState:
    """What several columns say of one person together."""
    return max(states, key=_STRENGTH.index, default=OldState.SUBSCRIBED)


def find_state_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The columns that say by their names, or seem to say by their values, who gets mail."""
    return tuple(
        name
        for number, name in enumerate(header)
        if find_kind(name) in ANSWERS
        or (name and _look_like_states(row[number] for row in rows if number < len(row)))
    )


def _look_like_states(cells: Iterable[str]) -> bool:
    values = [cell for cell in cells if cell]
    unknown = sum(read_old_state(value) is OldState.UNKNOWN for value in values)
    return bool(values) and unknown <= _MOST_UNKNOWN * len(values)


def find_reported(reports: Iterable[StateReport]) -> dict[str, OldState]:
    """The ends that a file reports, by address in small letters."""
    by_reason = {reason: state for state, (_, reason) in _REPORTED.items()}
    return {one.address.lower(): by_reason[one.reason] for one in reports if one.reason}


def report_old_state(address: str, state: OldState) -> StateReport | None:
    """What ends the mail to an address; None where the old tool reported no end."""
    if state not in _REPORTED:
        return None
    after, reason = _REPORTED[state]
    return StateReport(address, ConsentAction.IMPORTED, None, state=after, reason=reason)
