"""Whom a launch would send to now: counted and listed by the query that planning uses."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from postledger.accounts import queries as accounts
from postledger.accounts import working_hours
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.launches import waves
from postledger.contacts import audience
from postledger.contacts.audience import FilterTooCostlyError, FrozenAudience
from postledger.contacts.filters import parsing
from postledger.contacts.filters.expressions import All, Filter, OnList
from postledger.content import slices
from postledger.content.locales import MissingLocaleError
from postledger.content.slices import SubjectRequiredError
from postledger.lib.errors import RefusedError
from postledger.mailing import chunks, content_source, send_times, snapshot
from postledger.mailing.chunks import Chunk, Exclusion, Recipient
from postledger.mailing.content_source import ArticleSource, ContentSource, TemplateSource
from postledger.mailing.snapshot import ByLocale, ByPlaces, LetterChoice

_ALL = 2**62
_LAST = "\U0010ffff"  # sorts behind every character of an address
_PATIENCE_FOR_ONE = timedelta(seconds=1)
_ONE_LETTER = ByLocale({"": 0}, fallback="-")


@dataclass(frozen=True, slots=True)
class RecipientCounts:
    """The contacts of an audience: those who would get a mail, and the others by reason."""

    number: int
    excluded: Mapping[str, int] = field(default_factory=dict)
    # Of the number, where the campaign goes to all contacts; None: not known, with an estimate.
    on_no_list: int | None = 0
    is_exact: bool = True  # False: counting took too long; an estimate, without the reasons

    @property
    def total(self) -> int:
        return self.number + sum(self.excluded.values())


def count_recipients(
    workspace_id: int,
    campaign: CampaignFacts,
    *,
    now: datetime,
    patience: timedelta = audience.PATIENCE,
) -> RecipientCounts:
    """The counts, or an estimate when counting takes longer than `patience`.

    A letter that cannot be rendered for some places is found at the launch only.
    """
    try:
        with audience.limited_time(patience):
            frozen = freeze_audience(workspace_id, campaign, now=now)
            return _count_people(workspace_id, campaign, frozen, now=now)
    except FilterTooCostlyError:
        return _estimate(workspace_id, campaign, now=now)


def count_late(
    workspace_id: int, campaign: CampaignFacts, *, now: datetime, patience: timedelta
) -> int:
    """The recipients for whom the local time of a campaign is past; raises FilterTooCostlyError."""
    timing = campaign.timing
    if not send_times.may_be_late(timing, now=now):
        return 0
    with audience.limited_time(patience):
        frozen = freeze_audience(workspace_id, campaign, now=now)
        zones = {*audience.list_time_zones(workspace_id), frozen.default_zone}
        late = send_times.find_late_zones(timing, zones=zones, now=now)
        if not late:
            return 0
        return _count_people(workspace_id, campaign, replace(frozen, zones=late), now=now).number


def _count_people(
    workspace_id: int, campaign: CampaignFacts, frozen: FrozenAudience, *, now: datetime
) -> RecipientCounts:
    chunk = _make_chunk(workspace_id, campaign, frozen, now=now)
    counted = chunks.count_variants(chunk)
    unserved = _find_unserved(chunk, {row.variant for row in counted}, now=now)
    totals, on_no_list = Counter[str | None](), 0
    for row in counted:
        reason = row.kept_back or unserved.get(row.variant)
        totals[reason] += row.count
        on_no_list += row.count if reason is None and not row.is_on_list else 0
    number = totals.pop(None, 0)
    excluded = {str(reason): count for reason, count in totals.items()}
    return RecipientCounts(number, excluded, on_no_list)


def list_people(  # noqa: PLR0913  the parts of a query, each by its name
    workspace_id: int,
    campaign: CampaignFacts,
    *,
    reason: str | None,
    after: str = "",
    limit: int,
    now: datetime,
    patience: timedelta = audience.PATIENCE,
) -> Sequence[Recipient]:
    """Contacts of the audience by address: those left out for a reason, or the recipients (None).

    `after` is the sort key of the last one of the previous page. Raises FilterTooCostlyError.
    """
    with audience.limited_time(patience):
        frozen = freeze_audience(workspace_id, campaign, now=now)
        chunk = _make_chunk(workspace_id, campaign, frozen, now=now, after=after)
        unserved: Mapping[str, str] = {}
        if not chunk.has_one_letter:
            unserved = _find_unserved(chunk, chunks.list_variants(chunk), now=now)
        variants = [one for one, code in unserved.items() if reason in {None, code}]
        is_unserved = reason in {Exclusion.SUBJECT_REQUIRED, Exclusion.MISSING_LOCALE}
        return chunks.list_people(
            chunk,
            kept_back=None if is_unserved else reason,
            variants=variants,
            is_among=is_unserved,
            size=limit,
        )


def is_recipient(
    workspace_id: int, campaign: CampaignFacts, recipient: str, *, now: datetime
) -> bool:
    """Whether the contact of an address would get a mail; raises FilterTooCostlyError soon."""
    key = recipient.lower()
    before = f"{key[:-1]}{chr(ord(key[-1]) - 1)}{_LAST}"
    following = list_people(
        *(workspace_id, campaign),
        reason=None,
        after=before,
        limit=1,
        now=now,
        patience=_PATIENCE_FOR_ONE,
    )
    return any(one.sort_key == key for one in following)


def list_unserved_locales(
    workspace_id: int, campaign: CampaignFacts, *, now: datetime
) -> Sequence[str]:
    """The languages of contacts in which the campaign's template has no text for them."""
    frozen = freeze_audience(workspace_id, campaign, now=now)
    chunk = _make_chunk(workspace_id, campaign, frozen, now=now)
    if chunk.has_one_letter or not isinstance(chunk.choice, ByLocale):
        return ()
    return list(_find_unserved(chunk, chunks.list_variants(chunk), now=now))


def freeze_audience(workspace_id: int, campaign: CampaignFacts, *, now: datetime) -> FrozenAudience:
    """The audience as a launch would freeze it now, of all its waves together."""
    at = campaign.timing.at
    return FrozenAudience(
        parsing.parse(dict(campaign.audience), now=now),
        campaign.list_key,
        frozen_at=now,
        mailed_at=at if at and at > now else None,
        mailed_in_zones=_find_due_times(workspace_id, campaign, now=now),
        default_zone=accounts.time_zone(workspace_id),
    )


def _find_due_times(
    workspace_id: int, campaign: CampaignFacts, *, now: datetime
) -> Mapping[str, datetime]:
    """When contacts of each time zone are mailed, if that differs; a snooze may end before."""
    hours = campaign.delivery_window
    window = None if hours is None else working_hours.to_json(hours)
    run_waves = waves.split_waves(workspace_id, campaign.timing, window, now=now)
    return {
        zone: wave.due_at or now
        for wave in run_waves
        if not wave.is_last_look
        for zone in wave.zones or ()
    }


def _make_chunk(
    workspace_id: int,
    campaign: CampaignFacts,
    frozen: FrozenAudience,
    *,
    now: datetime,
    after: str = "",
) -> Chunk:
    """The whole audience after an address, as one chunk of a stream that does not exist."""
    choice = _find_choice(workspace_id, campaign.content)
    return Chunk(
        people=audience.compile_chunk(workspace_id, frozen, after=after, limit=_ALL),
        choice=choice,
        places=snapshot.list_places(choice, now=now) if isinstance(choice, ByPlaces) else (),
        stream_id=0,
        lineage=(),
    )


def _find_choice(workspace_id: int, content: ContentSource) -> LetterChoice:
    """How letters would be chosen; content that is not there yet is taken for one letter."""
    with suppress(RefusedError):
        if isinstance(content, TemplateSource):
            version = content_source.find_template(workspace_id, content)
            numbers = {locale: number for number, locale in enumerate(version.locales())}
            return ByLocale(numbers, version.fallback_locale)
        if isinstance(content, ArticleSource):
            return ByPlaces(content_source.find_slices(workspace_id, content))
    return _ONE_LETTER


def _find_unserved(chunk: Chunk, variants: set[str], *, now: datetime) -> Mapping[str, str]:
    """The variants without a letter, each with the reason that planning would store."""
    unserved: dict[str, str] = {}
    for variant in () if chunk.has_one_letter else variants:
        try:
            if isinstance(chunk.choice, ByLocale):
                snapshot.choose_letter(chunk.choice, variant)
            else:
                places = frozenset(variant.split())
                slices.assemble(chunk.choice.slices, ocd_ids=places, now=now)
        except MissingLocaleError:
            unserved[variant] = Exclusion.MISSING_LOCALE.value
        except SubjectRequiredError:
            unserved[variant] = Exclusion.SUBJECT_REQUIRED.value
    return unserved


def _estimate(workspace_id: int, campaign: CampaignFacts, *, now: datetime) -> RecipientCounts:
    people: Filter = parsing.parse(dict(campaign.audience), now=now)
    if campaign.list_key:
        people = audience.only_active(All((people, OnList(campaign.list_key))))
    else:
        people = audience.only_reached(people, at=now)
    return RecipientCounts(
        audience.estimate(workspace_id, people),
        on_no_list=0 if campaign.list_key else None,
        is_exact=False,
    )
