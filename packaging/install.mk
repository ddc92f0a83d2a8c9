# SPDX-License-Identifier: BSD-2-Clause
#
# Installation, with the variables of the GNU Coding Standards ("Variables for Installation Directories"), for example
#
#	make install prefix=/usr libdir=/usr/lib/x86_64-linux-gnu DESTDIR=/tmp/root
#
# Programs look for their other files in ../lib/uipoib, relative to bindir. So $(pkglibdir) is derived from bindir.

DESTDIR		?=
PREFIX		?= /usr/local
prefix		?= $(PREFIX)
exec_prefix	?= $(prefix)
bindir		?= $(exec_prefix)/bin
libdir		?= $(exec_prefix)/lib
includedir	?= $(prefix)/include
datarootdir	?= $(prefix)/share
mandir		?= $(datarootdir)/man
sysconfdir	?= $(prefix)/etc
pkgconfigdir	?= $(libdir)/pkgconfig
# The GNU standards have no variables for bash-completion and systemd, so these variables have the names that the two
# projects use.
completionsdir	?= $(datarootdir)/bash-completion/completions
systemdsystemunitdir ?= $(exec_prefix)/lib/systemd/system
pkglibdir	= $(dir $(bindir:/=))lib/uipoib

INSTALL		?= install
INSTALL_PROGRAM	?= $(INSTALL) -m 755
INSTALL_DATA	?= $(INSTALL) -m 644

# Every file that is installed, as TARGET_FOLDER:SOURCE, in separate lists for programs and data. The modules are those that `make kmod` has
# built.
installed_programs = $(bindir):$(O)/uipoib $(pkglibdir):$(O)/uipoib-vm-init
installed_data = \
	$(pkglibdir):$(O)/libuipoib-umad.so \
	$(libdir):$(O)/$(PATH_SO) $(libdir):$(O)/libuipoib-path.a $(includedir)/uipoib:include/uipoib/path.h \
	$(pkgconfigdir):$(O)/libuipoib-path.pc \
	$(completionsdir):$(O)/completion/uipoib \
	$(foreach u,$(installed_units),$(systemdsystemunitdir):$(u)) \
	$(foreach m,$(sort $(wildcard man/*.[1-9])),$(mandir)/man$(subst .,,$(suffix $(m))):$(m)) \
	$(foreach m,$(sort $(wildcard $(O)/kmod/*/uib.ko $(O)/kmod/*/ibtap.ko)),$(pkglibdir)/$(notdir $(patsubst %/,%,$(dir $(m)))):$(m))

in_folder = $(firstword $(subst :, ,$(1)))
in_source = $(lastword $(subst :, ,$(1)))
in_place = $(DESTDIR)$(call in_folder,$(1))/$(notdir $(call in_source,$(1)))

# Files that contain names of folders
$(O)/libuipoib-path.pc: src/path/libuipoib-path.pc.in
	@mkdir -p $(@D)
	$(Q)sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' $< >$@
installed_units = $(O)/uipoib@.service $(O)/uipoib-netns@.service
$(installed_units): $(O)/%.service: packaging/%.service.in
	@mkdir -p $(@D)
	$(Q)sed -e 's|@bindir@|$(bindir)|; s|@sysconfdir@|$(sysconfdir)|' $< >$@
$(O)/completion/uipoib: $(O)/uipoib
	@mkdir -p $(@D)
	$(Q)$< completion bash >$@

# The folders may differ from the folders of the last call, so files that contain names of folders are made again.
installed_made = $(O)/libuipoib-path.pc $(installed_units)
ifneq ($(filter install install-strip,$(MAKECMDGOALS)),)
.PHONY: $(installed_made)
endif

install: all $(O)/completion/uipoib $(installed_made)
	$(Q)$(foreach i,$(installed_programs),mkdir -p $(DESTDIR)$(call in_folder,$(i)) && \
		$(INSTALL_PROGRAM) $(call in_source,$(i)) $(call in_place,$(i)) &&) true
	$(Q)$(foreach i,$(installed_data),mkdir -p $(DESTDIR)$(call in_folder,$(i)) && \
		$(INSTALL_DATA) $(call in_source,$(i)) $(call in_place,$(i)) &&) true
	$(Q)ln -sf $(PATH_SO) $(DESTDIR)$(libdir)/libuipoib-path.so

install-strip:
	$(MAKE) INSTALL_PROGRAM='$(INSTALL_PROGRAM) -s' install

# Remove the files that `make install` with the same variables installs, and the folders of uipoib if these folders are then empty
uninstall:
	$(Q)rm -f $(foreach i,$(installed_programs) $(installed_data),$(call in_place,$(i))) $(DESTDIR)$(libdir)/libuipoib-path.so
	$(Q)for d in $(DESTDIR)$(pkglibdir)/* $(DESTDIR)$(pkglibdir) $(DESTDIR)$(includedir)/uipoib; do \
		[ ! -d "$$d" ] || rmdir --ignore-fail-on-non-empty "$$d"; done

# The source of this commit as an archive. The same commit gives the same octets on every machine: `git archive` sorts the files and
# takes their time from the commit, and gzip is told to store neither name nor time.
dist_name = uipoib-$(VERSION)
dist:
	@git rev-parse --git-dir >/dev/null 2>&1 || { echo "make dist: this folder is not a git repository" >&2; exit 2; }
	@mkdir -p $(O)
	git -c core.autocrlf=false archive --format=tar --prefix=$(dist_name)/ HEAD | gzip -9n >$(O)/$(dist_name).tar.gz

# The Debian packages, in build/deb. dpkg-buildpackage works in an unpacked copy of the archive of `make dist`, so changes that are not
# committed are not in the packages.
deb: dist
	@bash tests/deps.sh deb
	@bash packaging/deb.sh $(O)/$(dist_name).tar.gz $(abspath $(O))/deb

.PHONY: install install-strip uninstall dist deb
