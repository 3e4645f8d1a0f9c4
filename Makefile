# On a bare machine: Python 3.11 or newer with pip and venv, and make.  `make demo` and `make test` set up what they need.

PYTHON ?= python3
BIN := .venv/bin
DEMO := corpus/dmabuf-524/logs/b300-r7-n21.log

.PHONY: help demo test lint bench accept clean

help:  ## what there is to make
	@sed -n 's/^\([a-z]*\):.*## /  make \1: /p' $(MAKEFILE_LIST)

.venv/ready: pyproject.toml
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

.venv/ready-dev: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: .venv/ready  ## set up, then triage the log of a failed deployment, piped as `docker logs` would
	cat $(DEMO) | $(BIN)/k3logs triage --exit-zero
	@printf '\nThat was: cat %s | %s/k3logs triage\nYour own: docker logs --timestamps NAME 2>&1 | %s/k3logs triage   (or: source %s/activate, then k3logs --help)\n' $(DEMO) $(BIN) $(BIN) $(BIN)

lint: .venv/ready-dev  ## ruff, mypy --strict, import layers
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: lint  ## set up, lint, all tests
	$(BIN)/python -m pytest -n 2

bench: .venv/ready-dev  ## CPU and memory figures beside their limits (K3LOGS_BENCH_MB=100 for those that need a big log)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	mkdir -p .benchmarks
	$(BIN)/python -m pytest benchmarks -p no:xdist --benchmark-only --benchmark-columns=median,min,max,rounds --benchmark-json=.benchmarks/last.json

accept: .venv/ready  ## show how verdicts on the corpus changed, and accept them (also in the README)
	$(BIN)/k3logs corpus accept
	$(BIN)/python tests/readme.py

clean:  ## remove what the other targets made
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks build dist
	find k3logs tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
