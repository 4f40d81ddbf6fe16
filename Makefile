# The words to remember: make demo, make test, make lint, make bench, make sim. `make help` lists them all.
# Everything that is created lands in .venv (packages) and .cache (tools' caches, Kafka's jars, compiled load generator).

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv/bin
# What was compiled is kept, also where Python is told not to keep it: every worker would rewrite the assertions of every
# test again, and every node that a test starts would compile itself.
PYTEST := PYTHONDONTWRITEBYTECODE= $(VENV)/python -m pytest
SOAK := PENSTOCK_SOAK=1 $(PYTEST) --timeout 3600
WORKERS ?= 2
# A file is one worker's, because its tests share what they set up; in the order of `tests/runs/long_files.txt`.
BY_FILE := --dist loadfile --no-loadscope-reorder
ARGS ?=

# The first interpreter that is new enough; one can be chosen with `make setup PYTHON=/path/to/python`.
PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$candidate && break; done)
INSTALL = $(if $(PYTHON),$(PYTHON) requirements/install.py,$(error Python 3.11 or newer is needed and none was \
	found on the PATH; install one or name it: make setup PYTHON=/path/to/python))

LOCK = $(VENV)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header --group build pyproject.toml

.PHONY: help setup setup-run demo demo-broker notebook test test-quick lint format tidy soak soak-alone soak-long soak-examples bench bench-cluster bench-spark sim lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## create .venv with everything installed (needs the network once)
	@$(INSTALL) dev

setup-run:
	@$(INSTALL) run

demo: setup-run ## a day of orders in three minutes: a node, Spark's pipelines, a spike, a crash, and the count
	@$(VENV)/python -m examples.orders.story

demo-broker: setup-run ## the node alone, with a real client and a kill -9; no Spark
	@$(VENV)/python -m examples.broker_demo

# The rules of the house (tests/tidy) are a part of lint.
notebook: ## the orders by hand, in Jupyter
	@$(INSTALL) notebook
	@$(VENV)/jupyter lab $(ARGS) examples/orders/orders.ipynb

test: setup lint ## everything that a change must pass; needs Java 17 and Maven
	@$(PYTEST) -n $(WORKERS) $(BY_FILE) --ignore tests/tidy $(ARGS)

test-quick: setup ## the tests without sleepers, clients, Spark and JVMs, and fewer examples: under a minute
	@PENSTOCK_QUICK=1 $(PYTEST) -q -n $(WORKERS) $(BY_FILE) --ignore tests/tidy -m "not slow and not java and not client and not spark and not soak" $(ARGS)

lint: setup ## style, format, types and the rules of the house
	@$(VENV)/ruff check --quiet .
	@$(VENV)/ruff format --quiet --check .
	@$(VENV)/mypy src bench
	@$(PYTEST) -q tests/tidy

format: setup ## let ruff rewrite what it can
	@$(VENV)/ruff check --quiet --fix .
	@$(VENV)/ruff format --quiet .

# What measures how long somebody waits is alone on the machine; what takes minutes by itself is spread test by test.
soak: soak-alone soak-long soak-examples ## the full counts with fresh seeds; takes hours

soak-alone: setup ## real faults: many kills, pauses, cuts; restarts, successions, ten busy minutes
	@$(SOAK) -rP -m soak tests/chaos $(ARGS)

soak-long: setup ## thousands of simulated histories, long kills, large loads
	@$(SOAK) -n $(WORKERS) --dist worksteal -rP -m soak --ignore tests/chaos $(ARGS)

soak-examples: setup ## whatever makes up examples, with twenty times as many
	@$(SOAK) -n $(WORKERS) --dist worksteal -m "(hypothesis or larger) and not soak" $(ARGS)

bench: setup ## Penstock beside Apache Kafka; results in bench/results
	@$(VENV)/python -m bench.run $(ARGS)

bench-cluster: setup ## three nodes beside three Kafka nodes; results in bench/results
	@$(VENV)/python -m bench.cluster $(ARGS)

bench-spark: setup ## the Spark connector beside Spark's own; results in bench/results
	@$(VENV)/python -m bench.spark $(ARGS)

sim: setup ## the node in the simulated world
	@$(VENV)/penstock sim $(ARGS)

lock: setup ## choose the newest versions and write the lock files
	@$(LOCK) --extra client --output-file requirements/run.lock
	@$(LOCK) --extra client --extra spark --output-file requirements/spark.lock
	@$(LOCK) --extra dev --output-file requirements/dev.lock
	@$(LOCK) --extra client --extra spark requirements/notebook.in --constraint requirements/dev.lock \
		--output-file requirements/notebook.lock

clean: ## remove what make created (the packages in .venv too)
	@rm -rf .cache .venv build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
