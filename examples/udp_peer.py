#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An InfiniBand HCA with one port, at the end of a UDP link (doc/udp-link.md).

    examples/udp_peer.py --listen 127.0.0.1:6001 --peer 127.0.0.1:5001 \\
        --guid 0x00ace0000000c099 --address 10.4.0.99/24 [--ping 10.4.0.1 --count 3]

The program answers the subnet manager, joins the IPoIB broadcast group, answers ARP and ping on its
IPv4 address, and can ping. It was written from the specification as an example for authors of other
implementations. Read its files in this order: peer/wire.py (packets, CRCs), link.py, sma.py, port.py,
ipoib.py. The exit status is 1 if a ping or a test failed, 2 if an argument is wrong, 3 if the program
cannot listen, 4 if it could not join the group in time, and otherwise 0.
"""
import argparse
import ipaddress
import signal
import socket
import sys

sys.dont_write_bytecode = True
from peer.ipoib import Pinger               # noqa: E402 (it would leave __pycache__ behind)
from peer.link import say                   # noqa: E402
from peer.port import Hca                   # noqa: E402
from peer.selftest import self_test         # noqa: E402


def endpoint(text):
    host, _, port = text.rpartition(":")
    try:
        ip = ipaddress.ip_address(host.strip("[]"))
        if not 0 < int(port) < 65536:
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not ADDRESS:PORT") from None
    return str(ip), int(port)


def number(bits):
    def convert(text):
        value = int(text, 0)
        if not 0 < value < 1 << bits:
            raise argparse.ArgumentTypeError(f"{text!r} is not of {bits} bits, or 0")
        return value
    convert.__name__ = "number"
    return convert


class SelfTest(argparse.Action):
    def __call__(self, *_):
        sys.exit(self_test())


def arguments():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--listen", type=endpoint, required=True, metavar="ADDRESS:PORT")
    a.add_argument("--peer", type=endpoint, metavar="ADDRESS:PORT", help="default: who speaks first")
    a.add_argument("--guid", type=number(64), required=True, help="of the port and the node")
    a.add_argument("--address", type=ipaddress.IPv4Interface, required=True, metavar="IPV4/PREFIX")
    a.add_argument("--pkey", type=number(16), default=0xFFFF)
    a.add_argument("--ping", type=ipaddress.IPv4Address, metavar="IPV4", help="ping it, and end")
    a.add_argument("--count", type=int, default=3)
    a.add_argument("--interval", type=float, default=0.2)
    a.add_argument("--self-test", action=SelfTest, nargs=0, help="of the CRCs and the SMA, and end")
    a.add_argument("--wait", type=float, default=30, help="seconds for --ping to be joined")
    args = a.parse_args()
    if args.ping and args.ping not in args.address.network:
        a.error(f"--ping {args.ping} is not in {args.address.network}: there is no gateway here")
    if not ipaddress.ip_address(args.listen[0]).is_loopback:
        if not args.peer:
            a.error("--listen on more than loopback needs --peer")
        print("udp_peer: warning: a UDP link is not authenticated", file=sys.stderr)
    return args


def main():
    args = arguments()
    sock = socket.socket(socket.AF_INET6 if ":" in args.listen[0] else socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.setblocking(False)
    try:
        sock.bind(args.listen)
    except OSError as error:
        print("udp_peer: %s port %d: %s" % (*args.listen, error.strerror), file=sys.stderr)
        return 3
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    hca = Hca(args, sock)
    pinger = args.ping and Pinger(hca, args.ping, args.count, args.interval, args.wait)
    try:
        hca.run(lambda: pinger and pinger.status is not None)
    except KeyboardInterrupt:
        pass
    for reason, packets in sorted(hca.count.items()):
        say(f"{reason} {packets}")
    return pinger.status if pinger else 0


if __name__ == "__main__":
    sys.exit(main())
