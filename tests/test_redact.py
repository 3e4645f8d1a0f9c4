"""Secrets leave no output, ordinary log text is left alone, and no text costs its length squared."""

from __future__ import annotations

import time

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from k3logs.redact import gate_without_digits, mask, mask_all, mask_series

SECRETS = {
    "token hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345 end": "token hf_*** end",
    "OPENAI sk-proj-abcdefghijklmnop123": "OPENAI sk-***",
    "Authorization: Bearer abc.def-ghi123": "Authorization: Bearer ***",
    "{'Authorization': 'Basic dXNlcjpwYXNz'}": "{'Authorization': 'Basic ***'}",
    "http://admin:p@ss@loki:3100/x": "http://admin:***@loki:3100/x",
    "https://ghp_abcdefghijklmnopqrst@github.com/x": "https://ghp_***@github.com/x",
    "redis://:hunter2@cache:6379": "redis://:***@cache:6379",
    "id AKIAABCDEFGHIJKLMNOP": "id AKIA***",
    "AWS_SECRET_ACCESS_KEY=abc/def+1": "AWS_SECRET_ACCESS_KEY=***",
    "--api-key s3cret --port 80": "--api-key *** --port 80",
    "['--api-key', 's3cret', '--port']": "['--api-key', '***', '--port']",
    "{'api_key': ['a', 'b'], 'x': 1}": "{'api_key': [***], 'x': 1}",
    '{"api_key": "abc"}': '{"api_key": "***"}',
    r'{"log": "{\"api_key\": \"abc\"}"}': r'{"log": "{\"api_key\": \"***\"}"}',
    "password=hunter2;x": "password=***",
    "VLLM_API_KEY=abc HF_TOKEN=zzz": "VLLM_API_KEY=*** HF_TOKEN=***",
    "from_pretrained(x, token=abc, y=1)": "from_pretrained(x, token=***, y=1)",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc": "eyJ***",
    "glsa_abcdefghijklmnopqrst xoxb-123456789012": "glsa_*** xoxb-***",
    "X-Amz-Credential=AKIAABCDEFGHIJKLMNOP%2F&X-Amz-Signature=00ff&a=1": "X-Amz-Credential=***&X-Amz-Signature=***&a=1",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----": "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----",
}

ORDINARY = [
    "hf_config hf_transfer hf_quant_config hf_overrides={}",
    "tcp://10.0.0.1:29500 ipc:///tmp/0a1b-2c",
    "api_key=None, hf_token=None, 'api_key': []",
    "--max-num-batched-tokens 8192 --tokenizer foo --tokenizer-mode auto --ssl-keyfile None",
    "eos_token='</s>' bos_token_id=1",
    "Avg prompt throughput: 12.0 tokens/s, Prefix cache hit rate: 0.0%",
    "Unexpected token: foo",
    "Basic configuration of the bearer channel",
    "KeyError: 'foo'",
    "Maximum concurrency for 32,768 tokens per request: 4.1x",
]


@pytest.mark.parametrize(("text", "masked"), SECRETS.items())
def test_secret_is_masked_once_and_for_all(text: str, masked: str) -> None:
    assert mask(text) == masked
    assert mask(masked) == masked


@pytest.mark.parametrize("text", [*SECRETS, "r8_0123456789abcdefghij", "lsv2_pt_0123456789abcdef", "wandb_v1_0123456789abcdef", "\x1b[1mhf_\x1b[0mAbCdEf0123456789"])
def test_what_is_masked_is_found_without_its_digits(text: str) -> None:
    assert pl.Series([text.translate(dict.fromkeys(map(ord, "0123456789"), "\0"))]).str.contains(gate_without_digits()).all()


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert mask(text) == text


def test_column_reads_as_single_texts_do() -> None:
    texts = [*SECRETS, None, *ORDINARY, *SECRETS, ""]
    assert mask_series(pl.Series("message", texts)).to_list() == [None if text is None else mask(text) for text in texts]
    assert mask_series(pl.Series("message", [], dtype=pl.String)).len() == 0


def test_nested_values_are_masked_keys_included() -> None:
    assert mask_all({"HF_TOKEN=a": [("password=b", 1, None)]}) == {"HF_TOKEN=***": [["password=***", 1, None]]}


@given(st.text(alphabet="ab:/@'\"=[] ,-_.\\\n", max_size=60), st.sampled_from(["api_key=", "token: ", "http://u:p@h", "Bearer abcdefgh1"]))
def test_masking_again_changes_nothing(text: str, secret: str) -> None:
    once = mask(text + secret + text)
    assert mask(once) == once


@pytest.mark.parametrize("piece", ["a-", "eyJ-", "a.b@c://", "key=[", "api_key='", "http://a:", "--api-key ", "bearer ", "-"])
def test_long_texts_cost_their_length(piece: str) -> None:
    def cost(size: int) -> float:
        text = piece * (size // len(piece)) + " api_key=x"
        began = time.process_time()
        mask(text)
        return time.process_time() - began

    cost(1000)
    assert cost(400_000) < max(0.5, 40 * min(cost(20_000) for _ in range(3)))


@pytest.mark.parametrize("text", [
    "HF_TOKEN=\x1b[32mMySecret99value\x1b[0m", "hf_\x1b[1mMySecret99valueMySecret99value\x1b[0m", "--hf_token MySecret99value",
    '{"name":"HF_TOKEN","value":"MySecret99value"}', "- name: HF_TOKEN value: MySecret99value", "API_KEY=b'MySecret99value'", "K8S_PASS=MySecret99value",
    "(Worker_hf_AbCMySecret99valueMySecret99value pid=7)", "gsk_MySecret99valueMySecret99value", "hvs.MySecret99valueMySecret99value",
])  # fmt: skip
def test_names_and_shapes_that_wrap_a_secret_are_known(text: str) -> None:
    assert "MySecret99value" not in mask(text)
    assert mask_series(pl.Series([text])).to_list() == [mask(text)]


@pytest.mark.parametrize("text", ["\x1b[32mINFO\x1b[0m ready", "name: model value: k3", "r8_quantised weights", "NCCL_NET_AUTH"])
def test_plain_words_stay(text: str) -> None:
    assert mask(text) == text


def test_patterns_mean_the_same_in_every_python() -> None:
    """Possessive repetition is wrong in Python 3.11.0 to 3.11.3, which Debian 12 has."""
    from k3logs import redact

    texts = [pattern for _, pattern in redact._RULES] + [redact._GATE, redact._BODY, redact._ALONE, redact._PAIRED]
    assert not [text for text in texts if any(sign in text for sign in ("?+", "*+", "++", "}+", "(?>"))]
