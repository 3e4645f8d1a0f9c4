"""From decision to answer: confidence that is earned, categories, and a sentence for each kind of trouble."""

from __future__ import annotations

import pytest
import reading
from hypothesis import given
from hypothesis import strategies as st

from k3logs.model import CATEGORIES, Verdict
from k3logs.verdict import category
from k3logs.verdict.confidence import CAP_OF_FEW, FEW, confidence, lower_bound, table

RULES, PENALTIES = table()
TAG = "(Worker_TP1 pid=302) ERROR 08-05 09:30:50 [multiproc_executor.py:872]"


@given(st.integers(1, 500), st.data())
def test_the_lower_bound_is_below_the_rate_and_grows_with_hits_and_with_cases(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    value = lower_bound(k, n)
    assert -1e-9 <= value <= k / n + 1e-9
    if k < n:
        assert value < lower_bound(k + 1, n)
    assert value <= lower_bound(2 * k, 2 * n) + 1e-9


def test_the_lower_bound_is_wilsons() -> None:
    assert lower_bound(0, 0) == 0.0
    assert lower_bound(10, 10) == pytest.approx(0.859, abs=0.001)  # 1 / (1 + z^2/n), z = 1.2816
    assert lower_bound(5, 10) == pytest.approx(0.313, abs=0.001)


@pytest.mark.parametrize("rule", [*RULES, "never heard of"])
def test_confidence_is_a_share_capped_where_few_cases_were_counted(rule: str) -> None:
    n, k = RULES.get(rule, (0, 0))
    assert 0.05 <= confidence(rule, []) <= 0.99
    assert confidence(rule, []) <= max(lower_bound(k, n), 0.05) + 0.005
    if n < FEW:
        assert confidence(rule, []) <= CAP_OF_FEW


@given(st.sampled_from(sorted(RULES)), st.lists(st.sampled_from([*PENALTIES, "a new reason"]), max_size=8), st.sampled_from([*PENALTIES, "a new reason"]))
def test_a_penalty_never_helps_and_counts_once(rule: str, some: list[str], more: str) -> None:
    assert confidence(rule, [*some, more]) <= confidence(rule, some)
    assert confidence(rule, [*some, *some]) == confidence(rule, some)
    assert confidence(rule, [*some, *PENALTIES]) >= 0.05


def test_every_category_of_the_table_is_the_contracts() -> None:
    types, phases, default = category.table()
    assert {*types.values(), *phases.values(), default} <= set(CATEGORIES)


def crashed(kind: str, frames: str = "load_model") -> Verdict:
    lines = ["WorkerProc failed to start.", "Traceback (most recent call last):", f'  File "/vllm/v1/worker/gpu_worker.py", line 9, in {frames}', "    run()", f"{kind}: zq is not as it should be"]
    return reading.verdict("".join(f"{TAG} {line}\n" for line in lines))


@pytest.mark.parametrize(("kind", "function", "wanted"), [
    ("ModuleNotFoundError", "load_model", "dependency"), ("FileNotFoundError", "load_model", "storage"), ("PermissionError", "load_model", "storage"),
    ("ValueError", "load_model", "model_weights"), ("ValueError", "create_engine_config", "configuration"), ("ZeroDivisionError", "execute_model", "application"),
])  # fmt: skip
def test_an_error_that_no_signature_knows_gets_its_category_from_type_and_phase(kind: str, function: str, wanted: str) -> None:
    root = crashed(kind, function).root_cause
    assert root is not None
    assert (root.signature, root.category, root.rank, root.role) == (None, wanted, 1, "initiating")


def test_the_sentence_names_rank_phase_and_message() -> None:
    sentence = crashed("ZeroDivisionError").sentence
    assert sentence.startswith("Rank 1")
    assert "while loading weights" in sentence
    assert sentence.endswith("zq is not as it should be.")


def test_nothing_found_says_so_in_a_sentence_and_with_no_root() -> None:
    answer = reading.verdict("(APIServer pid=1) INFO 08-05 09:30:40 [launcher.py:37] Available routes are:\n")
    assert (answer.outcome, answer.sentence, answer.root_cause) == ("no_failure", "No failure found.", None)
    assert answer.exit_status == 0


def test_a_failure_has_a_reason_its_exit_status_and_the_frames() -> None:
    answer = crashed("ZeroDivisionError")
    root = answer.root_cause
    assert root is not None and root.exception is not None
    assert answer.exit_status == 1
    assert root.why
    assert root.exception.frames == ["/vllm/v1/worker/gpu_worker.py:9 load_model > run"]
    assert [line.marked for line in root.context].count(True) == 1


def test_a_fingerprint_is_the_failures_not_the_runs() -> None:
    line = '{tag} Traceback (most recent call last):\n{tag}   File "/v/w.py", line {n}, in load_model\n{tag} RuntimeError: shard {n} of model-{n}.bin at /data/{n} has {n} bytes\n'
    found = [reading.verdict({f"box-{n}.log": line.format(tag=TAG.replace("TP1", f"TP{n}").replace("302", str(300 + n)), n=n)}).root_cause for n in (2, 5)]
    assert found[0] is not None and found[1] is not None
    assert found[0].fingerprint == found[1].fingerprint
    other = crashed("ZeroDivisionError").root_cause
    assert other is not None and other.fingerprint != found[0].fingerprint
