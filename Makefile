# Daybreak's only entry point. `make help` lists the targets.
#
# One rule set: every .c under common/, server/ and agent/ becomes an object below $(BUILD)/obj, three
# static libraries (common, server, agent) and two programs. server/tools/*.c are programs of the build
# itself: they turn schema/ and web/ into C below $(BUILD)/gen. Tests link the library of their folder.

BUILD ?= build
CC ?= gcc
V ?= 0
Q = $(if $(filter 1,$(V)),,@)
SAN ?=

PKGS = libmicrohttpd sqlite3 jansson openssl libcurl zlib libpng
# Asked only when a target needs it, so that `make setup-run` works on a bare machine.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $$(PKGS) 2>/dev/null))$(PKG_CFLAGS)
COMMON_LIBS = $(eval COMMON_LIBS := $$(shell pkg-config --libs jansson openssl 2>/dev/null))$(COMMON_LIBS)
SERVER_LIBS = $(eval SERVER_LIBS := $$(shell pkg-config --libs libmicrohttpd sqlite3 libcurl 2>/dev/null))$(SERVER_LIBS)
AGENT_LIBS = $(eval AGENT_LIBS := $$(shell pkg-config --libs libcurl libpng zlib 2>/dev/null))$(AGENT_LIBS)

WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
       -Wformat=2 -Wundef -Wvla -Wdouble-promotion -Werror
HARDEN = -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -fcf-protection
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -pthread -fPIE -I. -I$(BUILD)/gen $(WARN) $(PKG_CFLAGS) $(CFLAGS) \
             $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer,$(HARDEN))
ALL_LDFLAGS = -pthread -pie $(if $(SAN),-fsanitize=$(SAN),-Wl,-z,relro,-z,now) $(LDFLAGS)

find_c = $(sort $(shell find $(1) -name '*.c' 2>/dev/null))
COMMON_SRC := $(call find_c,common)
SERVER_SRC := $(filter-out server/main.c server/tools/%,$(call find_c,server))
AGENT_SRC := $(filter-out agent/main.c,$(call find_c,agent))
obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

GEN_COMMON = $(BUILD)/gen/embedded_tasks.c
GEN_SERVER = $(BUILD)/gen/queries.c $(BUILD)/gen/embedded_docs.c $(BUILD)/gen/embedded_mlperf.c $(BUILD)/gen/embedded_schema.c $(BUILD)/gen/embedded_web.c \
             $(BUILD)/gen/templates.c
GEN_HEADERS = $(BUILD)/gen/queries.h $(BUILD)/gen/templates.h
gen_obj = $(patsubst $(BUILD)/gen/%.c,$(BUILD)/obj/gen/%.o,$(1))

.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := all

all: $(BUILD)/daybreakd $(BUILD)/daybreak-agent ## build both programs into build/

$(BUILD)/daybreakd: $(BUILD)/obj/server/main.o $(BUILD)/libserver.a $(BUILD)/libcommon.a
	@echo "  LINK $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(SERVER_LIBS) $(COMMON_LIBS) -lz -lm
$(BUILD)/daybreak-agent: $(BUILD)/obj/agent/main.o $(BUILD)/libagent.a $(BUILD)/libcommon.a
	@echo "  LINK $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(AGENT_LIBS) $(COMMON_LIBS) -lm

$(BUILD)/libcommon.a: $(call obj,$(COMMON_SRC)) $(call gen_obj,$(GEN_COMMON))
$(BUILD)/libserver.a: $(call obj,$(SERVER_SRC)) $(call gen_obj,$(GEN_SERVER))
$(BUILD)/libagent.a: $(call obj,$(AGENT_SRC))
$(BUILD)/lib%.a:
	@echo "  AR   $@"
	$(Q)rm -f $@ && ar rcs $@ $^

# What an instruction set needs is given to the files that are named after it, and to nothing else.
FLAGS_avx2 = -mavx2 -mfma -O3 -ffp-contract=off
FLAGS_avx512 = -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -O3 -ffp-contract=off
FLAGS_avx512_bf16 = $(FLAGS_avx512) -mavx512bf16
isa_flags = $(if $(filter %_avx512_bf16.c,$(1)),$(FLAGS_avx512_bf16),$(if $(filter %_avx512.c,$(1)),$(FLAGS_avx512),$(if \
            $(filter %_avx2.c,$(1)),$(FLAGS_avx2),$(if $(findstring /kernels/,$(1)),-O3 -ffp-contract=off))))

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(ALL_CFLAGS) $(call isa_flags,$<) -MMD -MP -c -o $@ $<
$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/flags | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Everything is built again when the compiler or its flags change.
$(BUILD)/flags: force
	@mkdir -p $(BUILD)
	@echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' >$@
# The build id lives in one object, made again when the commit moves.
BUILD_COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)$(shell git diff --quiet HEAD 2>/dev/null || echo -dirty)
$(BUILD)/commit: force
	@mkdir -p $(BUILD)
	@echo '$(BUILD_COMMIT)' | cmp -s - $@ || echo '$(BUILD_COMMIT)' >$@
$(BUILD)/obj/common/build.o: $(BUILD)/commit
$(BUILD)/obj/common/build.o: CFLAGS += -DBUILD_COMMIT='"$(BUILD_COMMIT)"'

# Generators: programs of the build, without sanitizers.
TOOL_SRC = common/crypto.c common/str.c common/status.c
$(BUILD)/tool/%: server/tools/%.c $(TOOL_SRC)
	@mkdir -p $(@D)
	@echo "  TOOL $@"
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -I. $(WARN) -O1 -g -o $@ $< $(TOOL_SRC) -lcrypto
TASK_FILES = $(sort $(wildcard schema/tasks/*.json))
ROUND_FILES = $(sort $(wildcard schema/mlperf/*.json))
MLPERF_FILES = $(ROUND_FILES) $(sort $(wildcard schema/mlperf/rcp/*.json))
MIGRATION_FILES = $(sort $(wildcard schema/migrations/*.sql))
ASSET_FILES = $(sort $(wildcard web/assets/*))
TEMPLATE_FILES = $(sort $(wildcard web/templates/*.html))
DOC_FILES = $(sort $(wildcard docs/*.md))
DOC_TOOLS = $(sort $(wildcard server/tools/docs*.py))
CHART_JS = /usr/share/javascript/chart.js/Chart.min.js

$(BUILD)/gen/embedded_tasks.c: $(BUILD)/tool/embed $(TASK_FILES) server/tools/mlperf_tasks.py $(ROUND_FILES)
	@mkdir -p $(@D)
	$(Q)/usr/bin/python3 server/tools/mlperf_tasks.py $(@D)/tasks $(ROUND_FILES) >$(@D)/mlperf_tasks.list
	$(Q)$(BUILD)/tool/embed tasks $(TASK_FILES) $$(cat $(@D)/mlperf_tasks.list) >$@
$(BUILD)/gen/embedded_mlperf.c: $(BUILD)/tool/embed $(MLPERF_FILES)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/tool/embed mlperf $(MLPERF_FILES) >$@
$(BUILD)/gen/embedded_schema.c: $(BUILD)/tool/embed $(MIGRATION_FILES) $(BUILD)/gen/openapi.json
	@mkdir -p $(@D)
	$(Q)$(BUILD)/tool/embed schema $(MIGRATION_FILES) $(BUILD)/gen/openapi.json=schema/openapi.json >$@
$(BUILD)/gen/embedded_docs.c: $(BUILD)/tool/embed $(DOC_FILES) $(DOC_TOOLS) $(BUILD)/gen/openapi.json $(BUILD)/gen/embedded_tasks.c
	@mkdir -p $(@D)
	$(Q)/usr/bin/python3 -B server/tools/docs.py $(@D)/pages $(BUILD)/gen/openapi.json $(TASK_FILES) \
	    $$(sed 's/=.*//' $(@D)/mlperf_tasks.list) >$(@D)/docs.list
	$(Q)$(BUILD)/tool/embed docs $$(cat $(@D)/docs.list) >$@
$(BUILD)/gen/embedded_web.c: $(BUILD)/tool/embed $(ASSET_FILES) $(CHART_JS)
	@mkdir -p $(@D)
	$(Q)mkdir -p $(@D)/packed && for f in $(ASSET_FILES); do gzip -n9 <$$f >$(@D)/packed/$${f##*/}.gz; done
	$(Q)gzip -n9 <$(CHART_JS) >$(@D)/packed/chart.js.gz
	$(Q)$(BUILD)/tool/embed web $(ASSET_FILES) $(CHART_JS)=web/assets/chart.js \
	    $(foreach f,$(ASSET_FILES) web/assets/chart.js,$(@D)/packed/$(notdir $(f)).gz=$(f).gz) >$@
$(BUILD)/gen/openapi.json: schema/openapi.yaml
	@mkdir -p $(@D)
	$(Q)/usr/bin/python3 -c 'import json,sys,yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout, separators=(",", ":"), ensure_ascii=False)' $< >$@
$(BUILD)/gen/queries.c $(BUILD)/gen/queries.h &: $(BUILD)/tool/queries schema/queries.sql
	@mkdir -p $(@D)
	$(Q)$(BUILD)/tool/queries schema/queries.sql $(BUILD)/gen/queries.h $(BUILD)/gen/queries.c
$(BUILD)/gen/templates.c $(BUILD)/gen/templates.h &: $(BUILD)/tool/templates $(TEMPLATE_FILES)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/tool/templates $(BUILD)/gen/templates.h $(BUILD)/gen/templates.c $(TEMPLATE_FILES)

# Tests: one cmocka group per program; the folder says which library it links.
UNIT_TESTS = $(call find_c,tests/unit tests/kernels)
test_bin = $(patsubst tests/%.c,$(BUILD)/tests/%.t,$(1))
$(BUILD)/tests/unit/common/%.t: tests/unit/common/%.c $(BUILD)/libcommon.a
	$(link_test) -lcmocka $(COMMON_LIBS) -lm
$(BUILD)/tests/unit/server/%.t: tests/unit/server/%.c $(BUILD)/libserver.a $(BUILD)/libcommon.a
	$(link_test) -lcmocka $(SERVER_LIBS) $(COMMON_LIBS) -lz -lm
$(BUILD)/tests/unit/agent/%.t: tests/unit/agent/%.c $(BUILD)/libagent.a $(BUILD)/libcommon.a
	$(link_test) -lcmocka $(AGENT_LIBS) $(COMMON_LIBS) -lm
$(BUILD)/tests/kernels/%.t: tests/kernels/%.c $(BUILD)/libagent.a $(BUILD)/libcommon.a
	$(link_test) -lcmocka $(AGENT_LIBS) $(COMMON_LIBS) -lm
$(BUILD)/tests/support/%: tests/support/%.c $(BUILD)/libserver.a $(BUILD)/libcommon.a
	$(link_test) $(SERVER_LIBS) $(COMMON_LIBS) -lz -lm
$(BUILD)/tests/support/train_bits: tests/support/train_bits.c $(BUILD)/libagent.a $(BUILD)/libcommon.a
	$(link_test) -lcmocka $(AGENT_LIBS) $(COMMON_LIBS) -lm
$(BUILD)/tests/property/%: tests/property/%.c $(BUILD)/libserver.a $(BUILD)/libcommon.a
	$(link_test) $(SERVER_LIBS) $(COMMON_LIBS) -lz -lm
define link_test
	@mkdir -p $(@D)
	@echo "  TEST $@"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -MF $@.d $(ALL_LDFLAGS) -o $@ $(filter %.c %.a,$^)
endef

unit: $(call test_bin,$(UNIT_TESTS)) ## build and run the C tests alone; T=name runs those whose path holds it
	$(Q)prove -j2 --exec tests/support/cmocka-tap $(if $(T),$(foreach t,$^,$(if $(findstring $(T),$(t)),$(t))),$^)

# Everything a change must pass. The scripts find the programs by DAYBREAKD and DAYBREAK_AGENT, so that the same
# suite runs on sanitized builds. FUZZ= leaves the fuzz targets out.
FUZZ ?= 1
SCRIPT_TESTS = $(sort $(wildcard tests/lint/test_*.py tests/http/run_*.py tests/http/test_*.py tests/e2e/test_*.py tests/fault/test_*.py \
               tests/property/test_*.py tests/web/run*.mjs)) $(if $(FUZZ),tests/fuzz/test_short.sh)
TESTS = $(call test_bin,$(UNIT_TESTS)) $(SCRIPT_TESTS)
SUPPORT_BIN = $(BUILD)/tests/support/print_codes $(BUILD)/tests/support/train_bits # what scripts run besides the programs
export BUILD
export DAYBREAKD ?= $(BUILD)/daybreakd
export DAYBREAK_AGENT ?= $(BUILD)/daybreak-agent

test: setup-if-missing-test ## everything that a change must pass; T=name runs a part; ends with the counts
	$(Q)$(MAKE) --no-print-directory -j2 all $(call test_bin,$(UNIT_TESTS)) $(SUPPORT_BIN) $(PROPERTY_BIN) controls $(BUILD)/npm.stamp
	$(Q)$(if $(FUZZ),$(MAKE) --no-print-directory -j2 fuzz-programs)
	$(Q)tests/support/harness.pl -j 2 $(if $(T),$(foreach t,$(TESTS),$(if $(findstring $(T),$(t)),$(t))),$(TESTS))

# Ranking against a naive reference; the short form is part of `test`.
PROPERTY_BIN = $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/property/*.c))
property: SETS ?= 100000
property: $(PROPERTY_BIN) ## random boards against a naive reference: SETS (100000) of them from SEED (1) on
	$(Q)SETS=$(SETS) SEED=$(SEED) /usr/bin/python3 tests/property/test_ranking.py

power: CUTS ?= 10000
power: $(BUILD)/tests/unit/server/test_power.t ## CUTS (10000) simulated power cuts under the store, from SEED (1) on, and its control
	$(Q)CUTS=$(CUTS) SEED=$(SEED) $< 2>/dev/null

$(BUILD)/npm.stamp: tests/web/package.json tests/web/package-lock.json
	@mkdir -p $(@D)
	@echo "  NPM  tests/web"
	$(Q)cd tests/web && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

# Two wrong servers that the kill test must catch: one answers before COMMIT, one forgets the key of events.
controls: $(BUILD)/controls/reply-first $(BUILD)/controls/no-event-key
$(BUILD)/controls/reply-first: CONTROL = -DDAYBREAK_CONTROL_REPLY_FIRST
$(BUILD)/controls/no-event-key: CONTROL = -DDAYBREAK_CONTROL_NO_EVENT_KEY
CONTROL_SRC = $(wildcard server/store/*.c)
$(BUILD)/controls/%: $(CONTROL_SRC) $(BUILD)/daybreakd
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(CONTROL) $(ALL_LDFLAGS) -o $@ $(CONTROL_SRC) $(BUILD)/obj/server/main.o \
	    $(BUILD)/libserver.a $(BUILD)/libcommon.a $(SERVER_LIBS) $(COMMON_LIBS) -lz -lm

# Fuzzing: the whole tree once more under clang, so that our parsers are instrumented.
FUZZ_BUILD = $(BUILD)/fuzz
FUZZ_SRC = $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN = $(patsubst tests/fuzz/%.c,$(BUILD)/bin/%,$(FUZZ_SRC))
FUZZ_RUNS ?= 20000
fuzz-programs:
	$(Q)$(MAKE) --no-print-directory -j2 BUILD=$(FUZZ_BUILD) CC=clang SAN=fuzzer-no-link,address,undefined fuzz-link
fuzz-link: $(FUZZ_BIN)
$(BUILD)/bin/fuzz_%: tests/fuzz/fuzz_%.c $(BUILD)/libserver.a $(BUILD)/libagent.a $(BUILD)/libcommon.a
	@mkdir -p $(@D)
	@echo "  FUZZ $@"
	$(Q)$(CC) $(ALL_CFLAGS) -Wno-missing-prototypes -fsanitize=fuzzer $(ALL_LDFLAGS) -o $@ $^ $(SERVER_LIBS) \
	    $(AGENT_LIBS) $(COMMON_LIBS) -lm
fuzz: fuzz-programs ## every fuzz target for FUZZ_RUNS executions (20000); new inputs stay in build/fuzz/corpus
	$(Q)FUZZ_RUNS=$(FUZZ_RUNS) tests/fuzz/test_short.sh

# The scripts must test the sanitized programs, not those that this make has exported.
programs_of = BUILD=$(1) DAYBREAKD=$(1)/daybreakd DAYBREAK_AGENT=$(1)/daybreak-agent
asan: ## the whole suite under the address, leak and undefined behaviour sanitizers
	$(Q)$(MAKE) --no-print-directory test $(call programs_of,build/asan) SAN=address,undefined FUZZ=
tsan: ## the server's and the executor's tests under the thread sanitizer
	$(Q)TSAN_OPTIONS="suppressions=$(CURDIR)/tests/support/tsan.supp history_size=4 halt_on_error=1" \
	    $(MAKE) --no-print-directory test $(call programs_of,build/tsan) SAN=thread FUZZ= \
	    UNIT_TESTS="$(call find_c,tests/unit/server) tests/unit/agent/test_cpu.c"
check: lint test asan ## lint, test and asan: before every commit

lint: setup-if-missing-test ## structure, format and clang-tidy
	$(Q)$(MAKE) --no-print-directory -j2 all
	$(Q)prove --exec /usr/bin/python3 $(wildcard tests/lint/test_*.py)
	$(Q)$(MAKE) --no-print-directory -j2 -k $(patsubst %,tidy/%,$(COMMON_SRC) $(SERVER_SRC) $(AGENT_SRC) server/main.c agent/main.c)
# One file through clang-tidy; every file is tried before lint fails. A finding is a failure (.clang-tidy), so a file
# that passes says nothing but a count of what was left out of foreign headers.
tidy/%: $(GEN_HEADERS) force
	$(Q)found=$$(clang-tidy --quiet $* -- -std=c17 -D_GNU_SOURCE -I. -I$(BUILD)/gen $(PKG_CFLAGS) $(call isa_flags,$*) 2>&1) || \
	    { printf '%s\n' "$$found"; exit 1; }
format: ## lay out every C file
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

setup: setup-run setup-test ## install what run and test need
setup-run: ## install what the programs need (Debian, Ubuntu)
	$(Q)server/tools/setup.sh run
setup-test: ## install what the tests need
	$(Q)server/tools/setup.sh test
setup-if-missing-%:
	$(Q)server/tools/setup.sh check $* || server/tools/setup.sh $*

run: setup-if-missing-run ## build, start the server with the history and one agent that trains; PORT=N, JOB=1
	$(Q)$(MAKE) --no-print-directory -j2 all
	$(Q)BUILD=$(BUILD) server/tools/run.sh

# Each prints its method; results that are kept go to docs/results/ with date and machine.
BENCHES = bench-kernels $(patsubst tests/bench/bench_%.py,bench-%,$(sort $(wildcard tests/bench/bench_*.py)))
bench: ## kernels beside this host's ceilings, the server beside nginx and its disk; bench-NAME: one of them
	$(Q)for bench in $(BENCHES); do $(MAKE) --no-print-directory $$bench || exit 1; done
bench-kernels: all
	$(Q)$(BUILD)/daybreak-agent bench --json $(BUILD)/bench.json
bench-%: tests/bench/bench_%.py all setup-if-missing-bench
	$(Q)/usr/bin/python3 $<
campaign: all ## full trainings of CIFAR-10, SEEDS="11 12 ..", with the table of docs/results; hours
	$(Q)$(BUILD)/daybreak-agent data fetch cifar10
	$(Q)python3 tests/campaign/cifar10.py
generator: setup-if-missing-test all ## 100,000 requests made from openapi.yaml; REQUESTS=N, SEED=N
	$(Q)REQUESTS=$(or $(REQUESTS),100000) /usr/bin/python3 tests/http/test_openapi.py

PREFIX ?= /usr/local
install: all ## copy both programs to $(DESTDIR)$(PREFIX)/bin
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(BUILD)/daybreakd $(BUILD)/daybreak-agent $(DESTDIR)$(PREFIX)/bin

coverage: ## lines that the C tests reach (needs gcovr)
	$(Q)$(MAKE) --no-print-directory unit BUILD=build/coverage CFLAGS="-O0 -g --coverage" LDFLAGS=--coverage
	$(Q)gcovr -r . build/coverage --exclude tests --exclude build

help: ## print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

clean: ## remove what was built (var/ and data sets stay)
	rm -rf $(BUILD) tests/web/node_modules

.PHONY: all unit test property power controls fuzz fuzz-programs fuzz-link asan tsan check lint format setup setup-run setup-test \
        run bench bench-kernels campaign generator install coverage help clean force
-include $(shell find $(BUILD) -path $(BUILD)/fuzz -prune -o -path $(BUILD)/asan -prune -o -path $(BUILD)/tsan -prune -o -name '*.d' -print 2>/dev/null)
