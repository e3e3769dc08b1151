# One command each. Nothing here needs more than make, a POSIX shell and Python >= 3.11; `peers`, `conformance` and
# `bench` also need Node with npm. Works with GNU make 3.81 (macOS) and newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The locked files are complete. With dependencies, pip looks for `coverage[toml]` at versions newer than the locked one and then refuses it.
PIP_FLAGS := -qq --disable-pip-version-check --require-hashes --no-deps
TESTS ?=
# Every core works, with half as many workers again (tests/conftest.py); each takes tests from another that has more left. The longest folder stands first in the alphabet.
SPREAD ?= -n auto --dist worksteal
# The half of the suite that starts few processes.
QUICK := $(addprefix --ignore=,$(addprefix tests/,agents behaviour benchmarks cli conformance peers) $(wildcard tests/*/commands))
CONFORMANCE ?= --client

.PHONY: help setup serve test test-quick peers agents conformance bench pictures check clean

help:
	@echo 'make setup        the environment in .venv (hash-checked, idempotent)'
	@echo 'make serve        setup, then a gateway with examples/mgp.toml'
	@echo 'make test         setup, then the whole test suite (TESTS="-k name" narrows it)'
	@echo 'make test-quick   setup, then the half of it that starts few processes'
	@echo 'make peers        the Node and Python peers that interoperability tests talk to'
	@echo 'make agents       agents of LangChain, OpenAI and PydanticAI call tools through the gateway'
	@echo 'make conformance  the official MCP conformance suites, server and client side'
	@echo 'make bench        the benchmarks, each as a ratio against a named peer'
	@echo 'make pictures     the pictures of the console in README and docs; needs chromium'
	@echo 'make check        scripts/check: format, lint, types, layers, tests, coverage'

setup: $(VENV)/.ready

$(VENV)/.ready: requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "make: no '$(PYTHON)' found; install Python 3.11 or newer, or run: make PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $$($(PYTHON) --version) is too old; Gatewright needs 3.11 or newer: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "make: '$(PYTHON)' lacks the venv module; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(PIP_FLAGS) -r requirements/dev.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m pip check -qq --disable-pip-version-check
	@touch $@
	@echo "ready: $$($(BIN)/python --version) in $(VENV)"

serve: setup
	$(BIN)/gatewright serve --config examples/mgp.toml

test: setup
	$(BIN)/python -m pytest $(SPREAD) $(TESTS)

test-quick: setup
	$(BIN)/python -m pytest $(SPREAD) $(QUICK) $(TESTS)

peers: setup
	@sh scripts/peers $(PYTHON)

agents: setup
	@sh scripts/agents $(PYTHON)

conformance: peers
	@$(BIN)/python conformance/run.py $(CONFORMANCE)

bench: peers
	$(BIN)/python -m benchmarks

pictures: setup
	$(BIN)/python scripts/pictures

check: setup
	scripts/check

clean:
	rm -rf .peers peers/node/node_modules .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
