# Everything lives in this clone: the interpreter in .venv, the demo's home in .demo.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
DEMO   := $(CURDIR)/.demo
WORKERS ?= $(shell expr `nproc 2>/dev/null || echo 2` + 1)  # of the tests, which wait more than they compute

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench compatibility soak clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.ready-demo ## a real training through Trainyard, in a scratch home inside this clone
	@mkdir -p $(DEMO)
	@TRAINYARD_HOME=$(DEMO)/home PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python examples/demo.py

test: $(VENV)/.ready-real $(VENV)/.ready-programs ## every test except the long fault runs
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

lint: $(VENV)/.ready-lint ## ruff and mypy, both strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.ready-real ## our figures beside bare programs, with the budgets
	$(BIN)/python benchmarks/all.py

compatibility: $(VENV)/.ready ## writes docs/compatibility.md: what of the SDK is here
	$(BIN)/python tests/azureml/compatibility.py docs/compatibility.md $(REPORT)

soak: $(VENV)/.ready-real ## long fault runs: things are killed while promises must hold
	TRAINYARD_SOAK=1 $(BIN)/python -m pytest tests/soak tests/real/test_frameworks.py --timeout 3600

clean: ## stops the demo's service and removes what the targets above made
	@if [ -x $(BIN)/trainyard ] && [ -d $(DEMO)/home ]; then TRAINYARD_HOME=$(DEMO)/home $(BIN)/trainyard stop --all; fi
	rm -rf $(DEMO) $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist src/*.egg-info

# Stamps: a second `make` installs nothing unless pyproject.toml changed. The demo waits for no more than it needs.
$(VENV)/.ready-demo: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[demo]'
	@touch $@

$(VENV)/.ready: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test]'
	@touch $@

# Programs that tests drive for real, a browser and an SSH server: fetched where that is a matter of one command, else
# their tests are skipped. Where systemd runs, Debian's package would also open the SSH server's port: that is not ours to do.
APT := DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends
$(VENV)/.ready-programs: $(VENV)/.ready
	@may_install() { test "$$(id -u)" = 0 && command -v apt-get && apt-get update -qq; } >/dev/null; \
	command -v chromium >/dev/null || command -v google-chrome >/dev/null || { may_install && $(APT) chromium >/dev/null; } \
	  || echo "There is no Chromium here: its tests are skipped. Install it to have them run."; \
	PATH="$$PATH:/usr/sbin" command -v sshd >/dev/null \
	  || { test ! -d /run/systemd/system && may_install && $(APT) openssh-server openssh-client >/dev/null; } \
	  || echo "There is no SSH server (sshd) here: its tests are skipped. Install OpenSSH's to have them run."
	@touch $@

# Frameworks for tests/real. Horovod has to be compiled: that takes some minutes and a C++ compiler, once.
$(VENV)/.ready-real: $(VENV)/.ready tests/real/horovod_here.py
	$(PIP) --editable '.[test,real]'
	$(PIP) --no-deps 'tf-keras==2.21.*'
	$(BIN)/python tests/real/horovod_here.py
	@if command -v npm >/dev/null; then npm install --silent --no-fund --no-audit --prefix $(VENV)/azurite azurite@3 \
	  || echo "Azurite could not be installed: the tests of Azure Blob are skipped."; fi
	@touch $@

$(VENV)/.ready-lint: $(VENV)/.ready
	$(PIP) --editable '.[test,dev]'
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Trainyard needs Python 3.11 or later. Say which: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
