"""The machine equals its naive twin in random lives, and mistakes that are planted into it are found."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from penstock.core.sharing.share_partition import SharePartition
from tests.examples import scaled
from tests.sharing import planted as mistakes
from tests.sharing.life import ShareLife

MISTAKES = (
    mistakes.LockNeverExpires,
    mistakes.CountsAnew,
    mistakes.ForgetsAcknowledged,
    mistakes.OffersForEver,
    mistakes.AnswersEarly,
    mistakes.GivesUpSilently,
    mistakes.BuriesNothing,
)

TestShareLife = ShareLife.TestCase
TestShareLife.settings = settings(max_examples=scaled(60), stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("planted", MISTAKES)
def test_a_planted_mistake_is_found(planted: type[SharePartition]) -> None:
    class Planted(ShareLife):
        make = planted

    with pytest.raises((AssertionError, ValueError, KeyError, BaseExceptionGroup)):
        run_state_machine_as_test(
            Planted,
            settings=settings(
                max_examples=400,
                stateful_step_count=40,
                deadline=None,
                database=None,
                derandomize=True,
                print_blob=False,
                phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            ),
        )
