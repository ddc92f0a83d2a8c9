// SPDX-License-Identifier: BSD-2-Clause
// The fabrics as the page knows them: a snapshot, which events keep up to date. Lengths are in pixels of the map at scale 1.

export const UNIT = 132, LEVEL = 132, ROW = 54, BOX = [112, 38];

// Gb/s of data on a lane: IBTA 14.2.5.6; 64b/66b from FDR on
const LANE = { SDR: 2, DDR: 4, QDR: 8, FDR: 13.64, EDR: 25, HDR: 50, NDR: 100, XDR: 200 };

const octets = (speed) => {
	const m = /^(\d+)x([A-Z]+)/.exec(speed || "");
	return m && LANE[m[2]] ? Number(m[1]) * LANE[m[2]] * 1.25e8 : 1.25e9;
};

export const rate = (v) => {
	const bits = v * 8;
	for (const [unit, size] of [["Gb/s", 1e9], ["Mb/s", 1e6], ["kb/s", 1e3]])
		if (bits >= size)
			return `${(bits / size).toFixed(bits < 10 * size ? 1 : 0)} ${unit}`;
	return bits ? `${bits} b/s` : "0";
};

export class Model {
	constructor(snapshot) {
		Object.assign(this, snapshot);
		this.byName = new Map();
		this.byDescription = new Map(); // managers name nodes by their NodeDescriptions
		this.nodes.forEach((n, k) => {
			n.index = k;
			n.links = [];
			n.px = (n.x || 0) * UNIT;
			n.py = (this.levels - 1 - (n.level || 0)) * LEVEL + (n.row || 0) * ROW;
			this.byName.set(`${n.fabric} ${n.name}`, n);
			this.byDescription.set(`${n.fabric} ${n.description}`, n);
		});
		this.links.forEach((l, k) => {
			l.index = k;
			l.octets = octets(l.speed);
			l.errorAt = 0;
			l.A = this.nodes[l.a[0]];
			l.B = l.b ? this.nodes[l.b[0]] : null;
			l.A.links.push(l);
			if (l.B && l.B !== l.A)
				l.B.links.push(l);
			l.drawn = Boolean(l.B) && !l.A.hidden && !l.B.hidden;
		});
		this.shown = this.nodes.filter((n) => !n.hidden);
		this.masters();
	}

	masters() {
		this.shown.forEach((n) => { n.sm = ""; });
		for (const s of this.sms) {
			const n = this.nodeOf(s.fabric, s.port);
			if (n)
				n.sm = s.state === "master" ? "SM master" : `SM ${s.state}`;
		}
	}

	fabricIndex(name) {
		return Math.max(0, this.fabrics.findIndex((f) => f.name === name));
	}

	// Returns the node of a port "NODE/PORT"
	nodeOf(fabric, port) {
		const key = `${this.fabricIndex(fabric)} ${port.slice(0, port.lastIndexOf("/"))}`;
		return this.byName.get(key) || this.byDescription.get(key);
	}

	linkOf(fabric, port) {
		const n = this.nodeOf(fabric, port), num = Number(port.slice(port.lastIndexOf("/") + 1));
		return n && n.links.find((l) => (l.A === n && l.a[1] === num) || (l.B === n && l.b[1] === num));
	}

	endName(l, b) {
		if (b && !l.B)
			return l.outside;
		return b ? `${l.B.name}/${l.b[1]}` : `${l.A.name}/${l.a[1]}`;
	}

	// Return the port of a link at a node, and the name of the other end
	portAt(l, n) {
		return l.A === n ? l.a[1] : l.b[1];
	}

	peerName(l, n) {
		return this.endName(l, l.A === n);
	}

	update(rows) {
		for (const [k, state, rateA, rateB, errorsA, errorsB] of rows) {
			const l = this.links[k];
			if (!l)
				continue;
			if (errorsA + errorsB > l.errors[0] + l.errors[1])
				l.errorAt = performance.now();
			l.state = state;
			l.rate = [rateA, rateB];
			l.errors = [errorsA, errorsB];
		}
	}

	// Returns the number of a link's colour: 0 if idle, 1 to 4 by load, 5 if not up
	grade(l) {
		if (l.state !== "up")
			return 5;
		const u = Math.max(l.rate[0], l.rate[1]) / l.octets;
		return u === 0 ? 0 : u < 0.05 ? 1 : u < 0.25 ? 2 : u < 0.6 ? 3 : 4;
	}

	summary() {
		const switches = this.nodes.filter((n) => n.switch).length, up = this.links.filter((l) => l.state === "up").length;
		const master = this.sms.find((s) => s.state === "master");
		const some = (n, one) => `${n} ${one}${n === 1 ? "" : one.endsWith("h") ? "es" : "s"}`;
		return [some(switches, "switch"), some(this.nodes.length - switches, "CA"), `${up} of ${some(this.links.length, "link")} up`,
			master ? `master ${master.port}` : "no master"].join(" · ");
	}
}
