"""What the documents say is run: examples, commands, names of files, targets, recipes."""

from __future__ import annotations

import ast
import doctest
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import readme

from k3logs.cli import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md")]
FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)


def blocks(path: Path, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(path.read_text()) if kind == language]


def commands() -> dict[str, click.Command]:
    """Every command and sub-command by its words."""
    context = click.Context(cli, info_name="k3logs")
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {sub}": inner for sub, inner in command.commands.items()}
    return found


ALL = commands()


def test_the_example_is_what_the_command_prints() -> None:
    assert len(readme.EXAMPLE.findall(readme.README.read_text())) == 1
    assert readme.renewed(readme.README.read_text()) == readme.README.read_text(), "write it anew with: python tests/readme.py"


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    if not (ROOT / "k3logs" / "read.py").exists():
        pytest.skip("no event table yet")
    (example,) = blocks(ROOT / "README.md", "pycon")
    test = doctest.DocTestParser().get_doctest(example, {}, "README.md", "README.md", 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0
    assert len(test.examples) >= 6


def shown_commands() -> list[str]:
    shown = []
    for path in DOCUMENTS:
        for kind in ("console", "bash"):
            for block in blocks(path, kind):
                shown += [line.removeprefix("$ ") for line in block.splitlines() if line.startswith(("$ ", "make ", "pip "))]
    for command in ALL.values():
        shown += re.findall(r"^ +((?:[^\n]*\| )?k3logs [^\n]+)$", command.help or "", re.MULTILINE)
    return shown


@pytest.mark.parametrize("line", sorted(set(shown_commands())))
def test_every_command_shown_is_one_that_is_understood(line: str) -> None:
    words = shlex.split(line, comments=True)
    if words[0] in ("make", "pip"):
        assert words[0] == "pip" or f"\n{words[1]}:" in (ROOT / "Makefile").read_text()
        return
    words = words[words.index("k3logs") + 1 :]
    words = words[: words.index("|")] if "|" in words else words
    command: click.Command = ALL[words[0]]
    while isinstance(command, click.Group) and len(words) > 1:
        words = words[1:]
        command = command.commands[words[0]]
    options = [option for parameter in command.params for option in parameter.opts]
    assert all(word in options for word in words[1:] if word.startswith("-") and word != "-"), line


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_help_with_an_example(name: str) -> None:
    text = ALL[name].help or ""
    assert f"k3logs {name}" in text
    assert "Example" in text
    for parameter in ALL[name].params:
        assert not isinstance(parameter, click.Option) or parameter.help, f"{name} {parameter.name}"


def test_every_command_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    assert [name for name in COMMANDS if f"k3logs {name}" not in text and f"`{name}`" not in text] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_a_document_names_is_there(path: Path) -> None:
    text = path.read_text()
    links = [target for target in re.findall(r"\]\(([^)#:]+)\)", text)]
    named = re.findall(r"`((?:k3logs|grammars|tests|docs|corpus|benchmarks)/[A-Za-z0-9_./-]*)`", text)
    made_up = {"docs/x"}
    missing = [name for name in {*named} - made_up if not re.search(r"(?:^|/)(?:x|NAME)\.", name) and not (ROOT / name).exists()]
    assert missing == []
    assert [target for target in links if not (path.parent / target).exists()] == []
    for target in re.findall(r"`make ([a-z-]+)`", text):
        assert f"\n{target}:" in (ROOT / "Makefile").read_text(), target


def test_no_document_lags_behind_the_version() -> None:
    from k3logs import __version__

    assert f"## {__version__} " in (ROOT / "CHANGELOG.md").read_text()


def test_the_grammar_recipe_works(tmp_path: Path) -> None:
    text = ROOT / "CONTRIBUTING.md"
    folder = tmp_path / "dialects"
    folder.mkdir()
    (folder / "example.lark").write_text(_dedented(blocks(text, "lark")[0]))
    (folder / "example.samples.toml").write_text(_dedented(blocks(text, "toml")[0]))
    args = [sys.executable, "-m", "k3logs", "grammars", "test", "<2026-08-05 12:00:02> ERROR: no room left", "--grammars", str(tmp_path)]
    done = subprocess.run(args, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "example.record" in done.stdout, done.stderr
    assert "no room left" in done.stdout


def _dedented(block: str) -> str:
    return "".join(line.removeprefix("   ") for line in block.splitlines(keepends=True))


def test_the_contract_is_the_one_agreed_on() -> None:
    agreed = ROOT.parent / "shared" / "contract" / "verdict.schema.json"
    if not agreed.is_file():
        pytest.skip("only the project's own copy is at hand")
    assert (ROOT / "docs" / "verdict.schema.json").read_bytes() == agreed.read_bytes()


def test_every_dependency_is_used_and_every_one_used_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {re.split(r"[<>=]", name)[0] for name in project["dependencies"]}
    nodes = [node for path in (ROOT / "k3logs").rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))]
    imported = {alias.name.partition(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module.partition(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    assert imported - set(sys.stdlib_module_names) - {"k3logs"} == named
