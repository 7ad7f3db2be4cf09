"""What a family is given: one mention of an identifier, and the caller's options."""

from dataclasses import dataclass, field, replace

from deident.errors import UsageError
from deident.labels import Label

AGES = ("cap", "words", "keep")
FARTHEST = 36525  # days: a century


@dataclass(frozen=True, slots=True)
class Mention:
    """An identifier, and the little that stands before it ("Dr. ")."""

    text: str = field(repr=False)
    label: Label
    before: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller may choose.

    days: the date shift, in place of the patient's keyed one (a multiple of seven keeps weekdays).
    ages: over 89 "cap" → 90, "words" → 90 or older, "keep". jitter: every age moves by up to so many years, never 0.
    same_state: cities stay in their state. same_origin: names keep the origin of names, where the lexicon knows it.
    """

    days: int | None = None
    ages: str = "cap"
    jitter: int = 0
    same_state: bool = False
    same_origin: bool = True

    def __post_init__(self) -> None:
        if self.ages not in AGES:
            raise UsageError(f"ages must be one of {', '.join(AGES)}")
        if not 0 <= self.jitter <= 5:
            raise UsageError("the jitter of ages must be 0 to 5 years")
        if self.days is not None and (self.days == 0 or abs(self.days) > FARTHEST):
            raise UsageError(f"a date shift must be 1 to {FARTHEST} days, forward or back")

    def with_days(self, days: int) -> "Options":
        return self if self.days == days else replace(self, days=days)
