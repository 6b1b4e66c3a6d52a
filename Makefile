PYTHON ?= python3
PORT ?= 8501
BIN := .venv/bin
# make run TORCH=cpu: the build of torch that this folder of its index holds, in a .venv that is not there yet
TORCH_INDEX ?= https://download.pytorch.org/whl
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.lock

.PHONY: run test test-core test-thorough test-browser lint lock format bench gpu

run: .venv/run.stamp
	$(BIN)/python -m normviz serve --port $(PORT) $(if $(ADDRESS),--address $(ADDRESS))

# One after the other: a browser beside the other tests would starve, with its server, on a small machine.
test: lint test-core test-browser

test-core: .venv/dev.stamp
	$(BIN)/pytest --ignore=tests/browser --numprocesses auto --dist loadfile

test-thorough: .venv/dev.stamp
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest --ignore=tests/browser

test-browser: .venv/dev.stamp chromium
	$(BIN)/pytest tests/browser --numprocesses 2 --dist loadfile

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy

format: .venv/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/dev.stamp chromium
	$(BIN)/python benchmarks/cube.py
	$(BIN)/python benchmarks/table1.py
	$(BIN)/python benchmarks/table1_page.py
	$(BIN)/python benchmarks/shift.py
	$(BIN)/python benchmarks/links.py
	$(BIN)/python benchmarks/bounds.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/map.py
	$(BIN)/python benchmarks/classroom.py
	$(BIN)/python benchmarks/beside_jobs.py
	$(BIN)/python benchmarks/cluster.py

# With the Python that is there, which needs a torch for the GPU: nothing is installed. GPU=--write keeps the table.
gpu:
	@$(PYTHON) benchmarks/gpu.py $(GPU); status=$$?; [ $$status = 2 ] || \
	  $(PYTHON) benchmarks/map.py $(if $(findstring --cpu,$(GPU)),--smallest) || status=1; exit $$status

.venv/run.stamp: requirements.txt requirements.lock
	$(PYTHON) -m venv .venv
	$(if $(TORCH),$(INSTALL) --no-deps torch --index-url $(TORCH_INDEX)/$(TORCH))
	$(INSTALL) -r requirements.txt
	touch $@

.venv/dev.stamp: requirements-dev.txt .venv/run.stamp
	$(INSTALL) -r requirements-dev.txt
	touch $@

# Exact versions of all packages on all platforms; needs uv. The CUDA libraries stay out: torch's own metadata says
# exactly which it needs, and `uv pip install -r requirements.lock` would bring them where torch is a CPU build, too.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --no-annotate --custom-compile-command "make lock" \
	  --output-file requirements.lock requirements-dev.txt
	grep -Ev '^(nvidia-|cuda-|triton)' requirements.lock >requirements.lock.new
	mv requirements.lock.new requirements.lock

.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	  root=; [ "$$(id -u)" = 0 ] || root=sudo; \
	  $$root apt-get update -qq && $$root apt-get install -y -qq chromium fonts-dejavu-core; }
