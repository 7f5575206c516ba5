"""Which columns of other tools say who gets mail, by their names."""

from collections.abc import Mapping
from enum import StrEnum

from postledger.lib.folding import fold_words


class StateColumn(StrEnum):
    """What a column is about, which decides what a yes in it means."""

    STATE = "state"  # a word such as subscribed, or cleaned
    OPT_OUT = "opt_out"  # yes or a date: the person left
    CONSENT = "consent"  # yes or a date: the person agreed
    # When the person agreed; tools leave it empty of whom their users imported or added there.
    CONSENT_TIME = "consent_time"
    CONFIRMATION = "confirmation"  # yes or a date: the person confirmed the address


# Whose name says enough. Any column may be called Status; its values tell whether it is one.
ANSWERS = frozenset(StateColumn) - {StateColumn.STATE}

# In English, German, Russian, Portuguese, Polish, Spanish and French.
_NAMES: Mapping[StateColumn, str] = {
    StateColumn.STATE: (
        "status, state, subscription status, subscription state, subscriber status,"
        " subscriber state, subscription, member status, contact status, email status,"
        " email marketing status, marketing status, optin status, Abonnement-Status,"
        " Abostatus, Anmeldestatus, Abonnentenstatus, статус, статус подписки, состояние,"
        " подписка, estado, estado da subscrição, estado da inscrição, status da inscrição,"
        " status da assinatura, situação, stan, status subskrypcji, stan subskrypcji,"
        " estado de suscripción, estado de la suscripción, estatus, statut, état,"
        " statut de l'abonnement, statut d'abonnement, statut d'inscription"
    ),
    StateColumn.OPT_OUT: (
        "abgemeldet, abgemeldet am, abmeldung, abmeldedatum, datum der abmeldung, abbestellt,"
        " abbestellt am, ausgetragen, ausgetragen am, austragung, opt-out-datum, widerruf,"
        " widerrufen, widerrufen am, отписан, отписался, отписка, дата отписки, descadastrado,"
        " descadastrado em, data de descadastro, desinscrito, desinscrito em, data do"
        " cancelamento da inscrição, wypisany, data wypisania, dado de baja, fecha de baja,"
        " desuscrito, fecha de desuscripción, désabonné, désabonnement, date de désabonnement,"
        " désinscrit, désinscription, date de désinscription"
    ),
    StateColumn.CONSENT: (
        "subscribed, einwilligung, newsletter-einwilligung, werbeeinwilligung, zustimmung,"
        " einverständnis, einverständniserklärung, angemeldet, согласие, согласие на рассылку,"
        " подписан, consentimento, aceita marketing, inscrito, zgoda, zgoda marketingowa,"
        " consentimiento, acepta marketing, suscrito, consentement, accepte le marketing, abonné"
    ),
    StateColumn.CONSENT_TIME: (
        "einwilligung am, einwilligungsdatum, opt-in-datum, дата согласия,"
        " data do consentimento, data zgody, fecha de consentimiento, date de consentement"
    ),
}
# English ones that also name a moment: opt-out time, date unsubscribed.
_TIMED: Mapping[StateColumn, str] = {
    StateColumn.OPT_OUT: (
        "unsubscribed, unsubscribe, unsub, unsubscription, opted out, opt out, email opt out,"
        " email opted out, marketing opt out, opted out of email, has opted out of email,"
        " email unsubscribed, unsubscribed from all email, unsubscribed from all emails,"
        " do not email, do not mail, global unsubscribe, blacklisted, blocklisted,"
        " email blacklisted, email blocklisted"
    ),
    StateColumn.CONSENT: (
        "consent, consented, consent given, opt in, opted in, email opt in, email opted in,"
        " marketing opt in, newsletter opt in, email consent, marketing consent,"
        " email marketing consent, newsletter consent, gdpr consent, consent to email,"
        " consent to emails, accepts marketing, accepts email marketing"
    ),
    StateColumn.CONFIRMATION: "double opt in, double optin, double opt in confirmed",
}
_DATES = ("date", "date of")
_BEFORE = ("", "is", *_DATES)
_AFTER = ("", "date", "time", "datetime", "timestamp", "at", "on")
_OF_MOMENTS = {
    StateColumn.OPT_OUT: StateColumn.OPT_OUT,
    StateColumn.CONSENT: StateColumn.CONSENT_TIME,
    StateColumn.CONFIRMATION: StateColumn.CONFIRMATION,
}
_BY_NAME = {fold_words(name): kind for kind, names in _NAMES.items() for name in names.split(", ")}
_BY_TIMED_NAME = {
    fold_words(before + name + after): _OF_MOMENTS[kind] if before in _DATES or after else kind
    for kind, names in _TIMED.items()
    for name in names.split(", ")
    for before in _BEFORE
    for after in _AFTER
}


def find_kind(column: str) -> StateColumn | None:
    """What a column of this name may say; None: nothing about who gets mail."""
    folded = fold_words(column.rstrip(" ?"))
    return _BY_NAME.get(folded) or _BY_TIMED_NAME.get(folded)
