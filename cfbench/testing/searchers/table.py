"""All checks of searchers, in the order in which a report shows them."""

from __future__ import annotations

from collections.abc import Callable

from cfbench.entries import Handles, SearcherEntry
from cfbench.testing.check import Check, always
from cfbench.testing.searchers import answers, declarations, endings, manners, spaces
from cfbench.testing.searchers.bench import Bench


def _unless_declared(handled: Handles) -> Callable[[SearcherEntry], str]:
    """Apply to entries that declare that they handle something."""

    def reason(entry: SearcherEntry) -> str:
        return "" if handled in entry.handles else f"its entry does not declare Handles.{handled.name}"

    return reason


SEARCHER_CHECKS: tuple[Check[SearcherEntry, Bench], ...] = (
    Check(endings.entry_pickles, always),
    Check(endings.returns_in_time, always),
    Check(endings.process_survives, always),
    Check(endings.raises_nothing, always),
    Check(declarations.asks_only_for_what_it_declares, always),
    Check(declarations.skipped_where_not_declared, always),
    Check(answers.answer_has_the_form, always),
    Check(answers.sets_as_declared, always),
    Check(answers.answer_is_finite, always),
    Check(answers.answer_inside_intervals, always),
    Check(answers.categories_are_codes, _unless_declared(Handles.CATEGORICAL)),
    Check(answers.answer_of_the_target_class, always),
    Check(answers.judged_alike, always),
    Check(endings.finds_something, always),
    Check(endings.gives_up, always),
    Check(endings.survives_small_budgets, always),
    Check(answers.constraints_obeyed, _unless_declared(Handles.CONSTRAINTS)),
    Check(declarations.objective_used, _unless_declared(Handles.OBJECTIVES)),
    Check(declarations.luck_not_returned, _unless_declared(Handles.OBJECTIVES)),
    Check(manners.same_rng_same_answer, always),
    Check(endings.runs_in_a_spawned_process, always),
    Check(manners.global_generators_untouched, always),
    Check(manners.problem_not_mutated, always),
    Check(manners.meter_not_bypassed, always),
    Check(manners.prints_nothing, always),
    Check(manners.signals_left_alone, always),
    Check(manners.interrupts_pass, always),
    Check(spaces.all_numerical_features, always),
    Check(spaces.all_categorical_features, _unless_declared(Handles.CATEGORICAL)),
    Check(spaces.one_feature, always),
    Check(spaces.three_classes, always),
    Check(answers.integer_features, always),
    Check(spaces.tiny_ranges, always),
    Check(spaces.huge_ranges, always),
    Check(spaces.constant_features, always),
)
"""Each guards one thing, so that a searcher with one fault fails one check."""
