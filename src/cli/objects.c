/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "dut/dut.h"
#include "machine/machine.h"
#include "run/run.h"
#include "web/main.h"

const struct cli_cmd cli_objects[] = {
	{ "demo", cli_demo, "[--hosts N] [--keep] ...", "a fabric at work, in 40 lines",
	  .own_options = true, .options = cli_demo_options },
	{ "run", run_command, "-c FILE [-- CMD]", "run what a file describes", .own_options = true,
	  .options = run_options },
	{ "vm", machine_vm, "[-c FILE] -- CMD", "run a command in a VM with Linux's own ib0",
	  .own_options = true, .options = machine_vm_options },
	{ "wait", cli_wait, "[--timeout S]", "until all interfaces are up",
	  .options = cli_timeout_options },
	{ "exec", cli_exec, "HOST [CMD]", "run a command in a host", .own_options = true },
	{ "reload", cli_reload, "", "read the configuration of an instance again" },
	{ "stop", cli_stop, "[--timeout S]", "end an instance", .options = cli_timeout_options },
	{ "instance", NULL, "show", "instances that run", .verbs = cli_instance_verbs },
	{ "host", NULL, "show", "hosts and their namespaces", .verbs = cli_host_verbs },
	{ "link", NULL, "show", "interfaces", .verbs = cli_link_verbs },
	{ "neigh", NULL, "show", "peers on a link", .verbs = cli_neigh_verbs },
	{ "path", NULL, "show | get ADDRESS", "paths, as the SA says them",
	  .verbs = cli_path_verbs },
	{ "maddr", NULL, "show", "multicast groups of interfaces", .verbs = cli_maddr_verbs },
	{ "stats", NULL, "show", "counters of every layer", .verbs = cli_stats_verbs },
	{ "fabric", NULL, "show | ...", "switches, links, SM: uipoib fabric -h",
	  .verbs = cli_fabric_verbs },
	{ "capture", NULL, "start | stop | show | decode",
	  "packets to a file, for tshark, or in words", .verbs = cli_capture_verbs },
	{ "trace", cli_trace, "HOST HOST [ping | tcp PORT | udp PORT | arp | path | join]",
	  "one ping, or connection, or ..., as the fabric saw it" },
	{ "monitor", cli_monitor, "", "what happens, as it happens" },
	{ "web", web_main, "[--listen ADDR:PORT] [--host NAME]",
	  "a page for a browser, and counters for Prometheus", .options = web_options },
	{ "check", cli_check,
	  "PORT [pkey P] [peer ADDRESS|GID] [dev NAME] [timeout MS] [mkey KEY] [smkey KEY]",
	  "what stands between a port and IP" },
	{ "conform", dut_conform, "--dut udp:ADDR:PORT", "judge another IPoIB, clause by clause",
	  .own_options = true, .options = dut_conform_options },
	{ "completion", NULL, "bash", "for a shell: source <(uipoib completion bash)",
	  .verbs = cli_completion_verbs },
	{ NULL },
};
