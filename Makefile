# Everything there is to do, from python3, cargo and make. `make` alone prints this list.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
FUZZ_SECONDS ?= 60
BENCH  ?=
STAMP  := $(VENV)/.installed
TOOLS  := $(VENV)/.tools
SOURCES := $(shell find rust -name target -prune -o -name '*.rs' -print) rust/Cargo.toml rust/Cargo.lock pyproject.toml

CARGO_TEST := cargo test --profile tests --manifest-path rust/Cargo.toml --workspace --exclude wlanlens-py --locked -q
# One worker a core; each begins with one half of the list, so that files and their fixtures stay on one worker.
# One worker more than cores: tests wait for browsers, tshark and timers.
PYTEST := $(BIN)/pytest -q -n $(shell expr $$(nproc) + 1) --dist worksteal

# Without byte code each of the thousands of processes of a test run would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast check format bench bench-accept bench-more fuzz golden docs site screenshots wheel sbom audit new validate-docs clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip "setuptools>=80" "setuptools-rust>=1.12" wheel

$(STAMP): $(VENV)/bin/python $(SOURCES)
	PYTHONWARNINGS=ignore $(BIN)/pip install -q --no-build-isolation -e ".[test]"
	@touch $@

# What the site, the wheel and a release need beside the environment, in one go: two pips at a time in one environment disturb each other.
$(TOOLS): $(STAMP) pyproject.toml
	$(BIN)/pip install -q --group docs --group release
	@touch $@

demo: $(STAMP) ## analyse a real trace; the last line is the report's path
	@mkdir -p demo
	@$(BIN)/wlanlens analyze sample_traces/mixed_newreno.sender.pcap -o demo/mixed_newreno
	@echo
	@echo "$(CURDIR)/demo/mixed_newreno/report.html"

test: $(STAMP) ## all tests: Rust, Python, bad inputs
	$(CARGO_TEST)
	$(PYTEST)

test-fast: $(STAMP) ## the quick and broad part of the Python tests, in under a minute (tests/slow.py lists the rest)
	$(PYTEST) -m fast

# Rust is compiled for checks and tests in a profile of its own, so that `make -j3 check compile-tests` does so beside the environment.
.PHONY: check-python check-types check-rust compile-tests
compile-tests:
	$(CARGO_TEST) --no-run

check: check-python check-types check-rust ## style and types, warnings are errors: ruff, mypy, clippy, rustfmt, import rules, generated pages

check-python: $(STAMP)
	$(BIN)/ruff check wlanlens cli tests benches tools
	$(BIN)/ruff format --check wlanlens cli tests benches tools
	$(BIN)/pytest -q tests/test_imports.py tests/test_docs.py tests/docs/test_links.py tests/release/test_licences.py

check-types: $(STAMP)
	$(BIN)/mypy

check-rust:
	cargo fmt --manifest-path rust/Cargo.toml --all --check
	PYO3_PYTHON=$(PYTHON) cargo clippy --profile tests --manifest-path rust/Cargo.toml --workspace --all-targets --locked -q -- -D warnings

format: $(STAMP) ## let ruff and rustfmt write the style
	$(BIN)/ruff check -q --fix wlanlens cli tests benches tools
	$(BIN)/ruff format -q wlanlens cli tests benches tools
	cargo fmt --manifest-path rust/Cargo.toml --all

bench: $(STAMP) ## speed beside tcptrace, tcpdump and tshark; fails when a figure is 15 % worse than in benches/RESULTS.md
	$(BIN)/python benches/run.py $(BENCH)

bench-accept: $(STAMP) ## the same, and write benches/RESULTS.md anew; BENCH=--memory adds 80 million packets
	$(BIN)/python benches/run.py --accept $(BENCH)

bench-more: $(STAMP) ## the simulator beside ns-2; retransmissions of kernel captures beside tshark and tcptrace
	$(BIN)/python benches/kernel_table.py
	$(BIN)/python benches/simulator.py
	$(BIN)/python benches/first_paint.py

fuzz: ## a minute a fuzz target; FUZZ_SECONDS=300 for longer
	@for target in pcap pcapng sniffer compression wire air urbs whole; do \
	    echo "$$target for $(FUZZ_SECONDS) s"; \
	    cargo run --release --manifest-path rust/fuzz/Cargo.toml --locked -q --bin $$target -- --seconds $(FUZZ_SECONDS) || exit 1; \
	done

golden: $(STAMP) ## write the golden tables again; read the diff
	$(BIN)/python -m tests.golden.write

docs: $(STAMP) ## write the generated pages again, and the outputs that pages show
	$(BIN)/python -m tests.pages
	$(BIN)/python -m tests.docs.blocks

.PHONY: site screenshots wheel sbom audit
site: build/site/.done ## the documentation as HTML in build/site, readable without a network
	@echo "$(CURDIR)/build/site/index.html"

# Built as a whole: of a page that did not change, sphinx does not say again what is wrong with it.
build/site/.done: $(shell find docs) pyproject.toml | $(TOOLS)
	rm -rf build/site
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/site
	@touch $@

screenshots: $(TOOLS) ## take the pictures of docs/ again (needs Chromium)
	$(BIN)/python -m tests.docs.screenshots

wheel: build/wheel/.done ## sdist and wheel for Linux with glibc 2.17 or newer, in dist/

# The wheel is built from the unpacked sdist, in a folder that stays, so that an unchanged crate is not compiled again.
build/wheel/.done: $(SOURCES) $(shell find wlanlens cli -name '*.py' -o -name '*.jinja' -o -name '*.js' -o -name '*.css') MANIFEST.in tools/wheel/cargo tools/wheel/zig-cc | $(TOOLS)
	rm -rf dist build/wheel build/sdist && mkdir -p build/wheel build/sdist
	$(BIN)/python -m build -q --no-isolation --sdist --outdir dist .
	tar -xzf dist/*.tar.gz -C build/sdist --strip-components=1
	cd build/sdist && PATH="$(CURDIR)/$(BIN):$$PATH" CARGO="$(CURDIR)/tools/wheel/cargo" CARGO_TARGET_DIR="$(CURDIR)/rust/target" \
	    PYTHONWARNINGS=ignore python -m pip wheel -q --no-build-isolation --no-deps -w ../wheel .
	PATH="$(CURDIR)/$(BIN):$$PATH" auditwheel repair --plat manylinux_2_17_$$(uname -m) -w dist build/wheel/*.whl 2> build/wheel/repair.log || \
	    { PATH="$(CURDIR)/$(BIN):$$PATH" auditwheel show build/wheel/*.whl; exit 1; }
	@touch $@
	@ls -l dist | awk 'NR > 1 { printf "dist/%s: %.1f MB\n", $$NF, $$5 / 1e6 }'

sbom: $(TOOLS) ## what a release consists of: dist/sbom.json (CycloneDX), with licences
	@mkdir -p dist
	$(BIN)/python -m tools.release.sbom > dist/sbom.json

audit: $(STAMP) ## known vulnerabilities of dependencies; needs the advisory databases of PyPI and RustSec
	$(BIN)/pip install -q pip-audit
	$(BIN)/pip-audit --strict --skip-editable
	cd rust && cargo audit

new: $(STAMP) ## write a running skeleton with its test: make new DETECTOR=name | SCENARIO=name | PLOT=name
	@$(BIN)/python tools/new --detector "$(DETECTOR)" --scenario "$(SCENARIO)" --plot "$(PLOT)"
	@$(BIN)/python -m tests.pages

validate-docs: $(STAMP) ## score every detector over 20 seeds of every scenario, 100 random worlds, clocks over 5 seeds; minutes
	-$(BIN)/wlanlens validate --seeds 20 -o docs/validation.md
	-$(BIN)/wlanlens validate --random 100 --seed 1 -o docs/validation.md
	$(BIN)/wlanlens validate --clocks --seeds 5 -o docs/clocks.md

clean: ## remove what was built, the environment too
	rm -rf $(VENV) demo dist rust/target build *.egg-info wlanlens/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
