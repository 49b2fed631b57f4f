.PHONY: help demo cluster-demo test test-engines test-site lint soak fuzz sanitize mutants faults
.PHONY: build wheel release images recipes bench-smoke bench docs rust-docs clean

help:         ## list the targets
	@sed -n 's/^\([a-z-]*:.*\)##/\1/p' Makefile
demo:         ## set everything up, compare engines on tumour data, assemble reads, write a report
	@python3 tools/setup.py build && .venv/bin/python tools/demo.py
cluster-demo: ## assemble reads through Slurm on two nodes that are this machine, write a report
	@python3 tools/setup.py build && .venv/bin/python tools/cluster_demo.py
test:         ## set everything up, run the tests that need no service
	@python3 tools/setup.py test && .venv/bin/python tools/check.py test
test-engines: ## the tests of every engine: Spark, MPI, Dask, Hadoop, TileDB
	@python3 tools/setup.py test && .venv/bin/python tools/check.py test-engines
test-site:    ## the tests on Slurm, YARN, HDFS, GlusterFS, FUSE, of browser, wheel and benches
	@python3 tools/setup.py test && .venv/bin/python tools/check.py test-site
lint:         ## formats, lints, types, limits of style
	@python3 tools/setup.py venv && .venv/bin/python tools/check.py lint
soak:         ## 10,000 wrong answers of every workload, 10,000 kills of a store, the longest tests
	@python3 tools/setup.py build && .venv/bin/python tools/check.py soak
fuzz:         ## the parsers, a minute each, with libFuzzer
	@python3 tools/fuzz.py
sanitize:     ## crates with unsafe under the sanitizers of addresses and threads
	@python3 tools/sanitize.py
mutants:      ## 100 small changes of every crate, each to be found by its tests, ten hours
	@python3 tools/mutants.py
faults:       ## 60 known faults, one at a time, each to be found by its test
	@python3 tools/setup.py test && .venv/bin/python tools/faults.py
build:        ## .venv/bin/cuesta and .venv/bin/cuesta-store
	@python3 tools/setup.py build
wheel:        ## dist/*.whl, tried in an empty environment without a compiler
	@python3 tools/setup.py all && .venv/bin/python tools/wheel.py
release:      ## dist/release: wheels, source archives, notices, sums, checked, for an index
	@python3 tools/setup.py all && .venv/bin/python tools/release.py
images:       ## dist/images: a container image of the wheels of dist/release, tried
	@python3 tools/setup.py build && .venv/bin/python tools/images.py
recipes:      ## dist/recipes: those of conda, EasyBuild and Spack, with the sums of dist/release
	@python3 tools/setup.py venv && .venv/bin/python tools/recipes.py
bench-smoke:  ## every bench at a size of seconds
	@python3 tools/setup.py all && .venv/bin/python bench/run.py --smoke
bench:        ## every bench at its real size, some seven hours on a quiet machine
	@python3 tools/setup.py all && .venv/bin/python bench/run.py
docs:         ## the site build/site/html with all commands and the Python API, and man pages
	@python3 tools/setup.py build && .venv/bin/python tools/docsite.py
rust-docs:    ## the API of the Rust crates, target/doc
	@cargo doc --workspace --no-deps
clean:        ## remove what the other targets made
	@rm -rf .venv target dist build python/cuesta/_native*.so packages/store/cuesta_store/_native*.so
