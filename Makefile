# Every target does its own set-up: a virtual environment from the lock file, and Java.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup check test test-fast demo doctor figures lock format clean

help: ## show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## set up the environment: packages from requirements.lock, Java

$(READY): requirements.lock pyproject.toml scripts/setup.sh
	@PYTHON=$(PYTHON) VENV=$(VENV) sh scripts/setup.sh
	@touch $(READY)

check: $(READY) ## lint, formatting, types and layering
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(READY) ## all tests
	$(BIN)/pytest

test-fast: $(READY) ## the tests that need no Spark
	$(BIN)/pytest -m "not spark"

demo: $(READY) ## half a minute of windows over a disordered stream
	$(BIN)/slackwater demo

doctor: $(READY) ## look whether Slackwater can run here
	$(BIN)/slackwater doctor

figures: $(READY) ## the papers' figures, anew: CSV and PNG in experiments/*/out
	@for folder in experiments/*/; do \
		echo "$$folder" && $(BIN)/python $$folder/run.py && $(BIN)/python $$folder/plot.py || exit 1; \
	done

lock: $(READY) ## make requirements.lock anew from pyproject.toml
	$(BIN)/pip install --quiet uv
	echo '# Made by "make lock" from pyproject.toml; installed with --require-hashes.' > requirements.lock.new
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --quiet --upgrade >> requirements.lock.new
	mv requirements.lock.new requirements.lock

format: $(READY) ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the environment and what tools left behind
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache artifacts
