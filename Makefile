# SPDX-License-Identifier: BSD-2-Clause
#
#   make demo      install what is missing (as root), build, show a fabric at work
#   make check     run the tests (some minutes); make check-all also runs tests that take longer or need virtual machines
#   make vm        install what is missing (as root), build the program and the kernel module for `uipoib vm`
#   make           build only build/uipoib
#   make install   install the files that packaging/install.mk lists; make deb makes Debian packages
#
# Variants build side by side:  SAN=1 (ASan+UBSan)  CC=clang  VERBS=0  WEB=0  V=1 (show commands)
# O=DIR overrides the output folder.

CC	:= $(if $(filter default,$(origin CC)),gcc,$(CC))
SAN	?= 0
VERBS	?= $(if $(wildcard /usr/include/infiniband/verbs.h),1,0)
WEB	?= $(if $(wildcard /usr/include/microhttpd.h /usr/include/*/microhttpd.h),1,0)
VERSION	:= $(shell sed -n 's/^\#define UIPOIB_VERSION "\(.*\)"$$/\1/p' src/cli/cli.h)

.DEFAULT_GOAL := all

variant	:= $(strip $(if $(filter-out gcc,$(CC)),$(notdir $(CC)))$(if $(filter 1,$(SAN)),san))
O	?= build$(if $(variant),/$(variant))

Q	:= $(if $(filter 1,$(V)),,@)
say	:= @$(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,echo)

# For each room (a folder of src/), the rooms with which its tests are linked, from the table src/layers
$(O)/layers.mk: src/layers tests/lint/layers.sh
	@mkdir -p $(@D)
	@bash tests/lint/layers.sh closure >$@.new && mv $@.new $@
include $(O)/layers.mk

# WERROR=0 is for users whose compiler was not tested and may print other warnings.
WERROR	?= 1
WARN	:= -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror) -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	   -Wvla -Wundef -Wwrite-strings -Wno-unused-parameter -Wno-missing-field-initializers
ifeq ($(SAN),1)
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif
# Put coverage counters into the libraries, too. Without them the fuzzers would not notice which code of the libraries an input reaches.
ifeq ($(FUZZ),1)
SANFLAGS += -fsanitize=fuzzer-no-link
endif
# With -Og gcc needs a quarter less time than with -O1 for code with sanitizers, and the tests are as fast.
OPT	?= $(if $(filter 1,$(SAN)),-Og,-O2)
# The test programs themselves are compiled more often than they run, and optimising them takes as long as compiling them.
TEST_OPT ?= $(if $(filter 1,$(SAN)),-O0)
# -g1 records functions and lines, which the reports of the sanitizers need. -g would also record types and variables, which would take
# a third of the compiler's time.
CFLAGS	?= $(if $(filter 1,$(SAN)),-g1,-g)
# gold links the two hundred tests in half the time of the default linker. Debian 13 has it in a package of its own, which is not needed.
ifeq ($(SAN)$(FUZZ),1)
LDFLAGS	?= $(san_linker)
san_linker := $(if $(shell command -v ld.gold),-fuse-ld=gold)
endif
ALL_CFLAGS := -std=gnu11 $(OPT) -fno-strict-aliasing -fno-omit-frame-pointer $(WARN) $(SANFLAGS) \
	   -D_GNU_SOURCE -Isrc -Iinclude -Itests $(CFLAGS)
LIBS	:= -linih -ljansson -lmnl -lisal -lseccomp -lcap-ng -lm
TEST_LIBS := -lcmocka $(LIBS)

srcs	= $(sort $(wildcard src/$(1)/*.c))
# libibverbs is loaded at run time, so a build needs only its header; without it src/verbs consists of one file.
no_verbs := $(if $(filter 1,$(VERBS)),src/verbs/none.c,$(filter-out src/verbs/none.c,$(wildcard src/verbs/*.c)))
objs	= $(patsubst src/%.c,$(O)/obj/%.o,$(filter-out src/cli/main.c $(no_verbs),$(call srcs,$(1))))
libs_of	= $(foreach f,$(uses_$(1)),$(O)/lib$(f).a)

all: $(O)/uipoib $(O)/libuipoib-umad.so $(O)/libuipoib-path.so $(O)/libuipoib-path.a $(O)/uipoib-vm-init

$(O)/uipoib: $(O)/obj/cli/main.o $(call libs_of,all)
	$(say) "  LD      $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< -Wl,--start-group $(call libs_of,all) -Wl,--end-group $(LIBS)

# The preload is loaded into other programs, so it uses only the C library, has no sanitizer, and exports only the
# functions that it replaces.
PRELOAD_CFLAGS := -std=gnu11 -O2 $(WARN) -D_GNU_SOURCE -Isrc -fPIC -fvisibility=hidden -pthread $(CFLAGS)
preload_objs := $(patsubst src/%.c,$(O)/obj/%.o,$(call srcs,preload))
$(preload_objs): ALL_CFLAGS := $(PRELOAD_CFLAGS)

$(O)/libuipoib-umad.so: $(preload_objs)
	$(say) "  LD      $@"
	$(Q)$(CC) $(PRELOAD_CFLAGS) -shared -Wl,-z,defs -Wl,-soname,$(@F) $(LDFLAGS) -o $@ $^ -ldl

# The library for path queries is loaded into other programs, too, so it has no sanitizer, and only the functions of
# include/uipoib/path.h are visible. The version of its ABI is in the soname.
PATH_SO	:= libuipoib-path.so.0
path_srcs := $(call srcs,path) src/proto/client.c src/proto/proto.c src/os/fdpass.c
path_objs := $(path_srcs:src/%.c=$(O)/pic/%.o)
PATH_CFLAGS := -std=gnu11 -O2 $(WARN) -D_GNU_SOURCE -Isrc -Iinclude -fPIC -fvisibility=hidden -pthread $(CFLAGS)
$(O)/pic/%.o: src/%.c
	@mkdir -p $(@D)
	$(say) "  CC      $< (PIC)"
	$(Q)$(CC) $(PATH_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/$(PATH_SO): $(path_objs)
	$(say) "  LD      $@"
	$(Q)$(CC) $(PATH_CFLAGS) -shared -Wl,-z,defs -Wl,-soname,$(@F) $(LDFLAGS) -o $@ $^ -ljansson

$(O)/libuipoib-path.so: $(O)/$(PATH_SO)
	$(Q)ln -sf $(<F) $@

$(O)/libuipoib-path.a: $(path_objs)
	$(Q)ld -r -o $(O)/pic/libuipoib-path.o $^ && objcopy --localize-hidden $(O)/pic/libuipoib-path.o
	$(Q)rm -f $@ && ar rcs $@ $(O)/pic/libuipoib-path.o

# The first process of a VM has no sanitizer. It is linked statically with the C library, because the VM has none when it starts.
GUEST_CFLAGS := -std=gnu11 -O2 $(WARN) -D_GNU_SOURCE -Isrc
guest_objs := $(patsubst src/%.c,$(O)/obj/%.o,$(call srcs,guest)) $(O)/obj/guest/vm_frame.o
$(guest_objs): ALL_CFLAGS := $(GUEST_CFLAGS)
$(O)/obj/guest/vm_frame.o: src/vm/frame.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/uipoib-vm-init: $(guest_objs)
	$(say) "  LD      $@"
	$(Q)$(CC) $(GUEST_CFLAGS) -static -s -o $@ $^

define folder_rule
$(O)/lib$(1).a: $$(call objs,$(1))
	@mkdir -p $$(@D)
	$$(Q)rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach f,$(folders) preload,$(eval $(call folder_rule,$(f))))

# `uipoib web` loads libmicrohttpd at run time, so a build needs only its header. Without the header only this command is missing.
$(O)/obj/web/http.o $(O)/obj/web/http_none.o: ALL_CFLAGS += -DUIPOIB_WEB=$(WEB)

# The page is a part of the program; the assembler includes its files.
$(O)/obj/web/page.o: $(wildcard src/web/page/*)

# The CRC code is chosen at run time, so these files may use instructions that not every CPU has. Without these options, as on
# a machine other than x86-64, the files contain no code.
ifneq ($(filter x86_64%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
$(O)/obj/crc/clmul.o: ALL_CFLAGS += -msse4.1 -mpclmul
$(O)/obj/crc/vclmul256.o: ALL_CFLAGS += -mavx2 -mpclmul -mvpclmulqdq
$(O)/obj/crc/vclmul512.o: ALL_CFLAGS += -mavx2 -mpclmul -mavx512f -mavx512vl -mavx512bw -mavx512vnni -mvpclmulqdq
endif

$(O)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(say) "  CC      $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# --- tests: tests/unit/test_FOLDER_thing.c and tests/sim/test_FOLDER_thing.c link what FOLDER may use, and
# tests/unit/FOLDER_*.c, which they share
test_folder = $(word 2,$(subst _, ,$(basename $(notdir $(1)))))
unit_srcs := $(sort $(filter-out $(if $(filter 1,$(VERBS)),,tests/unit/test_verbs_%),$(wildcard tests/unit/test_*.c)) $(wildcard tests/sim/test_*.c))
unit_bins := $(patsubst tests/%.c,$(O)/%,$(unit_srcs))

test_shared = $(patsubst tests/%.c,$(O)/testobj/%.o,$(wildcard tests/unit/$(test_folder)_*.c))
unit_objs := $(patsubst tests/%.c,$(O)/testobj/%.o,$(unit_srcs))
$(unit_objs): ALL_CFLAGS += $(TEST_OPT)
$(O)/testobj/%.o: tests/%.c
	@mkdir -p $(@D)
	$(say) "  CC      $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# kmod's link, agents and offloads, compiled for user space with tests/kernel in place of the kernel. The tests of the agents
# compare them with src/node.
uses_kmod	= $(uses_node)
kmod_objs := $(patsubst %,$(O)/testobj/kmod/%.o,inet link mad pma port samples sma trap)
KMOD_CFLAGS := -std=gnu11 -Itests/kernel -Ikmod -Wno-sign-compare -Wno-address-of-packed-member
$(kmod_objs): $(O)/testobj/kmod/%.o: kmod/%.c
	@mkdir -p $(@D)
	$(say) "  CC      $<"
	$(Q)$(CC) $(ALL_CFLAGS) $(KMOD_CFLAGS) -MMD -MP -c -o $@ $<
$(O)/testobj/unit/kmod_%.o $(O)/testobj/unit/test_kmod_%.o: ALL_CFLAGS += $(KMOD_CFLAGS)
test_shared += $(if $(filter kmod,$(test_folder)),$(kmod_objs))
# The tests of src/verbs share two parts with the tests of ca_soft: the tests of the interface src/ca/ca.h (tests/unit/ca_suite*.c), and
# two HCAs that are connected in memory (tests/unit/ca_wire.c).
test_shared += $(if $(filter verbs,$(test_folder)),$(patsubst tests/%.c,$(O)/testobj/%.o,$(wildcard tests/unit/ca_*.c)))

define test_rule
$(O)/$(basename $(patsubst tests/%,%,$(1))): $(patsubst tests/%.c,$(O)/testobj/%.o,$(1)) $(call test_shared,$(1)) $(call libs_of,$(call test_folder,$(1)))
	@mkdir -p $$(@D)
	$$(say) "  TEST    $$(@F)"
	$$(Q)$$(CC) $$(ALL_CFLAGS) $$(LDFLAGS) -o $$@ $$(filter %.o,$$^) -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $$(TEST_LIBS)
endef
$(foreach t,$(unit_srcs),$(eval $(call test_rule,$(t))))

tests: $(unit_bins)

# --- fuzz: tests/fuzz/fuzz_FOLDER_thing.c are libFuzzer programs, which need O=build/fuzz CC=clang SAN=1 FUZZ=1
fuzz_srcs := $(sort $(wildcard tests/fuzz/fuzz_*.c))
fuzz_bins := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(fuzz_srcs))
define fuzz_rule
$(O)/fuzz/$(basename $(notdir $(1))): $(1) $(call libs_of,$(call test_folder,$(1)))
	@mkdir -p $$(@D)
	$$(say) "  FUZZ    $$<"
	$$(Q)$$(CC) $$(ALL_CFLAGS) -fsanitize=fuzzer -MMD -MP -MF $$@.d -MT $$@ -o $$@ $$< -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $$(LIBS)
endef
$(foreach t,$(fuzz_srcs),$(eval $(call fuzz_rule,$(t))))
fuzz-bins: $(fuzz_bins)

# --- programs that system tests and the bench use
tool_srcs := $(sort $(wildcard tests/system/*.c))
system-tools: $(patsubst tests/system/%.c,$(O)/system/%,$(tool_srcs)) $(O)/bench/relay
# A program that uses libuipoib-path as programs of users do
$(O)/system/path_client: tests/system/path_client.c $(O)/libuipoib-path.a include/uipoib/path.h
	@mkdir -p $(@D)
	$(say) "  TOOL    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -pthread -o $@ $< $(O)/libuipoib-path.a -ljansson
# These programs check the project's output from outside, so nothing of src/ is linked.
$(O)/system/%: tests/system/%.c
	@mkdir -p $(@D)
	$(say) "  TOOL    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $< $(TOOL_LIBS)
$(O)/system/pcap_check: TOOL_LIBS := -lpcap

bench_bins := $(patsubst bench/%.c,$(O)/bench/%,$(sort $(wildcard bench/*.c)))
# bench/NAME.c is a program, and the files of bench/NAME/ belong to it.
.SECONDEXPANSION:
$(O)/bench/%: bench/%.c $$(wildcard bench/%/*.c bench/%/*.h) $(call libs_of,all)
	@mkdir -p $(@D)
	$(say) "  BENCH   $<"
	$(Q)$(CC) $(ALL_CFLAGS) -Ibench $(BENCH_CFLAGS) -o $@ $(filter bench/%.c %.o,$^) -Wl,--start-group $(call libs_of,all) -Wl,--end-group $(LIBS) $(BENCH_LIBS)
# This program measures the lab of the simulations.
$(O)/bench/bench_flow: $(O)/testobj/unit/all_lab.o
$(O)/bench/bench_flow: BENCH_CFLAGS := -Itests
$(O)/bench/bench_flow: BENCH_LIBS := $(TEST_LIBS)
bench-bins: $(bench_bins)

# --- targets for users
deps:
	@bash tests/deps.sh build

demo: deps
	@$(MAKE) --no-print-directory -s -j$$(nproc) all
	@$(O)/uipoib demo $(DEMO)

check check-all check-night:
	@bash tests/deps.sh $@
	@bash tests/check.sh $@

lint unit system fuzz-short:
	@bash tests/check.sh $(@:fuzz-short=fuzz)

test: unit

# Make examples/fixtures/ again, by runs of `uipoib conform`
fixtures: all system-tools
	@bash tests/deps.sh check-all
	FIXTURES_KEEP=$(CURDIR)/examples/fixtures UIPOIB=$(O)/uipoib bash tests/system/conform_fixtures.sh

# Change one line of the code at a time. The unit tests and simulations must notice most of these changes.
mutants:
	@bash tests/deps.sh check
	@python3 tests/mutants/mutants.py

# 32-bit and big-endian builds of the layers without I/O
bits:
	@bash tests/deps.sh check-night
	@bash tests/night/bits.sh

# All fuzz targets, 60 s each
fuzz:
	@FUZZ_SECONDS=60 bash tests/check.sh fuzz

# OpenSM sweeps each second while cables are pulled and plugged in, for ten minutes; check-all does this for 60 s.
soak:
	@bash tests/deps.sh check
	@$(MAKE) --no-print-directory -s -j$$(nproc) all system-tools
	@SOAK_SECONDS=600 bash tests/interop/soak.sh

bench:
	@bash tests/deps.sh bench
	@$(MAKE) --no-print-directory -s -j$$(nproc) all bench-bins
	@bash bench/run.sh

# Pictures of the last reports of the benchmark:  make bench-plot PLOTS=doc/bench. bench/plot.py also compares several reports.
PLOTS ?= $(O)/bench
bench-plot:
	@bash bench/plots.sh $(O)/bench $(PLOTS)

# uib.ko and ibtap.ko for every kernel whose headers are installed, or for KVER=RELEASE. Kbuild has its own O= and CC=.
kmod:
	@[ -n "$(KVERS)" ] || { echo "no kernel headers: the package linux-headers-amd64 has them" >&2; exit 3; }
	@for k in $(KVERS); do \
		env -u MAKEFLAGS -u MFLAGS $(MAKE) -s --no-print-directory -C kmod KVER=$$k \
			BUILD=$(abspath $(O))/kmod/$$k $(if $(filter 1,$(V)),,>/dev/null) && \
		strip --strip-debug $(O)/kmod/$$k/uib.ko $(O)/kmod/$$k/ibtap.ko && \
		echo "  KMOD    $(O)/kmod/$$k/uib.ko $(O)/kmod/$$k/ibtap.ko" || exit; \
	done
KVERS	= $(or $(KVER),$(patsubst /lib/modules/%/build,%,$(wildcard /lib/modules/*/build)))

# Tests of uipoib with Linux's own IPoIB in virtual machines
check-linux:
	@bash tests/deps.sh check-all
	@bash tests/check.sh linux

# Try programs of other authors on an ib0 of the kernel's ib_ipoib (doc/works-with.md). The packages of these programs are installed
# in root file systems in build/third-party.
check-third-party:
	@bash tests/deps.sh third-party
	@bash tests/check.sh third-party

deps-vm:
	@bash tests/deps.sh vm

vm: deps-vm
	@$(MAKE) --no-print-directory -s -j$$(nproc) all
	@$(MAKE) --no-print-directory -s kmod

include packaging/install.mk

# The picture of README.md; needs the package graphviz.
doc/overview.svg: doc/overview.dot
	dot -Tsvg $< -o $@

clean:
	rm -rf $(O)

.PHONY: all tests fuzz-bins system-tools bench-bins deps demo check check-all check-night mutants bits lint unit system fuzz-short test fixtures fuzz soak bench bench-plot kmod check-linux check-third-party deps-vm vm clean
.DELETE_ON_ERROR:
# Two folders are not searched: whole root file systems (tests/third-party/root.sh), and the sources of a kernel, some of whose
# folders have names like NAME.d (tests/interop/linux/debug/run.sh).
-include $(shell [ -d $(O) ] && find $(O) -path $(O)/third-party -prune -o -path $(O)/kernel-debug -prune -o -name '*.d' -print)
