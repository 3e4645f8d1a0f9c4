"""No secret of a log stands in anything that is printed or written, however it is quoted, escaped, wrapped or spread over lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reading import verdict

import k3logs
from k3logs.batch.incidents import incidents
from k3logs.batch.rows import of_error, of_verdict
from k3logs.redact import mask, mask_all, mask_lines
from k3logs.reports import REPORTS, renderer
from k3logs.reports.contract import to_contract

BODY = ["MIIEpAIBAAKCAQEA0Zx9bQ2vK7uN4mWcT8rYpLhJ3sFdG6aE1iOoBnVtRkXyUjHq", "c8rYpLhJ3sFdG6aE1iOoBnVtRkXyUjHqMIIEpAIBAAKCAQEA0Zx9bQ2vK7uN4mWc", "zLq5Tw=="]
PEM = ["-----BEGIN RSA PRIVATE KEY-----", *BODY, "-----END RSA PRIVATE KEY-----"]
PREFIXES = {"bare": "", "vllm": "(Worker_TP3 pid=412) ERROR 08-05 12:00:02 [loader.py:9] ", "docker": "2026-08-05T12:00:02.5Z ", "rank": "[rank3]: "}

VALUES = {
    "password=p1x&q2x;r3x(s4x)t5x{u6x}": ["q2x", "r3x", "s4x", "t5x", "u6x"],
    """password="p1x'q2x"r3x" user=bob""": ["p1x", "q2x", "r3x"],
    "password='it1x's q2x' user=bob": ["it1x", "q2x"],
    "password=p1x,q2x more": ["p1x", "q2x"],
    'password: "p1x q2x': ["p1x", "q2x"],
    r'{"msg":"password=\"p1x q2x\" done"}': ["p1x", "q2x"],
    json.dumps({"log": json.dumps({"api_key": 'p1x"q2x r3x'})}): ["p1x", "q2x", "r3x"],
    json.dumps({"a": json.dumps({"b": json.dumps({"api_key": 'p1x"q2x r3x'})})}): ["p1x", "q2x", "r3x"],
    r'{"log":"p\u0061ssword\u003dp1xq2x"}': ["p1x"],
    r'{"log":"\u0022api_key\u0022: \u0022p1x q2x\u0022"}': ["p1x", "q2x"],
    r'{"log":"HF_TOKEN=\u001b[32mp1xq2x\u001b[0m"}': ["p1x"],
    "&quot;api_key&quot;: &quot;p1x q2x&quot;": ["p1x", "q2x"],
    "postgres://user:p1x/q2x@host/db": ["p1x", "q2x"],
    "postgres://user:p1x\"q2x'r3x@host/db": ["p1x", "q2x", "r3x"],
    "postgres://user:p1x q2x@host/db": ["p1x", "q2x"],
    "http://user:12345@host/": ["12345"],
    r'{"log":"http://u:p1x\u0026q2x@h/"}': ["p1x", "q2x"],
    "<password>p1x & q2x</password>": ["p1x", "q2x"],
    '<ns:apiKey type="x">p1x</ns:apiKey>': ["p1x"],
    "<secret>\np1x\n</secret>": ["p1x"],
    '{"auths":{"nvcr.io":{"auth":"dXNlcjpwYXNz","email":"a@b"}}}': ["dXNl"],
    "//registry.npmjs.org/:_authToken=p1xq2x _auth=dXNlcjpwYXNz": ["p1x", "dXNl"],
    "cookies={'sid': 'p1x'} Cookie: sid=q2x; b=r3x": ["p1x", "q2x", "r3x"],
    "AccountName=a;AccountKey=p1x==;Endpoint=x": ["p1x"],
    "headers={'authorization': b'Basic cDF4OnEyeA=='}": ["cDF4"],
    "secrets: {user: p1x, b: q2x}": ["p1x", "q2x"],
    "password: |\n  p1x": ["p1x"],
    "Authorization: Bearer p1xq2xr3x HF hf_p1xq2xR3xS4xT5xU6xV7x key sk-p1xq2xr3xs4x id AKIAP1XQ2XR3XS4XT5XU": ["p1x", "P1X"],
}  # fmt: skip

BENIGN = [
    "max_tokens=512, num_tokens: 512, token ids: [1, 2, 3], token = 12", '{"token": 128000, "logprob": -0.1}', "NCCL key 0x1234 commId 0x6b5a8f14f4b5e8b4 cache_key=abc12",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "nvcr.io/x@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "http://10.0.0.1:8000/health seen by a@b.com", "tcp://10.0.0.1:29500 joined by bob@host", "git@github.com:foo/bar.git ipc:///tmp/0a1b-2c", "Usage: <token> something <x>",
    "non-default args: {'model': 'moonshotai/Kimi-K3', 'api_key': None, 'tokenizer': 'x', 'max_num_batched_tokens': 8192}", "'auth': 'required', auth=None",
    "/usr/local/lib/python3/dist/packages/torch/distributed/elastic/multiprocessing", "unk_token: '<unk>' eos_token_id=2",
]  # fmt: skip


@pytest.mark.parametrize("text", VALUES)
def test_a_value_is_masked_whole(text: str) -> None:
    masked = mask(text)
    assert [part for part in VALUES[text] if part in masked] == []
    assert "***" in masked
    assert mask(masked) == masked


@pytest.mark.parametrize("text", BENIGN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert mask(text) == text
    assert mask_lines([text, text]) == [text, text]


def test_what_stands_beside_a_value_stays() -> None:
    assert mask("https://h/p?api_key=abc&x=1 f(x, token=abc, y=1) {'api_key': 'a', 'x': 1}") == "https://h/p?api_key=***&x=1 f(x, token=***, y=1) {'api_key': '***', 'x': 1}"
    assert mask_all({"HF_TOKEN": [{"value": "abc", "node": "n1"}], "args": {"api_key": ["abc"], "max_tokens": 5}}) == {
        "HF_TOKEN": [{"value": "***", "node": "n1"}], "args": {"api_key": ["***"], "max_tokens": 5}}  # fmt: skip


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("lines", [
    PEM, PEM[1:], PEM[:-1], ["  - name: HF_TOKEN", "    value: zLq5Tw"], ['  "name": "HF_TOKEN",', '  "value": "zLq5Tw"'], ['"api_key":', '  "zLq5Tw c8rYpL",'], ["password: |", "  zLq5Tw"],
    ["--api-key", "zLq5Tw"], ["<password>", "zLq5Tw", "</password>"], ["password:", "zLq5Tw"],
])  # fmt: skip
def test_a_secret_over_several_lines_is_masked_on_each(lines: list[str], prefix: str) -> None:
    masked = mask_lines([prefix + line for line in [*lines, "ready"]])
    assert len(masked) == len(lines) + 1
    assert masked[-1] == f"{prefix}ready"
    whole = "\n".join(masked)
    assert not any(part in whole for part in ("MIIEpAIBAA", "c8rYpL"))
    assert lines == PEM[:-1] or "zLq5Tw" not in whole  # of a short last line, nothing tells where the end is cut off
    assert mask_lines(masked) == masked


def _log(prefix: str) -> str:
    """A failure with secrets around it."""
    crash = "(Worker_TP3 pid=412) ERROR 08-05 12:00:03 [multiproc_executor.py:654] "
    lines = [prefix + line for line in [*PEM, "  - name: HF_TOKEN", "    value: zLq5Tw"]]
    lines += [crash + text for text in ["WorkerProc failed to start.", "Traceback (most recent call last):", '  File "a.py", line 1, in load',
                                        'RuntimeError: no access with password="zLq5Tw c8rYpL" to postgres://u:c8rYpL/zLq5Tw@db/x']]  # fmt: skip
    return "\n".join([*lines, *(prefix + line for line in PEM)]) + "\n"


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_no_output_holds_a_secret(prefix: str, tmp_path: Path) -> None:
    found = verdict(_log(prefix))
    assert found.root_cause is not None
    texts = [renderer(name).render(found) for name in REPORTS]
    folder = tmp_path / "in" / "a-token=zLq5Tw"
    folder.mkdir(parents=True)
    (folder / "password=zLq5Tw.log").write_text(_log(prefix))
    (tmp_path / "in" / "a-token=c8rYpL").mkdir()
    rows = [of_verdict(incident, k3logs.triage([str(incident.path)]), 0.1) for incident in incidents([tmp_path / "in"], tmp_path / "out")]
    rows.append(of_error(incidents([tmp_path / "in"], tmp_path / "out")[0], "no password=zLq5Tw", 0.1))
    assert len({row["incident"] for row in rows}) == 2
    table = k3logs.read([str(folder)])
    texts += [str(rows), table.write_ndjson(), table.write_csv(), json.dumps(to_contract(found))]
    for text in texts:
        assert [part for part in ("zLq5Tw", "c8rYpL", "MIIEpAIBAA") if part in text] == []
    assert sum("***" in text for text in table["message"].to_list()) >= 6


def test_lines_of_other_processes_do_not_part_a_key(tmp_path: Path) -> None:
    other = "(Worker_TP1 pid=7) INFO 08-05 12:00:02 [a.py:1] ready"
    mine = [PREFIXES["vllm"] + line for line in PEM]
    (tmp_path / "x.log").write_text("\n".join(line for pair in zip(mine, [other] * len(mine), strict=True) for line in pair) + "\n")
    messages = k3logs.read([str(tmp_path / "x.log")])["message"].to_list()
    assert messages[1::2] == ["ready"] * len(PEM)
    assert messages[0::2] == [PEM[0], "***", "***", "***", PEM[-1]]


@pytest.mark.parametrize(("text", "secret"), [
    ("curl -u admin:Zq8hunter https://x/y", "Zq8hunter"), ("sshpass -p Zq8hunter ssh node", "Zq8hunter"), ("https://hooks.slack.com/services/T0AB12/B0CD34/Zq8hunterZq8", "Zq8hunterZq8"),
    ("GET /v1?token%3DZq8hunterZq8", "Zq8hunterZq8"), ("exported RAY_REDIS_PASSWORD Zq8hunter", "Zq8hunter"),
])  # fmt: skip
def test_secrets_of_a_fixed_shape(text: str, secret: str) -> None:
    assert secret not in mask(text)


@pytest.mark.parametrize("text", ["curl http://10.0.0.1:8000/health", "see slack.com/help", "VLLM_PASSWORD is not set", "sshpass: command not found"])
def test_harmless_words_stay(text: str) -> None:
    assert mask(text) == text
