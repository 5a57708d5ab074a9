# Every target works from a fresh clone: each calls `setup`, which makes .venv once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := advisor app db measure migrations tests
DEMO := .demo
WORKERS ?= 2

.PHONY: help setup measuring demo test check static fast format formatted lint types imports benchmark soak campaigns-soak monitors slurm faults drills exposure matrix overheads leads resume calibration validation screenshots data clean

help:
	@echo "make demo       measure this machine for two minutes, recommend for it and for the paper's"
	@echo "make test       set up, run every test"
	@echo "make check      formatting, lint, types, import rules, fast tests"
	@echo "make format     format the code"
	@echo "make benchmark  the performance figures, as ratios"
	@echo "make soak       hundreds of real runs under faults, one after the other"
	@echo "make campaigns-soak  a campaign whose controller is killed 50 times"
	@echo "make monitors   how often monitors miss and are wrong: thousands of synthetic series, real ranks"
	@echo "make faults     every kind of fault in a real run"
	@echo "make slurm      a real SLURM of three nodes, every way in which a task ends; torchrun"
	@echo "make drills     every drill on this machine, and drills that are cut off"
	@echo "make exposure   what a lost worker does to each architecture on this machine"
	@echo "make matrix     every architecture with every mechanism under every trace, to the end"
	@echo "make resume     that a resumed training equals an uninterrupted one, everywhere"
	@echo "make calibration  what moving state takes here, and how well restores are predicted"
	@echo "make validation  whether the advice is right: ten scenarios, every candidate run live"
	@echo "make overheads  what each mechanism costs while nothing fails, against a baseline"
	@echo "make leads      how long ahead a fault has to be announced for an emergency save"
	@echo "make screenshots  every page in light and dark, wide and narrow; the README's pictures"
	@echo "make data       regenerate the generated files of data/"
	@echo "make clean      remove what the other targets made"

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[app,dev]'
	@touch $@

# Tests and measuring need torch, which is large; advice, the app and reports do not.
measuring: $(VENV)/.measuring

$(VENV)/.measuring: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --constraint constraints.txt --editable '.[app,dev,measure]'
	@touch $@

# This machine's name in the database; of the shipped clusters, none has it.
CLUSTER ?= this-machine

# A minute and a half on two cores, three minutes on busy ones: what moving state takes here, then two architectures with four
# mechanisms, each without a fault and with one. Then one question, answered from what was measured
# here, and from what the paper measured. A second run adds to the first.
DEMO_DB := $(DEMO)/demo.db

demo: measuring
	@mkdir -p $(DEMO)
	$(BIN)/advisor calibrate --quick --cluster $(CLUSTER) --db $(DEMO_DB) --folder $(DEMO)/demo-runs
	$(BIN)/advisor measure --matrix --profile smoke --device cpu --architecture a2,a4 \
	  --mechanism ft1,ft2,ft3,ft9 --trace none,f1 --cluster $(CLUSTER) --db $(DEMO_DB) \
	  --folder $(DEMO)/demo-runs
	@echo
	$(BIN)/advisor recommend --cluster $(CLUSTER) --architecture a2 --mtbf 4h --db $(DEMO_DB)
	@echo
	$(BIN)/advisor recommend --cluster matilda-8xv100 --architecture a2 --mtbf 4h \
	  --state-size 204.7MB --db $(DEMO_DB)
	@echo
	@echo "Measured: $(CLUSTER), in $(DEMO_DB). Next:"
	@echo "  $(BIN)/advisor app --db $(DEMO_DB)"
	@echo "  $(BIN)/advisor clusters $(CLUSTER) --db $(DEMO_DB)"
	@echo "  $(BIN)/advisor recommend --cluster $(CLUSTER) --architecture a4 --mtbf 10m --db $(DEMO_DB)"
	@echo "  $(BIN)/advisor measure --matrix --cluster $(CLUSTER)   (everything, for hours, in your own database)"

test: measuring
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup --durations=40 -m "not benchmark and not soak"

check: static fast

static: formatted lint types imports

fast: measuring
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup -m "not benchmark and not soak and not integration"

format: setup
	$(BIN)/ruff format $(CODE)

formatted: setup
	$(BIN)/ruff format --check $(CODE)

lint: setup
	$(BIN)/ruff check $(CODE)

types: measuring
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

benchmark: measuring
	$(BIN)/python -m pytest -m benchmark -s tests/benchmarks

# Eight mechanisms, six architectures, five moments: a resumed training is the one never struck; so is
# one that was rolled back behind the onset of a corruption.
resume: measuring
	$(BIN)/python -m pytest -m soak tests/measure/mechanisms/test_resume_equals.py \
	  tests/measure/mechanisms/test_just_in_time.py tests/measure/supervisor/test_rollback.py

soak: measuring
	$(BIN)/python -m pytest -m soak -s tests/soak/test_soak.py tests/soak/test_recoveries.py
	$(BIN)/python -m pytest -m soak tests/advisor/failure_classes

# 40 cells, kill -9 at 50 moments (SOAK_SEED chooses them), resumed each time.
campaigns-soak: measuring
	$(BIN)/python -m pytest -m soak -s tests/soak/test_campaigns.py

# Miss rates and false alarms of the monitors, printed.
monitors: measuring
	$(BIN)/python -m pytest -m soak -s tests/measure/monitors

# A real SLURM of three nodes, and every way in which a task, a node or a controller ends; two torchruns.
slurm: measuring
	$(BIN)/python -m pytest tests/slurm tests/hosts

# Every kind of fault in a real run, second faults at each phase of a recovery, wrong warnings.
faults: measuring
	$(BIN)/python -m pytest tests/measure/faults

# Every drill on this machine, about ten minutes on two idle cores.
drills: measuring
	DRILL_PROFILE=cpu $(BIN)/python -m pytest -m soak -s tests/soak/test_drills.py tests/integration/test_drills.py

# The paper's Tables V and VI and its Fig. 2 on this machine, about 15 minutes on two idle cores.
MEASURE := $(BIN)/advisor measure --profile cpu --device cpu --db $(DEMO)/exposure.db \
  --folder $(DEMO)/runs --cluster $(CLUSTER)

exposure: measuring
	@mkdir -p $(DEMO)
	$(MEASURE) --architecture all --trace f1 --seeds 3 --detector group-timeout --pg-timeout 10s
	$(MEASURE) --architecture a2 --trace f1 --seeds 3 --detector group-timeout --pg-timeout 5s
	$(MEASURE) --architecture a2 --trace f1 --seeds 3 --detector group-timeout --pg-timeout 2s
	$(MEASURE) --architecture all --trace f1 --seeds 3 --detector supervisor
	$(MEASURE) --architecture a6 --trace f1 --first-seed 3 --seeds 4 --detector supervisor
	$(MEASURE) --architecture a6 --trace none --seeds 3
	$(BIN)/advisor exposure --db $(DEMO)/exposure.db --cluster $(CLUSTER)

# All tuples of the paper's matrix, the infeasible ones tried as well: PROFILE=smoke takes minutes.
PROFILE ?= cpu
MATRIX := $(BIN)/advisor measure --profile $(PROFILE) --device cpu --db $(DEMO)/matrix.db \
  --folder $(DEMO)/matrix-runs --cluster $(CLUSTER) --architecture seven

matrix: measuring
	@mkdir -p $(DEMO)
	$(MATRIX) --mechanism all --trace all
	$(BIN)/advisor coverage --db $(DEMO)/matrix.db --cluster $(CLUSTER)

# How long ahead a fault has to be announced: FT4 under one announced fault, by lead.
LEADS ?= 50ms 100ms 150ms 200ms 300ms 400ms 600ms 1s

leads: measuring
	@mkdir -p $(DEMO)
	for lead in $(LEADS); do \
	  $(BIN)/advisor measure --profile $(PROFILE) --device cpu --db $(DEMO)/leads.db \
	    --folder $(DEMO)/leads-runs --cluster $(CLUSTER) --architecture seven --mechanism ft4 \
	    --trace f1 --steps 120 --lead $$lead --seeds 3 || exit; \
	done
	$(BIN)/advisor leads --db $(DEMO)/leads.db --cluster $(CLUSTER)

# What a save costs is known most closely where saves are frequent.
overheads: measuring
	@mkdir -p $(DEMO)
	$(MATRIX) --mechanism all --trace none
	$(MATRIX) --mechanism ft1,ft2,ft3,ft6 --trace none --interval 5

# Under two minutes on two idle cores: paths, fits, and real restores against what they predict.
calibration: measuring
	@mkdir -p $(DEMO)
	$(BIN)/advisor calibrate --cluster $(CLUSTER) --check --db $(DEMO)/calibration.db \
	  --folder $(DEMO)/runs

# Ten scenarios tried live, after `make matrix overheads`: half an hour on two idle cores.
SCENARIOS := $(wildcard docs/measurements/scenarios/*.toml)
FAILURE_SEED ?= 1

validation: measuring
	$(BIN)/advisor validate $(SCENARIOS:%=--scenario %) --cluster $(CLUSTER) --every --check \
	  --seed $(FAILURE_SEED) --device cpu --db $(DEMO)/matrix.db --folder $(DEMO)/matrix-runs

screenshots: setup
	$(BIN)/python -m tests.app.screenshots --all $(DEMO)/screenshots --readme docs/pictures

data: setup
	$(BIN)/python -m measure.matrix > data/compatibility.csv

clean:
	rm -rf $(VENV) $(DEMO) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  .import_linter_cache
