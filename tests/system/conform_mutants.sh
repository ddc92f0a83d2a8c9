#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: all long
#
# `uipoib conform` detects each mutant. A mutant is a DUT behind a relay (conform_relay.py), which changes packets so that
# the DUT seems to violate one clause. The case of this clause FAILs. If other cases FAIL, too, the report names the FAIL
# of this clause's case as their cause. Mutants that violate no clause make no case fail.
. "$(dirname "$0")/lib.sh"
. tests/system/conform_rig.bash
need python3 jq dhclient

# The lists whose runs take longest come first.
mutants hld2002 <<-'LIST'
	none
	part-slow
	any-type H4
	held-order H22
	held-kept H25
	part-join-state H30/join
	part-creates H30/only-joins
	part-early H30/before
	part-gives-up H30/created
	part-one-link H9
	part-one-qp H10
	any-part H6
	part-mtu H14
	part-name H11
	part-stays H30/gone
	part-outside H31
	fewer-tries H34
	no-release H35
LIST
mutants v4mc01 <<-'LIST'
	none
	t-flag M7
	scope M3
	group-id M8
	mgid-word M10
	28-bits M9
	fallback-mgid M17
	creates-at-once M19/first
	sender-creates M20
	other-lender M22/all-systems
	leave-bits M27
	leaves-broadcast M24
LIST
mutants v6ib00 <<-'LIST'
	none
	group-word V24
	signature-3333 V6
	t-flag-3333 V5
	scope-3333 V4
	v6-option-length V10/na
	v6-option-lid V11
	v6-option-flags V12
	v6-option-qkey V14/own
	v6-qkey V14/peer
	v6-sl V15
	v6-header V20
	v6-short V10/received
	v6-needs-no-flags V13
LIST
mutants encaparp00 <<-'LIST'
	none
	ea-exchanged P2
	ea-reserved P3
	ea-ethertype P4
	ea-ibarp-type P22
	ea-hlen P23
	ea-target P27
	ea-sender P26
	ea-reply-qkey P25
	ea-peer-qkey P15/peer
	ea-option P14/na
	ea-sidr P18/request
	ea-tclass R24
	ea-needs-copy P20/received
	small-mtu P8
LIST
mutants rfc4391 <<-'LIST'
	reserved R30/sent
	exchanged R29
	ethertype R31
	qkey R52
	pkey R3
	sl R19
	mlid R24
	flow-label R24
	icrc U2
	early I4
	vl I3
	return-path I1
	reregister I5/reregister
	mask R23
	join-state R23
	t-flag R6
	scope R20
	signature R7
	mgid-pkey R15
	group-id R13
	port-gid R49
	silent-subscriber R65
	hardware-type R56/reply
	lladdr-reserved R47/sent
	lladdr-qpn R46/arp
	option-length R57/na
	option-zeros R58
	option-reserved R47/nd
	path-lid R50/lid
	path-sl R54
	path-mask R50/query
	create-sl R68
	full-member-sender R62
	no-leave R69
	any-qkey R43
	any-pkey R44/other
	needs-grh R34/no-grh
	needs-zero R30/received
	minds-flags R47/received
	small-mtu R35
	any-hardware R56/ignored
	any-mkey I6
	keeps-pkey R27
	rarp-type I29
	pma-sl PMA/class
	pma-dgid PMA/grh
	pma-attribute PMA/attribute
	pma-frozen PMA/counters
	pma-clears-all PMA/clear
	dhcp-no-offer D1/lease
	dhcp-htype D1
	dhcp-release D1/release
	dhcp-id D2
	dhcp-no-flag D3/set
	dhcp-flag D3/clear
	router-full R70/list
	router-deaf R70/created
	limited-mgid R15/limited
	limited-pkey I7/limited
	any-limited R44/both
	keeps-mtu R36
	none
	psn
	solicited
	transits
	description
	twice
	keepalives
LIST
judge_mutants
finish
