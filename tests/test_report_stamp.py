"""A comparison whose times must not be compared has a stamp across its page."""

from __future__ import annotations

import reportkit as kit
from cuesta.report.page import render
from cuesta.report.records import group, to_run

WORDS = "Not comparable"


def page(*records: kit.Record) -> str:
    return render(
        group([to_run(record, f"{index}/run.json") for index, record in enumerate(records)])
    )


def test_a_comparison_with_too_few_repeats_is_stamped_and_a_single_run_is_not() -> None:
    compared = page(kit.native(1), kit.spark())
    assert compared.count(WORDS) == 1
    assert "<code>--repeat 3</code> or more makes times comparable" in compared
    alone = page(kit.native(1))
    assert "It was run once" in alone
    assert WORDS not in alone


def test_a_comparison_of_verified_runs_with_intervals_is_not_stamped() -> None:
    assert WORDS not in page(kit.native(), kit.spark())


def test_a_comparison_with_an_unverified_answer_is_stamped() -> None:
    assert WORDS in page(kit.native(), kit.spark(verified=None))
