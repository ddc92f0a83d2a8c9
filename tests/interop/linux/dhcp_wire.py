# SPDX-License-Identifier: BSD-2-Clause
"""Checks the DHCP messages on the link between a Linux ib0 and uipoib.

    dhcp_wire.py CAPTURE LID      LID is that of the Linux port

The program prints the number of messages of each kind, and the messages that violate RFC 4390 (clauses D1, D2 and D3 of
CONFORMANCE.md) or are answered wrongly. The exit status is 1 if there are such messages, or if a kind is missing. In
partition 0x8001 uipoib's interfaces have dhcp = raw, so messages have the format of Ethernet.
"""
import subprocess
import sys

FIELDS = ['infiniband.lrh.slid', 'infiniband.bth.p_key', 'ip.dst', 'udp.checksum.status', 'udp.payload']
KINDS = {1: 'DISCOVER', 2: 'OFFER', 3: 'REQUEST', 4: 'DECLINE', 5: 'ACK', 6: 'NAK', 7: 'RELEASE', 8: 'INFORM'}
BROADCAST = '255.255.255.255'


class Message:
    def __init__(self, slid, pkey, dst, checksum, payload, linux):
        b = bytes.fromhex(payload)
        self.by = 'linux' if int(slid, 0) == linux else 'uipoib'
        self.raw = int(pkey, 0) == 0x8001
        self.dst, self.checksum = dst, checksum
        self.op, self.htype, self.hlen, self.xid = b[0], b[1], b[2], b[4:8]
        self.asks_broadcast = bool(b[10] & 0x80)
        self.ciaddr = '.'.join(map(str, b[12:16]))
        self.has_address = self.ciaddr != '0.0.0.0'
        self.chaddr, self.options = b[28:44], self.parse(b)
        self.kind = KINDS[self.options[53][0]]
        if self.kind == 'REQUEST' and self.has_address:
            self.kind = 'REBIND' if dst == BROADCAST else 'RENEW'

    @staticmethod
    def parse(b):
        i, found = 240, {}
        while b[i] != 255:
            if b[i]:
                found[b[i]] = b[i + 2:i + 2 + b[i + 1]]
                i += 1 + b[i + 1]
            i += 1
        return found

    def key(self):
        return ('raw ' if self.raw else '') + self.by + ' ' + self.kind

    def faults(self):
        """Returns the fields of this message that violate RFC 4390."""
        if self.checksum != '1':
            yield 'UDP checksum'
        if self.raw and self.by == 'uipoib':
            if self.op == 1 and (self.htype, self.hlen) != (1, 6):
                yield 'raw: htype %d, hlen %d' % (self.htype, self.hlen)
            return
        if self.raw:
            return
        if (self.htype, self.hlen) != (32, 0) or any(self.chaddr):
            yield 'D1: htype %d, hlen %d, chaddr %s' % (self.htype, self.hlen, self.chaddr.hex())
        if self.op == 1 and self.options.get(61, b'\0')[0] != 255:
            yield 'D2: client identifier %s' % self.options.get(61, b'').hex()
        if self.op == 1 and self.asks_broadcast != (self.kind in ('DISCOVER', 'REQUEST')):
            yield 'D3: broadcast flag %s' % self.asks_broadcast


def read(path, linux):
    args = ['tshark', '-n', '-r', path, '-o', 'udp.check_checksum:TRUE', '-Y', 'dhcp && !icmp', '-T', 'fields']
    for f in FIELDS:
        args += ['-e', f]
    for line in subprocess.run(args, capture_output=True, check=True, text=True).stdout.splitlines():
        yield Message(*line.split('\t'), linux)


def unicast_renewals(messages, server):
    """Returns two numbers: how many ACKs SERVER sent to the client's own address in answer to a renewal, and how many
    to another address."""
    renewals, right, wrong = {}, 0, 0
    for m in messages:
        if m.raw:
            continue
        if m.kind == 'RENEW':
            renewals[m.xid] = m.ciaddr
        elif m.kind == 'REBIND':
            renewals.pop(m.xid, None)
        elif m.kind == 'ACK' and m.by == server and m.xid in renewals:
            right, wrong = (right + 1, wrong) if m.dst == renewals[m.xid] else (right, wrong + 1)
    return right, wrong


def main():
    messages = list(read(sys.argv[1], int(sys.argv[2])))
    counts, bad = {}, []
    for m in messages:
        counts[m.key()] = counts.get(m.key(), 0) + 1
        bad += [(m.key(), f) for f in m.faults()]
    # systemd-networkd 252 requests a broadcast in each message, even with a ciaddr, and its RELEASE contains 16
    # octets of the link-layer address.
    linux = [(k, f) for k, f in bad if (k in ('linux RENEW', 'linux REBIND', 'linux RELEASE') and f.startswith('D3'))
             or (k == 'linux RELEASE' and f.startswith('D1: htype 32, hlen 0'))]
    bad = [b for b in bad if b not in linux]
    print(counts)
    print('not as RFC 4390 has it, by Linux:', sorted(set(linux)))
    print('wrong:', bad)
    client = ('DISCOVER', 'REQUEST', 'RENEW', 'REBIND', 'RELEASE')
    want = [by + ' ' + kind for by in ('linux', 'uipoib') for kind in client + ('OFFER', 'ACK')]
    want += ['raw uipoib DISCOVER', 'raw linux DISCOVER', 'raw linux ACK', 'raw uipoib ACK']
    missing = [k for k in want if k not in counts]
    print('missing:', missing)
    for server in ('linux', 'uipoib'):
        right, wrong = unicast_renewals(messages, server)
        print('renewals answered by', server, 'to the address:', right, 'elsewhere:', wrong)
        if not right or wrong:
            bad.append(('ACK to RENEW', server))
    sys.exit(bool(bad or missing or not linux))


main()
