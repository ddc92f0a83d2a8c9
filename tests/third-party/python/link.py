# SPDX-License-Identifier: BSD-2-Clause
"""
What pyroute2 does with the kernel's ib0. Each argument is a command. One process executes all commands, because an
emulated processor needs seconds to load the library.

    configure ADDRESS LENGTH    set ib0 up, with this address
    partition NAME P_KEY        make an interface of ib0 in this partition, and set it up
    show NAME                   print P_Key and mode of an interface in a partition
    move NAME NETNS             move an interface to a network namespace
    remove NAME                 remove an interface
    route DESTINATION GATEWAY   add a route
    address NAME                print the link address, as the library gives it
    neighbour ADDRESS           print the link address of a neighbour of ib0
    resolve ADDRESS LLADDR      make a neighbour of ib0
"""
import sys

from pyroute2 import IPRoute


def index(name):
    return ip.link_lookup(ifname=name)[0]


def configure(address, length):
    ip.link("set", index=index("ib0"), state="up")
    ip.addr("add", index=index("ib0"), address=address, prefixlen=int(length))


def partition(name, pkey):
    ip.link("add", ifname=name, kind="ipoib", link=index("ib0"), pkey=int(pkey, 0))
    ip.link("set", index=index(name), state="up")


def show(name):
    data = ip.get_links(index(name))[0].get_nested("IFLA_LINKINFO", "IFLA_INFO_DATA")
    print("pkey %#x mode %s" % (data.get_attr("IFLA_IPOIB_PKEY"), data.get_attr("IFLA_IPOIB_MODE")))


def move(name, netns):
    ip.link("set", index=index(name), net_ns_fd=netns)


def remove(name):
    ip.link("del", index=index(name))


def route(destination, gateway):
    ip.route("add", dst=destination, gateway=gateway)


def address(name):
    print(ip.get_links(index(name))[0].get_attr("IFLA_ADDRESS"))


def neighbour(address):
    for n in ip.get_neighbours(ifindex=index("ib0")):
        if n.get_attr("NDA_DST") == address:
            print(n.get_attr("NDA_LLADDR"))


def resolve(address, lladdr):
    ip.neigh("add", dst=address, lladdr=lladdr, ifindex=index("ib0"), state="permanent")


with IPRoute() as ip:
    for command in sys.argv[1:]:
        name, *words = command.split()
        globals()[name](*words)
