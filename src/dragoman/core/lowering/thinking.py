"""How a model is asked to reason, on its way to a target: mode, effort, budget and display.

These are one family. What the target lacks is written as another of them where that is possible: a
budget as an effort, an effort as a budget, a mode as either. What the target has is declared
(``ThinkingForm``); what its model takes of that is a row in ``models``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Request, Thinking
from .. import fitting
from ..capabilities import ThinkingForm
from ..models import UNKNOWN, Facts
from ..turns import BUDGETS, effort_of

if TYPE_CHECKING:
    from ...dialect import Dialect


def lower(tree: Request, to: Dialect, facts: Facts, log: Ledger) -> Request:
    """A request that asks for reasoning as the target and its model take it."""
    params, form = tree.params, to.can.thinking
    asked = params.thinking
    if asked is None or form is None:
        return tree
    limits = [limit for limit in (params.max_tokens, facts.max_tokens) if limit is not None]
    lowering = Settings(asked, form, to.name, facts, log)
    lowering.model = tree.model or "this model"
    lowering.limit = min(limits, default=None)
    lowered = lowering.fit()
    return tree if lowered is asked else replace(tree, params=replace(params, thinking=lowered))


def repaired(tree: Request, to: Dialect, facts: Facts, log: Ledger) -> Request:
    """A request of the same dialect as its model takes it."""
    if facts is UNKNOWN:
        return tree
    asked, lowered = tree.params.thinking, lower(tree, to, facts, log)
    new = lowered.params.thinking
    if new is not None and new is not asked and new.extras is not None:
        new = replace(new, extras=replace(new.extras, spelling={}))
        lowered = replace(lowered, params=replace(lowered.params, thinking=new))
    return fitting.fit(lowered, facts, log)


class Settings:
    """The settings of one request, while they are made to fit."""

    def __init__(
        self, asked: Thinking, form: ThinkingForm, target: str, facts: Facts, log: Ledger
    ) -> None:
        self.asked, self.form, self.target, self.facts, self.log = asked, form, target, facts, log
        self.mode, self.effort, self.budget = asked.mode, asked.effort, asked.budget
        self.display = asked.display
        self.model = "this model"
        self.limit: int | None = None
        ways = facts.thinking
        self.ways = form.modes if ways is None else form.modes.intersection(ways)
        self.levels = form.efforts if facts.efforts is None else facts.efforts
        self.budgets = form.budgets and (ways is None or "on" in ways)

    def fit(self) -> Thinking:
        asked, form, facts = self.asked, self.form, self.facts
        absent = not (form.modes or form.efforts or form.budgets)
        never = facts.efforts == () and (facts.thinking == () or facts.thinks == "never")
        if absent or never:
            who = self.model if never else self.target
            self.drop_all(f"{who} has no settings for reasoning")
        elif self.mode == "off":
            self.turn_off()
        elif self.effort == "none" and self.mode is None:
            self.approximated("thinking.effort", "effort 'none' is written as reasoning turned off")
            self.mode, self.effort = "off", None
            self.turn_off()
        else:
            self.turn_on()
        if self.display is not None:
            self.show()
        new = (self.mode, self.effort, self.budget, self.display)
        if new == (asked.mode, asked.effort, asked.budget, asked.display):
            return asked
        return replace(
            asked, mode=self.mode, effort=self.effort, budget=self.budget, display=self.display
        )

    def dropped(self, code: str, why: str) -> None:
        self.log.dropped(code, self.asked.at, why)

    def approximated(self, code: str, why: str) -> None:
        self.log.approximated(code, self.asked.at, why)

    def invented(self, code: str, why: str) -> None:
        self.log.invented(code, self.asked.at, why)

    def drop_all(self, why: str) -> None:
        codes = {
            "thinking": self.mode,
            "thinking.effort": self.effort,
            "thinking.budget": self.budget,
            "thinking.display": self.display,
        }
        for code, value in codes.items():
            if value is not None:
                self.dropped(code, why)
        self.mode = self.effort = self.budget = self.display = None

    # -- off --------------------------------------------------------------------------------

    def turn_off(self) -> None:
        """No reasoning, or as little as the model can; some cannot be kept from it."""
        facts = self.facts
        if self.budget is not None:
            self.dropped("thinking.budget", "reasoning that is off has no budget")
            self.budget = None
        if self.effort is not None and "effort" not in self.form.idle:
            self.dropped("thinking.effort", f"{self.target} has no effort with reasoning off")
            self.effort = None
        elif self.effort is not None:
            self.fit_effort()
        if facts.thinking is None and facts.efforts is not None:
            possible = "none" in facts.efforts
        else:
            possible = "off" in self.ways
        if possible:
            self.fit_idle_effort()
            return
        why = f"reasoning cannot be turned off with {self.model}"
        if "between-tools" in self.ways:
            self.approximated("thinking", f"{why}; it is between tools alone")
            self.mode = "between-tools"
            return
        self.mode = None
        if self.effort is None and facts.efforts:
            self.approximated("thinking", why)
            self.effort = next(level for level in facts.efforts if level != "none")
            self.invented("thinking.effort", f"{self.effort!r}, the lowest effort of {self.model}")
        elif self.effort is None and facts.budgets is not None:
            self.approximated("thinking", why)
            self.mode, self.budget = "on", facts.budgets[0]
            self.invented("thinking.budget", f"{self.budget}, the least budget of {self.model}")
        else:
            self.dropped("thinking", why)

    def fit_idle_effort(self) -> None:
        """An effort beside reasoning that is off, of which some models take fewer."""
        levels, effort = self.facts.efforts_off, self.effort
        if effort is None or levels is None or effort in levels:
            return
        self.effort = fitting.nearest(effort, levels)
        why = f"effort {effort!r} is not supported by {self.model} with reasoning off"
        self.approximated("thinking.effort", f"{why}; {self.effort!r} is written")

    # -- on ---------------------------------------------------------------------------------

    def turn_on(self) -> None:
        if self.budget is not None:
            self.fit_budget(self.budget)
        if self.effort is not None:
            self.fit_effort()
        idle = self.effort is not None and "effort" in self.form.idle and self.facts.thinks == "off"
        if self.budget is None and (self.mode is not None or idle):
            self.fit_mode()

    def fit_budget(self, budget: int) -> None:
        """A budget within its limits, or the effort that it is nearest to."""
        asked = budget
        if self.mode in ("adaptive", "between-tools") and self.mode in self.ways:
            self.budget = None
            self.dropped("thinking.budget", f"{self.target} has no budget for {self.mode} thinking")
        elif not self.budgets:
            self.budget = None
            why = f"{self.model} takes no reasoning budget"
            if not self.form.budgets:
                why = f"{self.target} has no field for a reasoning budget"
            if self.effort is None and self.levels:
                self.effort = fitting.nearest(effort_of(budget), self.levels)
                self.approximated("thinking.budget", f"{why}; effort {self.effort!r} is written")
            else:
                self.dropped("thinking.budget", why)
        elif self.effort is not None and self.levels and not self.form.both:
            self.budget = None
            why = f"{self.target} takes an effort or a budget, not both"
            self.dropped("thinking.budget", why)
        elif self.is_full():
            self.mode = self.budget = None
            self.dropped("thinking", self.full())
        else:
            self.budget = self.within(budget)
            if self.budget != asked:
                why = f"a reasoning budget of {asked} tokens is written as {self.budget}"
                self.approximated("thinking.budget", f"{why} for {self.target}")
            if self.mode != "on":
                self.approximated("thinking", f"a budget turns reasoning on in {self.target}")
                self.mode = "on"

    def is_full(self) -> bool:
        """Whether the output limit leaves no room for the least budget."""
        return self.form.least > 0 and self.limit is not None and self.limit <= self.form.least

    def full(self) -> str:
        return f"max_tokens {self.limit} leaves no room for the least budget of {self.target}"

    def within(self, budget: int) -> int:
        if self.facts.budgets is not None:
            least, most = self.facts.budgets
            return min(max(budget, least), most)
        if self.form.least:
            budget = max(budget, self.form.least)
            return budget if self.limit is None else min(budget, self.limit - 1)
        return budget

    def made(self) -> int:
        """A budget for an effort; where budgets count as output, half of that at most."""
        budget = BUDGETS.get(self.effort or "medium", BUDGETS["high"])
        if self.form.least and self.limit is not None:
            budget = min(budget, max(self.form.least, self.limit // 2))
        return self.within(budget)

    def fit_effort(self) -> None:
        """An effort of a level that there is, or what stands for it."""
        effort = self.effort or ""
        if self.levels:
            self.effort = fitting.nearest(effort, self.levels)
            if self.effort != effort:
                who = self.target if self.facts.efforts is None else self.model
                why = f"effort {effort!r} is not supported by {who}; {self.effort!r} is written"
                self.approximated("thinking.effort", why)
            return
        if not self.form.efforts:
            why = f"{self.target} has no field for an effort"
        else:
            why = f"effort is not supported by {self.model}"
        if self.mode == "off" or self.budget is not None:
            self.dropped("thinking.effort", why)
        elif self.form.efforts and self.budgets and not self.is_full():
            self.mode, self.budget = "on", self.made()
            self.approximated("thinking.effort", f"{why}; a budget of {self.budget} is written")
        elif self.mode is None and "on" in self.ways and not self.form.budgeted:
            self.mode = "on"
            self.approximated("thinking.effort", f"{why}; reasoning is turned on")
        else:
            self.dropped("thinking.effort", why)
        self.effort = None

    def fit_mode(self) -> None:
        """A way to reason that needs no budget, or one with a budget."""
        mode, form, ways = self.mode, self.form, self.ways
        known = self.asked.budget is not None  # the note on the budget has told of the mode
        if self.effort is not None and not form.beside:
            if not known:
                self.dropped("thinking", f"an effort turns reasoning on in {self.target}")
            self.mode = None
        elif mode in ways and not (mode == "on" and form.budgeted):
            return
        elif "on" in ways and not form.budgeted:
            self.mode = "on"
            self.approximated("thinking", f"{mode} reasoning is written as 'on' for {self.target}")
        elif "adaptive" in ways:
            self.mode = "adaptive"
            if not known:
                why = f"reasoning without a budget is written as 'adaptive' for {self.target}"
                self.approximated("thinking", why)
        elif self.budgets and form.budgeted and not self.is_full():
            if mode != "on":
                self.approximated("thinking", f"{self.model} reasons within a budget only")
            self.mode, self.budget = "on", self.made()
            why = f"{self.model} needs a reasoning budget; {self.budget} is written"
            self.invented("thinking.budget", why)
        elif self.budgets and form.budgeted:
            self.mode = None
            if mode is not None:
                self.dropped("thinking", self.full())
        else:
            self.mode = None
            if self.effort is None and self.levels and self.facts.thinks == "off":
                self.approximated("thinking", "reasoning that is on is written as an effort")
                self.effort = "medium"
                why = f"'medium': {self.model} does not reason without an effort"
                self.invented("thinking.effort", why)
            elif not known:
                self.dropped("thinking", f"{self.target} has no switch for reasoning")

    # -- what is shown ----------------------------------------------------------------------

    def show(self) -> None:
        """What is returned of the reasoning."""
        form, display = self.form, self.display
        if not form.displays:
            why = f"{self.target} has no field for the display of reasoning"
        elif self.mode not in ("on", "adaptive") and "display" not in form.idle:
            why = f"{self.target} takes a display of reasoning only where that is on"
        elif display in form.displays:
            return
        elif form.shown is not None and display != "omitted":
            why = f"{self.target} has no display {display!r}; {form.shown!r} is written"
            self.approximated("thinking.display", why)
            self.display = form.shown
            return
        else:
            why = f"{self.target} has no display {display!r}"
        self.dropped("thinking.display", why)
        self.display = None
