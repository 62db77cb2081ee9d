# The tasks of the project. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PRODUCT := $(VENV)/.product
READY := $(VENV)/.ready
LOCK := requirements-dev.lock
JUDGES := requirements-judges.lock
NODE := tests/node/node_modules/.ready
WEB := web/node_modules/.ready

# Without compiled files each worker, and each command that a test starts, would compile all anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-most redis chromium web web-check agents agents-resume lowest lock sbom sbom-check audit node conformance fuzz check format lint types docs docs-check site pictures workbench-picture accept accept-commands kept differences bench bench-peers clean mutants fuzz-check

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
# The lock file names each version and its hashes; the product itself is installed from here.
$(READY): $(PRODUCT) $(LOCK) $(JUDGES)
	@echo "setting up what the tests need ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(JUDGES)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
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
LAWS := tests/test_corpus.py tests/streams/test_streams.py tests/streams/test_every_stream.py tests/streams/test_awkward_streams.py

test: $(READY)  ## the tests before a commit, two minutes without node; D=<dialect>: the laws of one dialect
	@$(BIN)/python -m pytest $(if $(D),--dialect $(D) -n 0 $(LAWS) $(wildcard tests/dialects/test_$(firstword $(subst -, ,$(D)))*.py),--quick -n auto --dist worksteal)

redis:  ## install the Redis server that some tests start
	@command -v redis-server >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends redis-server >/dev/null; }

chromium:  ## install the browser in which the workbench is tried
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

$(WEB): web/package-lock.json
	@npm ci --prefix web --silent --no-audit --no-fund && touch $@

web: $(WEB)  ## build the workbench's page into src/dragoman/workbench/static
	@cd web && npx --no tsc && node build.mjs ../src/dragoman/workbench/static

web-check: $(WEB)  ## do the sources of the page give the files that are committed?
	@cd web && npx --no tsc && rm -rf build && node build.mjs build >/dev/null
	@diff -r web/build src/dragoman/workbench/static && rm -rf web/build || { echo "the page is not what its sources give: make web"; exit 1; }

test-all: $(READY) $(NODE) $(WEB) redis chromium  ## all tests, those that need node, Redis and a browser too
	@CI=1 $(BIN)/python -m pytest -n auto

# Those that need no SDK of a vendor: these need newer packages than the product does.
LOWEST := $(addprefix tests/,test_convert.py cli/test_cli.py cli/test_commands.py capsule/test_capsule.py \
	providers/test_hostile_http.py $(addprefix streams/test_,streams.py cut_streams.py framing.py)) \
	tests/providers/test_provider_upstreams.py::test_requests_to_amazons_hosts_are_signed_and_to_others_not \
	tests/providers/test_provider_upstreams.py::test_vertex_by_its_switch_and_by_its_hosts

lowest:  ## the tests with the lowest versions that pyproject.toml takes, in an environment of its own
	@test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@.venv-lowest/bin/python tools/lowest.py > .venv-lowest/lowest.txt
	@.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint .venv-lowest/lowest.txt \
		--editable ".[providers,bedrock,vertex,zstd,bench]" --group test
	@.venv-lowest/bin/python -m pytest --quick -n auto $(LOWEST)

lock:  ## write requirements-dev.lock anew: the newest versions, for Python 3.11 and later on every platform
	@test -x .venv-lock/bin/uv || { $(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip install --quiet --disable-pip-version-check uv; }
	@.venv-lock/bin/uv pip compile pyproject.toml --group dev --all-extras --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-header --no-annotate --quiet --output-file $(LOCK)
	@.venv-lock/bin/uv pip compile --group judges --no-deps --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-header --no-annotate --quiet --output-file $(JUDGES)

sbom: $(READY)  ## print what the product is made of, as a CycloneDX document
	@$(BIN)/python tools/sbom.py

sbom-check: $(READY)  ## is everything that the product needs in it?
	@$(BIN)/python tools/sbom.py --check

audit:  ## known vulnerabilities of what is in the lock file (asks a service on the network)
	@test -x .venv-audit/bin/pip-audit || { $(PYTHON) -m venv .venv-audit && .venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit; }
	@.venv-audit/bin/pip-audit --requirement $(LOCK) --disable-pip --no-deps --strict

# FILES: parts of the core, as tools/pairing.py or dialects/gemini; SAMPLE: so many mutants of each file.
mutants: $(READY)  ## do the tests notice small faults in the core? make mutants [FILES=...] [SAMPLE=n] [SEED=n] [TELL=1] [WRITE=1]
	@$(BIN)/python -m mutants $(FILES) $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED)) $(if $(TELL),--tell) $(if $(WRITE),--write)

conformance: $(READY)  ## the laws over recorded reality (needs ../shared)
	@$(BIN)/python -m pytest conformance -n auto

MINUTES ?= 10
FUZZED := 4500

fuzz:  ## documents and streams changed at random: make fuzz [MINUTES=10]; led by coverage where atheris can be installed
	@test -x .venv-fuzz/bin/python || $(PYTHON) -m venv .venv-fuzz
	@.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check atheris || echo "without atheris: not led by coverage"
	@.venv-fuzz/bin/python -m fuzz --minutes $(MINUTES) --guided

fuzz-check: $(READY)  ## so many of them, the same in every run
	@$(BIN)/python -m fuzz --runs $(FUZZED) --no-store

# All tests but a part of the laws that look at each document, or each pair of dialects.
test-most: $(READY) $(NODE) $(WEB) redis chromium
	@CI=1 $(BIN)/python -m pytest --most -n auto

check: test-most web-check conformance fuzz-check format lint types docs-check site sbom-check  ## everything a reviewer will ask for

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

site: $(READY)  ## build the documentation as a site, into site/; dead links are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "open site/index.html"

pictures: $(READY)  ## draw what the commands print, for the README
	@$(BIN)/python docs/pictures.py

workbench-picture: $(READY) chromium  ## take the picture of the workbench for the README
	@$(BIN)/python tools/workbench_picture.py

# FROM=losses: the transcripts alone, while the whole files stay.
accept: $(READY)  ## write the corpus files that a conversion now gives: make accept [CASE=<name>] [FROM=<dialect>|losses TO=<dialects>]
	@$(BIN)/python tests/accept.py '$(or $(CASE),*)' $(FROM) $(TO)

accept-commands: $(READY)  ## write what the commands now print into their transcripts: make accept-commands [PAGE=<name>]
	@PYTHONPATH=tests $(BIN)/python tests/cli/test_commands.py --accept $(PAGE)

kept: $(READY)  ## write what the conversions of tests/kept now give
	@PYTHONPATH=. $(BIN)/python tests/kept.py

differences: $(READY)  ## what a change does to conversions: make differences [BASE=<revision>] [RECORDED=1]
	@$(BIN)/python tests/differences.py $(or $(BASE),main) $(if $(RECORDED),--recorded)

agents: $(READY)  ## real agents (Claude Code, Codex, ...) through the gateway; needs npm, takes minutes: make agents [AGENTS=claude,codex]
	@$(BIN)/python tools/agents.py $(if $(AGENTS),--agents $(AGENTS))

agents-resume: $(READY)  ## real agents go on with sessions that `dragoman move` wrote; needs npm, takes minutes: make agents-resume [AGENTS=claude-code,codex]
	@$(BIN)/python tools/resume.py $(if $(AGENTS),--agents $(AGENTS)) $(if $(WRITE),--write)

bench: $(READY)  ## the speed, as ratios to parsing and printing
	@$(BIN)/python -m benchmarks.run
	@$(BIN)/python -m benchmarks.streams
	@$(BIN)/python -m benchmarks.carry
	@$(BIN)/python -m benchmarks.cli
	@$(BIN)/python -m benchmarks.dataset

bench-peers: $(READY)  ## the same, beside other converters, in an environment of its own
	@test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]" -r benchmarks/peers-requirements.txt
	@.venv-peers/bin/python -m benchmarks.peers

clean:  ## remove what can be made again
	@rm -rf $(VENV) .venv-peers .venv-fuzz .venv-lowest .venv-lock .venv-audit tests/node/node_modules web/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build site
