"""What callers get of a trial: findings, and the mail as one reader would see it."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from postledger.content.checks import Finding
from postledger.content.trials import Trial


class FindingOut(BaseModel):
    """One thing there is to say of content: a fault keeps it from being sent, a warning not."""

    model_config = ConfigDict(from_attributes=True)

    code: str = Field(description="Never changes its meaning.", examples=["alt_missing"])
    place: str = Field(examples=["html, line 3"])
    remedy: str
    is_warning: bool


class PreviewOut(BaseModel):
    """What one reader would get; null while no mail can be made of it."""

    subject: str | None
    html: str | None
    text: str | None
    findings: list[FindingOut]


def told(found: Iterable[Finding]) -> list[FindingOut]:
    return [FindingOut.model_validate(finding) for finding in found]


def preview[Out: PreviewOut](kind: type[Out], trial: Trial, **more: object) -> Out:
    seen = trial.seen
    return kind.model_validate(
        {
            "subject": seen and seen.subject,
            "html": seen and seen.html,
            "text": seen and seen.text,
            "findings": told(trial.findings),
            **more,
        }
    )
