// SPDX-License-Identifier: BSD-2-Clause

// child PARENT NETNS NAME [PKEY]: makes an IPoIB interface of PARENT in the network namespace NETNS, sets it up and prints it. Without PKEY it
// has the P_Key of PARENT.
//
// child NAME: prints an interface: its P_Key and its mode, and the octets of its address.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

func must(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func ipoib(name string) *netlink.IPoIB {
	link, err := netlink.LinkByName(name)
	must(name, err)
	if ib, ok := link.(*netlink.IPoIB); ok {
		return ib
	}
	must(name, fmt.Errorf("the library takes it for type %s", link.Type()))
	return nil
}

func show(name string) {
	ib := ipoib(name)
	fmt.Printf("%s pkey 0x%04x mode %s address of %d octets\n", name, ib.Pkey, ib.Mode.String(), len(ib.HardwareAddr))
}

// enter moves this thread to a namespace, in which the interface gets its name and is set up.
func enter(space netns.NsHandle, temporary, name string) {
	runtime.LockOSThread()
	must("setns", netns.Set(space))
	link, err := netlink.LinkByName(temporary)
	must(temporary, err)
	must("down", netlink.LinkSetDown(link))
	must("name", netlink.LinkSetName(link, name))
	must("up", netlink.LinkSetUp(link))
	show(name)
}

func main() {
	if len(os.Args) == 2 {
		show(os.Args[1])
		return
	}
	parent := ipoib(os.Args[1])
	pkey := uint64(parent.Pkey & 0x7fff)
	if len(os.Args) > 4 {
		var err error
		pkey, err = strconv.ParseUint(os.Args[4], 0, 16)
		must("P_Key", err)
	}
	space, err := netns.GetFromName(os.Args[2])
	must(os.Args[2], err)
	child := &netlink.IPoIB{
		LinkAttrs: netlink.LinkAttrs{Name: "child0", ParentIndex: parent.Attrs().Index},
		Pkey:      uint16(pkey),
		Mode:      parent.Mode,
		Umcast:    1,
	}
	must("add", netlink.LinkAdd(child))
	link, err := netlink.LinkByName("child0")
	must("child0", err)
	must("move", netlink.LinkSetNsFd(link, int(space)))
	enter(space, "child0", os.Args[3])
}
