"""Saves a draft part by part: what is wrong in one keeps no other from being saved."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from postledger.accounts.constraints import InvalidNameError
from postledger.accounts.queries import SenderArchivedError, SenderUnknownError
from postledger.campaigns.drafts import drafts
from postledger.campaigns.drafts.drafts import CampaignFacts
from postledger.campaigns.launches.launching import AlreadyLaunchedError, CampaignChangedError
from postledger.contacts.filters.parsing import InvalidFilterError
from postledger.contacts.lists import ListUnknownError
from postledger.content.rendering.html.checks import UnstorableTextError
from postledger.lib.errors import NotFoundError, RefusedError
from postledger.mailing.send_times import InvalidTimingError
from postledger.web.dashboard.access import Visitor
from postledger.web.dashboard.components import actor_names
from postledger.web.dashboard.editor import conditions
from postledger.web.dashboard.editor.conditions import IncompleteConditionError
from postledger.web.dashboard.editor.draft_form import DraftForm, Part
from postledger.web.dashboard.editor.readings import WrongFieldError
from postledger.web.shared.sentences import translate

# Beside which field a refusal is shown, if not beside that of its part.
_FIELDS = {
    InvalidNameError: "name",
    ListUnknownError: "list_key",
    SenderArchivedError: "sender",
    SenderUnknownError: "sender",
    UnstorableTextError: "body",
}

# With which field a part of a campaign begins on the page.
_FIRST_FIELDS = {
    "timing": "when",
    "list_key": "list_key",
    "audience": "list_key",
    "sender": "sender",
}


@dataclass(frozen=True, slots=True)
class Conflict:
    """Somebody else changed the campaign since the page was read."""

    name: str
    at: datetime
    is_after_part: bool = False  # a part of ours was saved before
    is_own: bool = False  # of the same person, in another window


@dataclass(frozen=True, slots=True)
class WrongField:
    """A field whose value cannot be used, and what to do."""

    field_id: str
    label: str
    text: str
    line: int | None = None  # of the conditions that have a field


@dataclass(frozen=True, slots=True)
class Saved:
    campaign: CampaignFacts  # as it is stored now
    conflict: Conflict | None = None
    problems: list[WrongField] = field(default_factory=list)  # what is not saved
    flaws: list[WrongField] = field(default_factory=list)  # saved, and no launch with it
    is_launched: bool = False  # meanwhile: nothing is saved any more

    @property
    def is_whole(self) -> bool:
        """Whether the stored campaign is what the page shows."""
        return self.conflict is None and not self.problems and not self.is_launched


def save_draft(
    visitor: Visitor, form: DraftForm, *, as_of: datetime | None, now: datetime
) -> Saved:
    """Saves the parts that can be; the form has an error beside each field that cannot.

    With `as_of` a campaign that somebody else changed since then is left as it is. Raises
    AlreadyLaunchedError if it was launched meanwhile.
    """
    workspace_id, campaign, has_saved = visitor.workspace.pk, form.campaign, False
    for part in form.list_parts():
        try:
            with transaction.atomic():  # what a part locks stays until it is saved
                changed_at = drafts.change_campaign(
                    workspace_id,
                    campaign.id,
                    part.read_changes(),
                    actor=visitor.actor,
                    now=now,
                    as_of=as_of,
                    only_draft=True,
                )
        except CampaignChangedError:
            conflict = find_conflict(visitor, campaign)
            return Saved(campaign, replace(conflict, is_after_part=has_saved))
        except (NotFoundError, AlreadyLaunchedError):
            raise
        except (WrongFieldError, IncompleteConditionError, RefusedError) as error:
            _show_refusal(form, part, error)
        else:
            has_saved = has_saved or changed_at is not None
            as_of = as_of and (changed_at or as_of)
    stored = drafts.find_campaign(workspace_id, campaign.id)
    if as_of is not None:
        # What somebody else saved in this moment has not been seen.
        stored = replace(stored, updated_at=as_of)
    problems = list(_list_problems(form))
    return Saved(stored, None, problems, show_flaws(form, stored, now=now))


def _show_refusal(
    form: DraftForm, part: Part, error: WrongFieldError | IncompleteConditionError | RefusedError
) -> None:
    match error:
        case WrongFieldError():
            form.add_error(error.field, str(error))
        case IncompleteConditionError():
            form.condition_error = error
        case InvalidFilterError() if (line := _find_line(form, error)) is not None:
            form.condition_error = IncompleteConditionError(line, _describe(error))
        case RefusedError():
            form.add_error(_find_field(part, form, error), _describe(error))


def show_flaws(form: DraftForm, campaign: CampaignFacts, *, now: datetime) -> list[WrongField]:
    """Puts what became wrong with a stored campaign beside its fields.

    What was written in its place and could not be saved says so itself.
    """
    flaws = [
        (_name_flawed_field(part, form, campaign), _describe(refusal))
        for part, refusal in drafts.list_flaws(form.workspace_id, campaign, now=now).items()
        if not form.is_wrong(_FIRST_FIELDS[part])
    ]
    for name, text in flaws:
        form.errors[name] = form.error_class([text])
    return [_describe_field(form, name, [text]) for name, text in flaws]


def _name_flawed_field(part: str, form: DraftForm, campaign: CampaignFacts) -> str:
    if part == "timing":
        return "at" if campaign.timing.at else "local_at"
    if part == "audience":
        return "filter_json" if form.is_json else "match"
    return part


def find_conflict(visitor: Visitor, campaign: CampaignFacts) -> Conflict:
    change = drafts.find_last_change(visitor.workspace.pk, campaign.tag)
    actor, at = change or ("", campaign.updated_at)
    name = actor_names.name_actors(visitor.workspace.pk, [actor])[actor]
    return Conflict(name or _("Somebody"), at, is_own=actor == visitor.actor)


def _find_field(part: Part, form: DraftForm, error: RefusedError) -> str:
    if isinstance(error, InvalidFilterError) and not form.is_json:
        return "match"
    if isinstance(error, InvalidTimingError):
        return "at" if form.cleaned_data["when"] == "at" else "local_at"
    return _FIELDS.get(type(error), part.field)


def _find_line(form: DraftForm, error: InvalidFilterError) -> int | None:
    """The condition on the page that is wrong; None: what is wrong stands elsewhere."""
    if form.is_json or "use_segment" in form.data:
        return None
    line = conditions.find_line(error.path)
    shown = [condition for condition in form.conditions if condition.field]
    return line if line is not None and line < len(shown) else None


def _describe(error: RefusedError) -> str:
    if isinstance(error, InvalidNameError):
        return _("Use 1 to 100 printable characters, without a space at either end.")
    return translate(error.detail if isinstance(error, InvalidFilterError) else error)


def _list_problems(form: DraftForm) -> Iterator[WrongField]:
    if form.condition_error is not None:
        wrong = _describe_field(form, "match", [form.condition_error])
        yield replace(wrong, line=form.condition_error.number)
    for name, errors in form.errors.items():
        yield _describe_field(form, name, errors)


def _describe_field(form: DraftForm, name: str, errors: Iterable[object]) -> WrongField:
    labels = {"match": _("Conditions"), "kind": _("Content"), "when": _("When")}
    labels["weekdays"] = _("Days")
    label = str(labels.get(name) or form.fields[name].label or name)
    return WrongField(f"id_{name}", label, " ".join(map(str, errors)))
