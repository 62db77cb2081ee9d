# The tasks of the project. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PRODUCT := $(VENV)/.product
READY := $(VENV)/.ready
NODE := tests/node/node_modules/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test test-all node conformance fuzz fuzz-check check format lint types docs docs-check pictures accept accept-commands bench bench-peers clean

help:  ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What the product needs, and no more.
$(PRODUCT): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or later is needed: set PYTHON=..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# What its tests need: the vendors' SDKs and the tools of a developer.
$(READY): $(PRODUCT)
	@echo "setting up what the tests need ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

# The AI SDK, which judges what is written for it. `make test-all` fails without node: nothing that
# it names is skipped.
$(NODE): tests/node/package-lock.json
	@if command -v npm >/dev/null; then \
		echo "setting up tests/node ..."; \
		npm ci --prefix tests/node --silent --no-audit --no-fund && touch $@; \
	fi

node: $(NODE)  ## install the packages that some tests run under node

demo: $(PRODUCT)  ## one conversation in every dialect, and what each could not hold
	@$(BIN)/python examples/demo.py

# D=<dialect>: the laws of one dialect, as source and as target, and the tests that bear its name.
LAWS := tests/test_corpus.py tests/test_streams.py tests/test_every_stream.py tests/test_awkward_streams.py

test: $(READY)  ## the tests before a commit, two minutes without node; D=<dialect>: the laws of one dialect
	@$(BIN)/python -m pytest $(if $(D),--dialect $(D) -n 0 $(LAWS) $(wildcard tests/test_$(firstword $(subst -, ,$(D)))*.py),--quick -n auto)

test-all: $(READY) $(NODE)  ## all tests, those that need node too
	@CI=1 $(BIN)/python -m pytest -n auto

conformance: $(READY)  ## the laws over recorded reality (needs ../shared)
	@$(BIN)/python -m pytest conformance -n 0

MINUTES ?= 10
FUZZED := 4500

fuzz:  ## documents and streams changed at random: make fuzz [MINUTES=10]; led by coverage where atheris can be installed
	@test -x .venv-fuzz/bin/python || $(PYTHON) -m venv .venv-fuzz
	@.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check atheris || echo "without atheris: not led by coverage"
	@.venv-fuzz/bin/python -m fuzz --minutes $(MINUTES) --guided

fuzz-check: $(READY)  ## so many of them, the same in every run
	@$(BIN)/python -m fuzz --runs $(FUZZED) --lenient --no-store

check: test-all conformance fuzz-check format lint types docs-check  ## everything a reviewer will ask for

format: $(READY)  ## is it formatted?
	@$(BIN)/ruff format --check .

lint: $(READY)  ## is it clean?
	@$(BIN)/ruff check .

types: $(READY)  ## is it typed?
	@$(BIN)/mypy

docs: $(READY)  ## write the generated pages of docs/
	@$(BIN)/python docs/generate.py

docs-check: $(READY)  ## are the generated pages and pictures up to date?
	@$(BIN)/python docs/generate.py --check
	@$(BIN)/python docs/pictures.py --check

pictures: $(READY)  ## draw what the commands print, for the README
	@$(BIN)/python docs/pictures.py

accept: $(READY)  ## write the corpus files that a conversion now gives: make accept CASE=<name> [FROM=<dialect> TO=<dialects>]
	@$(BIN)/python tests/accept.py $(CASE) $(FROM) $(TO)

accept-commands: $(READY)  ## write what the commands now print into their transcripts: make accept-commands [PAGE=<name>]
	@$(BIN)/python tests/test_commands.py --accept $(PAGE)

bench: $(READY)  ## the speed, as ratios to parsing and printing
	@$(BIN)/python -m benchmarks.run
	@$(BIN)/python -m benchmarks.streams
	@$(BIN)/python -m benchmarks.carry
	@$(BIN)/python -m benchmarks.cli

bench-peers: $(READY)  ## the same, beside other converters, in an environment of its own
	@test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]" -r benchmarks/peers-requirements.txt
	@.venv-peers/bin/python -m benchmarks.peers

clean:  ## remove what can be made again
	@rm -rf $(VENV) .venv-peers .venv-fuzz tests/node/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
