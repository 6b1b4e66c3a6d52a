PYTHON ?= python3
PORT ?= 8501
BIN := .venv/bin

.PHONY: run test test-core test-thorough test-browser lint format bench gpu

run: .venv/run.stamp
	$(BIN)/streamlit run app.py --server.port $(PORT)

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

.venv/run.stamp: requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	touch $@

.venv/dev.stamp: requirements-dev.txt .venv/run.stamp
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	  root=; [ "$$(id -u)" = 0 ] || root=sudo; \
	  $$root apt-get update -qq && $$root apt-get install -y -qq chromium fonts-dejavu-core; }
