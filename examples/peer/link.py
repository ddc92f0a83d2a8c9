# SPDX-License-Identifier: BSD-2-Clause
"""A link over UDP (doc/udp-link.md). One datagram is one packet, and an empty datagram is a keepalive."""
import collections
import sched
import time

from peer.wire import Drop, check_link


def say(text):
    print(text, flush=True)


class Timers(sched.scheduler):
    def __init__(self):
        super().__init__(time.monotonic)

    def stop(self, event):
        """Cancel the event unless it has happened."""
        if event and event in self.queue:
            self.cancel(event)


class Link:
    """The link is silent (it sends and receives nothing), polling (it sends, and has received nothing yet) or up."""
    SILENCE, TIMEOUT, KEEPALIVE = 4.0, 3.0, 1.0

    def __init__(self, timers, sock, peer, count, changed):
        self.timers, self.sock, self.count, self.changed = timers, sock, count, changed
        self.peer = self.configured = peer
        self.state, self.heard, self.silence, self.watch = None, 0.0, None, None
        self.queues = [collections.deque() for _ in range(2)]   # one queue for management packets, one for others
        self.go_silent()

    def set_state(self, state):
        if state != self.state:
            say(f"link {state}")
            self.state = state
            self.changed(state == "up")

    def go_silent(self, seconds=SILENCE):
        """Send nothing for SECONDS (0: for ever), so that the other end sees the link drop, too. This happens at the start, after a Set of the port
        to Down, Polling or Disabled, and when the other end was silent for too long."""
        self.timers.stop(self.silence)
        self.timers.stop(self.watch)
        for queue in self.queues:
            queue.clear()
        self.peer = self.configured
        self.set_state("silent")
        if seconds:
            self.silence = self.timers.enter(seconds, 0, self.speak)

    def speak(self):
        self.set_state("polling")
        self.keepalive()

    def keepalive(self):
        """Send a keepalive every second, unless the link is silent."""
        if self.state != "silent":
            if self.peer:
                self.transmit(b"")
            self.timers.enter(self.KEEPALIVE, 0, self.keepalive)

    def listen(self):
        """Go silent if no valid datagram has arrived in the last three seconds."""
        left = self.heard + self.TIMEOUT - time.monotonic()
        if left > 0:
            self.watch = self.timers.enter(left, 0, self.listen)
        else:
            self.go_silent()

    def send(self, packet, priority):
        if self.state == "up" and len(self.queues[priority]) < 1000:
            self.queues[priority].append(packet)
        else:
            self.count["send-link"] += 1

    def flush(self):
        for queue in self.queues:
            while queue and self.transmit(queue[0]):
                queue.popleft()

    def transmit(self, data):
        try:
            self.sock.sendto(data, self.peer)
        except BlockingIOError:
            return False                # the socket is full; Hca.run() waits until it has room
        except OSError as error:        # the packet counts as lost
            self.count[f"send-errno-{error.errno}"] += 1
        return True

    def receive(self):
        """Yield the packets that have arrived."""
        for _ in range(64):             # a bound, because timers must run, too
            try:
                data, sender = self.sock.recvfrom(65536)
            except (BlockingIOError, InterruptedError):
                return
            try:
                if self.take(data, sender):
                    yield data
            except Drop as drop:
                self.count[f"link-{drop}"] += 1

    def take(self, data, sender):
        """Tell whether the datagram is a packet. Only a valid datagram keeps the link up and makes its sender the peer."""
        if self.state == "silent":
            raise Drop("silent")
        if self.peer and sender[:2] != self.peer[:2]:
            raise Drop("stray")
        if data:
            check_link(data)
        self.heard = time.monotonic()
        if self.state == "polling":
            self.peer = self.peer or sender[:2]
            self.listen()
            self.set_state("up")
        return bool(data)

