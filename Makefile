# The tasks of this repository; `make help` lists them. All builds share .build.

SWIFT_SOURCES := Package.swift Sources Tests Benchmarks Examples
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

STAMPS := .build/stamps
VENV := .build/venv

# Debian packages that the Swift toolchain and the build need, and those that only the tests need.
BUILD_PACKAGES := binutils ca-certificates g++ git libc6-dev libcurl4 libcurl4-openssl-dev libncurses6 libsqlite3-0 \
	libre2-dev libsqlite3-dev libsystemd-dev libxml2 libyaml-0-2 libyaml-dev pkg-config tzdata
RELEASE_PACKAGES := chrpath python3 xz-utils
DEB_PACKAGES := debhelper dpkg-dev
BENCH_PACKAGES := erlang-base monit python3 redis-server redis-tools supervisor valgrind
TEST_PACKAGES := dbus e2fsprogs fish gdb lintian mandoc mmdebstrap openssh-client openssh-server openssl python3 python3-venv \
	strace systemd-container tmux xfsprogs zsh
NIGHTLY_PACKAGES := qemu-system-x86

.DEFAULT_GOAL := help
.PHONY: run check gate nightly build release install uninstall deb build-tests test sanitize integration docs man fuzz bench soak format lint clean help
# Each step prints its own result, and two compilers at once are slower than one.
.NOTPARALLEL:

run: build ## build and run the daemon on Config, in the foreground
	@exec .build/debug/mediatord --config Config

# Each of these runs stages one after the other and lists everything that failed in its last lines; .ci/stages/table.py has the stages.
STAGES := PYTHONDONTWRITEBYTECODE=1 python3 .ci/stages
NEEDED := $(STAMPS)/test-packages $(VENV)/stamp

check: $(NEEDED) ## lint, build, and run the tests, in about 15 minutes
	@$(STAGES) check

gate: $(NEEDED) ## check, documentation, thread sanitizer, power cuts, systemd of Debian 13: what continuous integration runs
	@$(STAGES) gate

nightly: $(NEEDED) $(STAMPS)/nightly-packages ## run the long tests: all of Debian 13, packages, random power cuts, attackers, new inputs for the fuzzers
	@$(STAGES) nightly

build: $(STAMPS)/build-packages ## build everything except the tests, for debugging
	swift build

# The programs need nothing of Swift where they run. The names of their functions stay, compressed, so that a crash can be read. The
# system decides where libraries are. The package of debugging information is made from .build/dist/unstripped.
release: $(STAMPS)/release-packages ## build mediatord and mediatorctl for other machines, in .build/dist
	.ci/build-release mediatord mediatorctl
	@mkdir -p .build/dist/unstripped
	@for program in mediatord mediatorctl; do \
		cp .build/release/$$program .build/dist/unstripped && \
		chrpath --delete .build/dist/unstripped/$$program >/dev/null && \
		.ci/strip .build/dist/unstripped/$$program .build/dist/$$program || exit 1; \
	done
	@.ci/check-sizes .build/dist
	@.ci/notices .build/release/mediatord.product/Objects.LinkFileList \
		.build/release/mediatorctl.product/Objects.LinkFileList >.build/dist/NOTICES
	@.ci/sbom .build/release .build/dist >.build/dist/sbom.cdx.json
	@cp .build/dist/NOTICES .build/dist/sbom.cdx.json .build/dist/unstripped
	@ls -l .build/dist

# Neither builds anything, because they run as root. They install the programs of make release or of BINARIES. Variables of the
# command line are in the environment of the script.
install: ## install the programs of make release below PREFIX (/usr/local), for packages in DESTDIR
	@.ci/install-files install

uninstall: ## remove the files that make install has installed there
	@.ci/install-files uninstall

deb: $(STAMPS)/deb-packages release ## build a Debian package of a release build, for Debian 12 and 13, in .build/deb
	BINARIES=.build/dist/unstripped .ci/build-deb .build/deb $(VERSION)
	@ls -l .build/deb/*.deb

build-tests: $(STAMPS)/build-packages
	swift build --build-tests

test: $(STAMPS)/test-packages ## run the tests written in Swift
	@$(STAGES) test

sanitize: $(STAMPS)/test-packages ## run the tests of code with several threads under the thread sanitizer
	@$(STAGES) sanitize

integration: $(NEEDED) ## run the tests of the programs as a whole
	@$(STAGES) integration

docs: build ## build the documentation of the libraries; check its links, and that every public symbol has a comment
	Documentation/build.py

man: build ## write the manual pages from the help of the programs into .build/man
	Documentation/man.py .build/debug .build/man
	@ls .build/man

fuzz: $(STAMPS)/test-packages ## fuzz the expression language, the configuration and Varlink for half a minute each
	@$(STAGES) fuzz

bench: $(STAMPS)/bench-packages $(VENV)/peers ## compare the library, expressions, the configuration, the control socket, timers, the store and an idle daemon with their peers
	Benchmarks/FeedbackKit/run.sh
	PEERS=$(CURDIR)/$(VENV)/bin/python Benchmarks/CommonExpression/run.sh
	Benchmarks/Configuration/run.sh
	Benchmarks/Control/run.sh
	Benchmarks/Control/run.sh --looking
	Benchmarks/Hops/run.sh
	Benchmarks/Hops/run.sh --instructions
	Benchmarks/Idle/run.sh
	Benchmarks/Store/run.sh
	Benchmarks/Timers/run.sh

soak: $(VENV)/peers $(NEEDED) ## run for three hours: random tests fifty times, an hour of random verbs, fuzzing, peers
	SOAK_FACTOR=50 $(STAGES) build random
	SOAK_FACTOR=10 $(VENV)/bin/python -m pytest -q -p no:cacheprovider Tests/Integration/test_commands.py -k thousands
	SOAK_FACTOR=5 $(VENV)/bin/python -m pytest -q -p no:cacheprovider Tests/Integration/test_power_cuts.py -m nightly
	SOAK_FACTOR=1 $(VENV)/bin/python -m pytest -q -p no:cacheprovider Tests/Integration/test_outcomes.py
	$(VENV)/bin/python Tests/Soak/verbs.py .build/debug/mediatord .build/debug/mediatorctl --minutes 60
	Benchmarks/FeedbackKit/load.sh
	.ci/build-release mediatord mediatorctl
	$(VENV)/bin/python Tests/Soak/attackers.py .build/release/mediatord .build/release/mediatorctl --minutes 10
	Tests/Fuzz/CommonExpression/run.sh 600
	Tests/Fuzz/Configuration/run.sh 600
	Tests/Fuzz/Varlink/run.sh 600
	.ci/build-release cel-eval
	$(VENV)/bin/python Tests/Differential/differential.py .build/release/cel-eval --count 100000 --seed 1

format: ## format the Swift sources
	swift format --in-place --recursive --parallel $(SWIFT_SOURCES)

lint: $(STAMPS)/test-packages ## check the format of the Swift sources, and that comments and guides are in plain English
	@$(STAGES) lint

clean: ## remove everything built, installed or cached below this directory
	rm -rf .build

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

$(STAMPS)/build-packages: Makefile .ci/install-packages
	@command -v swift >/dev/null || { echo "There is no swift in PATH; install Swift 6.3." >&2; exit 1; }
	@.ci/install-packages $(BUILD_PACKAGES)
	@mkdir -p $(@D) && touch $@

$(STAMPS)/release-packages: Makefile .ci/install-packages $(STAMPS)/build-packages
	@.ci/install-packages $(RELEASE_PACKAGES)
	@touch $@

$(STAMPS)/deb-packages: Makefile .ci/install-packages $(STAMPS)/release-packages
	@.ci/install-packages $(DEB_PACKAGES)
	@touch $@

$(STAMPS)/test-packages: Makefile .ci/install-packages $(STAMPS)/deb-packages
	@.ci/install-packages $(TEST_PACKAGES)
	@touch $@

$(STAMPS)/nightly-packages: Makefile .ci/install-packages $(STAMPS)/test-packages
	@.ci/install-packages $(NIGHTLY_PACKAGES)
	@touch $@

$(STAMPS)/bench-packages: Makefile .ci/install-packages $(STAMPS)/build-packages
	@.ci/install-packages $(BENCH_PACKAGES)
	@touch $@

$(VENV)/peers: $(VENV)/stamp
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check cel-python==0.5.0 common-expression-language==0.10.0
	@touch $@

# Debian's python3 needs python3-venv to make an environment; another python3 in PATH does not.
$(VENV)/stamp: Tests/Integration/requirements.txt $(STAMPS)/test-packages
	@python3 -m venv --clear $(VENV) || /usr/bin/python3 -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@
