# Two commands do everything on a bare machine with Python 3.11: make demo, make test.
# uv is used if it is there, and bootstrapped into .bootstrap/ if not; it installs the rest.

PYTHON ?= python3
UV ?= $(shell command -v uv || echo .bootstrap/bin/uv)
RUN = $(UV) run --frozen --all-extras --quiet
# What shares a Flink cluster or a Spark session runs in one process: tests/conftest.py. Three of
# them have a Flink, and mostly wait: all three begin at once, and the rest follows.
WORKERS ?= 3
QUICK_WORKERS ?= 4
SPREAD = --dist loadgroup --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo quick test check docs bench schemas agent flink-compat soak skew headline record dist wheel-test image-test clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(UV) ## the whole way on a recorded job: metric log, costs, proven plan, schedulercfg
	@$(RUN) --no-dev edgeplace demo

quick: $(UV) ## the tests to run all day: without Flink, Spark, a browser, and long proofs
	$(RUN) pytest -q -m "not (slow or live or spark or browser)" -n $(QUICK_WORKERS) $(SPREAD)

test: $(UV) ## all tests
	$(RUN) pytest -n $(WORKERS) $(SPREAD) --instafail

check: $(UV) docs ## lint, format, directions of imports, types, dead links
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) lint-imports
	$(RUN) mypy
	$(RUN) mypy --config-file benchmarks/mypy.ini benchmarks

bench: $(UV) ## measure: the engine, fleets, CAPS, formulations, and Spark against plain parsing
	$(RUN) python benchmarks/engine.py
	$(RUN) python benchmarks/fleet.py
	$(RUN) python benchmarks/caps.py
	$(RUN) python benchmarks/formulations.py
	$(RUN) python benchmarks/spark_stats.py

docs: $(UV) ## build the documentation as a site: build/site
	@# Not --quiet: MkDocs would count no warnings then, and --strict would find none.
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict

schemas: $(UV) ## write the JSON Schemas of the documents anew: docs/schemas
	$(RUN) edgeplace schema -o docs/schemas

agent: $(UV) ## build the agent and the jar of split aggregates anew: the same sources give the same jars (JDK 17)
	$(RUN) python -m testbed.flink.agent_jar
	$(RUN) python -m testbed.flink.split_jar

flink-compat: $(UV) ## check the agent against Flink 1.18 to 2.3; writes docs/flink-compat.md (JDK, 2 GB download)
	$(RUN) python -m testbed.flink.compat

soak: $(UV) ## 40 live changes, 12 dead TaskManagers, 9 dead JobManagers: is anything lost or doubled? (JDK)
	$(RUN) python -m testbed soak

skew: $(UV) ## hot keys: split aggregates beside keyBy, on paced workers; as root also a site of Pis behind a WAN (JDK; 15 min, as root 26)
	$(RUN) python benchmarks/skew.py

headline: $(UV) ## does placement pay? jobs x WANs x policies on a real Flink (root, JDK; about 6 h, goes on where it was ended)
	$(RUN) python -m testbed headline --out benchmarks/headline

record: $(UV) ## record the demo's log anew on a real Flink (root, JDK 17, 330 MB download)
	$(RUN) python -m testbed record --out instances/demo/metrics.jsonl.gz

dist: $(UV) ## wheel and sdist with man pages, as they are released: dist/
	rm -rf dist man
	$(RUN) python .ci/man_pages.py man
	$(UV) build --quiet --out-dir dist

wheel-test: dist ## what is released, installed by name alone: it has all files, and each extra works
	$(RUN) python .ci/wheel_contents.py dist/*.whl
	$(RUN) python .ci/install_by_name.py $(UV) dist

image-test: $(UV) ## the Dockerfile's commands, carried out without Docker (root)
	$(RUN) python .ci/image.py

clean: ## remove what make made
	rm -rf .venv .bootstrap build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

.bootstrap/bin/uv:
	$(PYTHON) -m venv .bootstrap
	.bootstrap/bin/pip install --quiet --disable-pip-version-check uv
