"""Every verdict is an object of ``docs/verdict.schema.json``, and no secret of a log leaves through it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import jsonschema
import pytest
import reading
import rewrap

ROOT = Path(__file__).parent.parent
INCIDENTS = sorted(p.parent.relative_to(ROOT / "corpus").as_posix() for p in [*ROOT.glob("corpus/*/logs"), *ROOT.glob("corpus/healthy/*/logs")])

TAG = "(Worker_TP1 pid=302) ERROR 08-05 09:30:00 [multiproc_executor.py:872]"


@cache
def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads((ROOT / "docs/verdict.schema.json").read_text()))


def check(logs: reading.Logs) -> dict[str, object]:
    found = reading.verdict(logs).to_json()
    text = json.dumps(found, allow_nan=False)
    schema().validate(json.loads(text))
    return found


@pytest.mark.parametrize("slug", INCIDENTS)
def test_verdicts_of_the_corpus_validate(slug: str) -> None:
    logs = rewrap.dump(rewrap.load(ROOT / "corpus" / slug / "logs"))
    found = check(logs)
    root = found["root_cause"]
    if isinstance(root, dict):  # the line that is shown is the line that stands there
        text = logs[root["source"]].decode("utf-8", "surrogateescape").split("\n")[root["line"] - 1]
        assert root["raw"].split("\x1b")[0][:40] == text.split("\x1b")[0][:40]


@pytest.mark.parametrize("logs", ["", "\n\n\n", "hello\n", b"\xff\xfe\x00\x01\n" * 50, {"a.log": "", "b.log": "\r\n"}, "Traceback (most recent call last):\n",
                                  "ValueError\n", f"{TAG} ValueError: \n", f"{TAG} Traceback (most recent call last):\n"])  # fmt: skip
def test_verdicts_on_next_to_nothing_validate(logs: reading.Logs) -> None:
    check(logs)


@pytest.mark.parametrize("logs", ["", "\n\n", "hello\n"])
def test_nothing_known_is_never_no_failure(logs: str) -> None:
    assert check(logs)["outcome"] == "inconclusive"


def test_a_long_message_is_cut_and_its_whole_text_kept_apart() -> None:
    found = check(f'{TAG} Traceback (most recent call last):\n{TAG}   File "/vllm/worker.py", line 3, in load_model\n{TAG} ValueError: {"x" * 3000} end\n')
    root = found["root_cause"]
    assert isinstance(root, dict)
    assert len(root["message"]) == 500
    assert root["exception"]["message"].endswith(" end")


SECRETS = ("hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345", "hunter2hunter2", "sk-proj-abcdefghijklmnop123")


def test_secrets_are_masked_wherever_they_stand() -> None:
    token, password, key = SECRETS
    logs = {
        f"node-{token}.log": f"""(APIServer pid=1) INFO 08-05 09:29:00 [api_utils.py:238] non-default args: {{'api_key': ['{key}'], 'hf_token': '{token}'}}
{TAG} WorkerProc failed to start. password={password}
{TAG} Traceback (most recent call last):
{TAG}   File "/vllm/worker.py", line 3, in load_model
{TAG}     get("https://user:{password}@models.example/x", token="{token}")
{TAG} RuntimeError: 401 for https://user:{password}@models.example/x with Authorization: Bearer {key}
"""
    }
    text = json.dumps(check(logs))
    assert '"outcome": "failure"' in text
    assert not [secret for secret in SECRETS if secret in text]
