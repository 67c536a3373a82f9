PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types architecture tests format clean

demo: $(VENV)/.installed
	@$(BIN)/python examples/demo.py

test: lint types architecture tests

lint: $(VENV)/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.developing
	$(BIN)/mypy

architecture: $(VENV)/.developing
	$(BIN)/lint-imports

tests: $(VENV)/.developing
	$(BIN)/python -m pytest -n auto --dist loadfile

format: $(VENV)/.developing
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.developing: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
