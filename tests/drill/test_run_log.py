"""Runs add up when they are of one commit, and only then."""

import json

import pytest

from tools.drill import run_log

RUN = {
    "commit": "abc",
    "seed": 1,
    "scenarios": ["cuts"],
    "mails": 10,
    "lost": 0,
    "faults": {"cut": 2},
}


def test_the_figures_of_several_runs_of_one_commit_add_up() -> None:
    other = {**RUN, "seed": 2, "scenarios": ["answers"], "faults": {"cut": 1, "block": 1}}

    total = run_log.add_up([json.dumps(RUN) + "\n", json.dumps(other) + "\n"])

    assert total == {
        "commit": "abc",
        "runs": 2,
        "scenarios": ["answers", "cuts"],
        "mails": 20,
        "lost": 0,
        "faults": {"cut": 3, "block": 1},
    }


def test_runs_of_different_commits_are_not_added_up() -> None:
    with pytest.raises(ValueError, match="one commit"):
        run_log.add_up([json.dumps(RUN), json.dumps({**RUN, "commit": "def"})])
