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
SERVER_LIBS = $(eval SERVER_LIBS := $$(shell pkg-config --libs libmicrohttpd sqlite3 2>/dev/null))$(SERVER_LIBS)
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
GEN_SERVER = $(BUILD)/gen/queries.c $(BUILD)/gen/embedded_schema.c $(BUILD)/gen/embedded_web.c \
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
isa_flags = $(if $(filter %_avx512.c,$(1)),$(FLAGS_avx512),$(if $(filter %_avx2.c,$(1)),$(FLAGS_avx2),$(if \
            $(findstring /kernels/,$(1)),-O3 -ffp-contract=off)))

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

# Generators: host programs, plain C, no sanitizer.
$(BUILD)/tool/%: server/tools/%.c
	@mkdir -p $(@D)
	@echo "  TOOL $@"
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -I. $(WARN) -O1 -g -o $@ $< -lcrypto -lz
TASK_FILES = $(sort $(wildcard schema/tasks/*.json))
MIGRATION_FILES = $(sort $(wildcard schema/migrations/*.sql))
ASSET_FILES = $(sort $(wildcard web/assets/*))
TEMPLATE_FILES = $(sort $(wildcard web/templates/*.html))
CHART_JS = /usr/share/javascript/chart.js/Chart.min.js

$(BUILD)/gen/embedded_tasks.c: $(BUILD)/tool/embed $(TASK_FILES)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/tool/embed tasks $(TASK_FILES) >$@
$(BUILD)/gen/embedded_schema.c: $(BUILD)/tool/embed $(MIGRATION_FILES) $(BUILD)/gen/openapi.json
	@mkdir -p $(@D)
	$(Q)$(BUILD)/tool/embed schema $(MIGRATION_FILES) $(BUILD)/gen/openapi.json=schema/openapi.json >$@
$(BUILD)/gen/embedded_web.c: $(BUILD)/tool/embed $(ASSET_FILES) $(CHART_JS)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/tool/embed web $(ASSET_FILES) $(CHART_JS)=web/assets/chart.js >$@
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
define link_test
	@mkdir -p $(@D)
	@echo "  TEST $@"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -MF $@.d $(ALL_LDFLAGS) -o $@ $(filter %.c %.a,$^)
endef

unit: $(call test_bin,$(UNIT_TESTS)) ## build and run the C tests alone; T=name runs those whose path holds it
	$(Q)prove -j2 --exec tests/support/cmocka-tap $(if $(T),$(foreach t,$^,$(if $(findstring $(T),$(t)),$(t))),$^)

help: ## print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

clean: ## remove what was built
	rm -rf $(BUILD)

.PHONY: all unit help clean force
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
