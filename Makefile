# One verb per line; `make` alone lists them. PYTHON=... chooses the interpreter, ARGS=... goes to the command behind.
PYTHON ?= python3
TOOL = $(PYTHON) tests/tools

.PHONY: help selfcheck demo test freeze ci matrix check conformance interop hosts page-test foreign examined bench soak stress
.PHONY: course deploy fuzz pyz bundled wheel spec
help:    ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  \1|/p' Makefile | tr '|' '\t'
selfcheck: ## check what works on this system, and print a report to send (any python3, nothing installed)
	@$(PYTHON) -m mcp_ref selfcheck $(ARGS)
demo:    ## run a small server and a client as a ladder (any python3, nothing installed); ARGS=--wire: the messages
	@$(PYTHON) -m mcp_ref demo $(ARGS)
test:    ## run the test suite, in a virtual environment with pytest
	@$(TOOL)/suite.py $(ARGS)
freeze:  ## write down anew what must not change unseen (tests/data/frozen); look at the diff
	@$(TOOL)/suite.py tests/frozen --freeze $(ARGS)
ci:      ## run what every change has to pass, or some steps of it (ARGS="interop soak")
	@bash .ci/run $(ARGS)
matrix:  ## run the test suite on every CPython 3.8 to 3.13 found here
	@$(TOOL)/matrix.py $(ARGS)
check:   ## check the tree itself (layers, floor, citations, README, ...), types and style
	@$(TOOL)/check.py $(ARGS)
conformance: ## run the official conformance suite against our server and our client
	@$(TOOL)/conformance.py $(ARGS)
interop: ## talk to real servers and clients of other makers
	@$(PYTHON) tests/interop/run.py $(ARGS)
hosts:   ## run the recipes of examples/hosts in GDB, Blender, LibreOffice ... (ARGS=--install: by apt-get)
	@$(PYTHON) tests/hosts/run.py $(ARGS)
course:  ## write examples/ as one page, build/course.html, with what they print when they run for it
	@$(TOOL)/course_page.py $(ARGS)
page-test: ## drive the page of a session in Chromium (ARGS=--install: by apt-get)
	@$(PYTHON) tests/page/run.py $(ARGS)
foreign: ## record sessions between programs of other makers, and judge them (about ten minutes)
	@$(PYTHON) tests/interop/foreign.py $(ARGS)
	@$(PYTHON) tests/interop/conformance_sessions.py $(ARGS)
examined: ## examine servers of other makers, or clients (ARGS=--clients), and compare with what was judged by hand
	@$(PYTHON) tests/interop/examine_servers.py $(ARGS)
bench:   ## measure start-up, calls, HTTP, features and memory against floors of the same run
	@$(PYTHON) tests/bench/run.py $(ARGS)
soak:    ## thousands of sessions, streams, refusals and cuts over HTTP; then everything back at the start
	@$(PYTHON) tests/soak/run.py $(ARGS)
deploy:  ## run three hosts with a shared Redis behind nginx, while hosts and Redis are killed (ARGS=--full: five minutes)
	@$(PYTHON) tests/deploy/run.py $(ARGS)
stress:  ## repeat the tests marked `race` a hundred times
	@$(TOOL)/suite.py -m race --repeat 100 $(ARGS)
fuzz:    ## feed the readers random input for half a minute (ARGS="--seconds 60 --seed 7")
	@$(PYTHON) -m tests.fuzz.run $(ARGS)
pyz:     ## build build/mcp_ref.pyz, the package as one file that runs, and check it
	@$(TOOL)/pyz.py $(ARGS)
bundled: ## run the core of the suite against the package as one file, as `bundle` makes it
	@$(TOOL)/bundled.py $(ARGS)
wheel:   ## build a wheel into build/wheel, and check it in an environment of its own
	@$(TOOL)/wheel.py $(ARGS)
spec:    ## rebuild spec_index.json and requirements.tsv from the specification, in the folder MCP_REF_SPEC
	@$(TOOL)/spec_index.py
