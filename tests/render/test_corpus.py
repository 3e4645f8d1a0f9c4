"""The rendered half of corpus/ is what the renderers write now, and small."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.render.catalogue import SCENES, load

CORPUS = Path(__file__).parents[2] / "corpus"


@pytest.mark.parametrize("slug", SCENES)
def test_corpus_is_reproducible(slug: str, tmp_path: Path) -> None:
    load(slug).write(tmp_path)
    fresh = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    kept = {name: (CORPUS / slug / name).read_bytes() for name in fresh}
    assert kept == fresh


@pytest.mark.parametrize("slug", SCENES)
def test_incident_is_small_and_labelled(slug: str) -> None:
    folder = CORPUS / slug
    assert sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) < 150_000
    truth = tomllib.loads((folder / "incident.toml").read_text(encoding="utf-8"))["truth"]
    logs = "\n".join(p.read_text(encoding="utf-8") for p in (folder / "logs").rglob("*") if p.is_file())
    assert truth["outcome"]
    assert all(needle in logs for needle in truth.get("needles", []))
