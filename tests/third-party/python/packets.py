# SPDX-License-Identifier: BSD-2-Clause
"""
What scapy does with the kernel's ib0: packets.py CAPTURE. It prints a line for each trial, with the result or the exception.
One process makes all trials, because an emulated processor needs a minute to load the library. CAPTURE is a file of tcpdump.
"""
import socket
import sys
import threading

from scapy.all import ARP, ICMP, IP, AsyncSniffer, L3RawSocket, conf, get_if_hwaddr, rdpcap, sr1


def trial(name):
    def make(function):
        try:
            result = function()
        except Exception as e:
            result = "%s: %s" % (type(e).__name__, e)
        print("%s: %s" % (name, result), flush=True)

    return make


def summary(packets):
    return "; ".join(p.summary() for p in packets)


def listened(send, **options):
    """What a sniffer hears after send(): two packets at most."""
    started = threading.Event()
    sniffer = AsyncSniffer(iface="ib0", count=2, timeout=60, started_callback=started.set, **options)
    sniffer.start()
    started.wait()
    send()
    sniffer.join()
    return summary(sniffer.results)


def datagram():
    """Sends a datagram by Linux's own UDP to h1's port 9, which is closed."""
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("10.4.0.1", 9))


def echo():
    L3RawSocket().send(IP(dst="10.4.0.1") / ICMP())


conf.verb = 0


@trial("capture")
def _():
    return summary(rdpcap(sys.argv[1]))


@trial("hwlen of ARP in the capture")
def _():
    return [p[ARP].hwlen for p in rdpcap(sys.argv[1]) if ARP in p]


@trial("link address")
def _():
    return get_if_hwaddr("ib0")


@trial("request")
def _():
    return summary([p for p in [sr1(IP(dst="10.4.0.1") / ICMP(), timeout=20)] if p]) or "no answer"


@trial("listened")
def _():
    return listened(datagram)


@trial("listened by libpcap")
def _():
    conf.use_pcap = True
    return listened(datagram, filter="udp or icmp")


@trial("sent by L3RawSocket")
def _():
    return listened(echo, filter="icmp")


print("end", flush=True)
