// SPDX-License-Identifier: BSD-2-Clause
// The map: a canvas that is moved with the pointer, the wheel and the keyboard. Only visible nodes and links are drawn, in less detail at a small scale.

import { BOX } from "/model.js";

const COLOURS = ["idle", "load1", "load2", "load3", "load4", "down"];
const WIDTHS = [1.5, 2, 2.5, 3.5, 4.5, 2];
const SLACK = 6; // pixels beside a link at which a click still hits it
const RECENT = 4000; // milliseconds in which new errors stand out

export class View {
	constructor(map, canvas, on) {
		this.map = map;
		this.canvas = canvas;
		this.on = on;
		this.g = canvas.getContext("2d");
		this.at = { x: 0, y: 0, s: 1, v: 1 };
		this.box = [0, 0, 0, 0];
		this.pointers = new Map();
		this.mark = null; // { nodes, links }: what is highlighted
		this.focused = this.selected = null;
		this.frames = [];
		this.colours();
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.colours(); this.draw(); });
		new ResizeObserver(() => this.resize()).observe(map);
		this.listen();
	}

	colours() {
		const style = getComputedStyle(document.documentElement), c = (n) => style.getPropertyValue(`--${n}`).trim();
		this.links = COLOURS.map(c);
		for (const n of ["text", "muted", "switch", "switch-line", "ca", "ca-line", "accent", "on-accent", "mark", "error", "down", "surface"])
			this[`c_${n.replace("-", "_")}`] = c(n);
	}

	setModel(model) {
		const before = this.model;
		this.model = model;
		this.mark = null;
		const xs = model.shown.map((n) => n.px), ys = model.shown.map((n) => n.py);
		const span = (v) => v.reduce(([a, b], k) => [Math.min(a, k), Math.max(b, k)], [Infinity, -Infinity]);
		this.box = model.shown.length ? [...span(xs), ...span(ys)] : [0, 0, 0, 0];
		const again = (n) => n && (model.byName.get(`${n.fabric} ${n.name}`) || null);
		this.focused = again(this.focused);
		this.selected = this.selected && this.selected.name !== undefined ? again(this.selected) : null;
		if (!before || before.shown.length !== model.shown.length)
			this.fit();
		else
			this.draw();
	}

	resize() {
		const r = this.map.getBoundingClientRect(), d = devicePixelRatio || 1;
		this.w = r.width;
		this.h = r.height;
		this.canvas.width = Math.round(this.w * d);
		this.canvas.height = Math.round(this.h * d);
		this.d = d;
		if (!this.touched && this.model)
			this.fit();
		this.paint();
	}

	// A wide fabric is drawn at a small scale, but its levels stay apart as far as the window allows, so the map has a scale for each direction.
	vertical(s) {
		return Math.max(s, Math.min(0.8, (this.h - 130) / Math.max(1, this.box[3] - this.box[2])));
	}

	// Returns the position of a node in the window
	place(n) {
		return [this.at.x + n.px * this.at.s, this.at.y + n.py * this.at.v];
	}

	fit() {
		if (!this.w || !this.model)
			return;
		const [x0, x1, y0, y1] = this.box, w = x1 - x0 + BOX[0] + 40, h = y1 - y0 + BOX[1] + 90;
		const s = Math.min(this.w / w, this.h / h, 1.6), v = this.vertical(s);
		this.at = { s, v, x: this.w / 2 - s * (x0 + x1) / 2, y: this.h / 2 - v * (y0 + y1) / 2 };
		this.touched = false; // until the user moves the map, it fits the window
		this.draw();
	}

	zoom(factor, cx = this.w / 2, cy = this.h / 2) {
		const s = Math.min(4, Math.max(0.004, this.at.s * factor)), v = this.vertical(s);
		this.at = { s, v, x: cx - (cx - this.at.x) * s / this.at.s, y: cy - (cy - this.at.y) * v / this.at.v };
		this.touched = true;
		this.draw();
	}

	move(dx, dy) {
		this.at.x += dx;
		this.at.y += dy;
		this.touched = true;
		this.draw();
	}

	// Brings a node into the picture, near enough to be read.
	show(n) {
		if (!n || n.hidden)
			return;
		if (this.at.s < 0.35)
			this.zoom(0.8 / this.at.s);
		const [x, y] = this.place(n), m = 60;
		if (x < m || x > this.w - m || y < m || y > this.h - m) {
			this.move(this.w / 2 - x, this.h / 2 - y);
		}
		this.draw();
	}

	draw() {
		if (!this.asked)
			this.asked = requestAnimationFrame(() => { this.asked = 0; this.paint(); });
	}

	/* --- painting */

	paint() {
		if (!this.model || !this.w)
			return;
		const began = performance.now(), g = this.g, { s } = this.at;
		g.setTransform(this.d, 0, 0, this.d, 0, 0);
		g.clearRect(0, 0, this.w, this.h);
		for (const n of this.model.shown)
			[n.x0, n.y0] = this.place(n);
		this.paintLinks(g, s);
		this.paintNodes(g, s);
		this.frames.push(performance.now() - began);
		if (this.frames.length > 600)
			this.frames.shift();
		if (!this.painted) {
			this.painted = true;
			performance.mark("first-picture");
		}
	}

	visible(l) {
		const a = l.A, b = l.B, m = 130 * this.at.s;
		return !(Math.max(a.x0, b.x0) < -m || Math.min(a.x0, b.x0) > this.w + m || Math.max(a.y0, b.y0) < -m || Math.min(a.y0, b.y0) > this.h + m);
	}

	// Returns the point where a link bends: parallel cables stand apart, and cables inside a level pass above the nodes between their ends.
	bend(l) {
		const [ax, ay] = this.place(l.A), [bx, by] = this.place(l.B), s = this.at.s;
		if (ay === by)
			return [(ax + bx) / 2, ay - s * (26 + l.nth * 16) - Math.min(90 * s, Math.abs(ax - bx) * 0.14)];
		return [(ax + bx) / 2 + 32 * s * (l.nth - (l.of - 1) / 2), (ay + by) / 2];
	}

	trace(g, l, near) {
		g.moveTo(l.A.x0, l.A.y0);
		if (near && (l.of > 1 || l.A.y0 === l.B.y0)) {
			const [cx, cy] = this.bend(l);
			g.quadraticCurveTo(2 * cx - (l.A.x0 + l.B.x0) / 2, 2 * cy - (l.A.y0 + l.B.y0) / 2, l.B.x0, l.B.y0);
		} else {
			g.lineTo(l.B.x0, l.B.y0);
		}
	}

	paintLinks(g, s) {
		const near = s > 0.12, grow = Math.max(1, s), grades = [[], [], [], [], [], []];
		for (const l of this.model.links)
			if (l.drawn && (near || !l.nth) && this.visible(l))
				grades[this.model.grade(l)].push(l);
		grades.forEach((links, k) => {
			if (!links.length)
				return;
			g.globalAlpha = (this.mark ? 0.28 : 1) * (k === 0 && !near ? Math.max(0.15, Math.min(1, 400 / links.length)) : 1);
			g.strokeStyle = this.links[k];
			g.lineWidth = near ? WIDTHS[k] * grow : Math.min(WIDTHS[k], 1.5);
			g.setLineDash(k === 5 && near ? [7, 6] : []);
			g.beginPath();
			for (const l of links)
				this.trace(g, l, near);
			g.stroke();
		});
		g.setLineDash([]);
		g.globalAlpha = 1;
		if (this.mark)
			this.outline(g, this.mark.links, this.c_mark, near);
		if (this.selected && this.selected.A && this.selected.drawn)
			this.outline(g, [this.selected], this.c_accent, near);
		if (near)
			this.paintNotes(g, s, grades.flat());
	}

	outline(g, links, colour, near) {
		g.strokeStyle = colour;
		g.lineWidth = near ? 5 : 3;
		g.beginPath();
		for (const l of links)
			if (l.drawn)
				this.trace(g, l, near);
		g.stroke();
	}

	// Draws errors as a dot, and rates where there is room for them.
	paintNotes(g, s, links) {
		const now = performance.now();
		let recent = false;
		g.textAlign = "center";
		g.textBaseline = "middle";
		g.font = "600 12px system-ui, sans-serif";
		for (const l of links) {
			const [cx, cy] = this.bend(l);
			let beside = 0; // half the width of the text on the link
			if (s > 0.6 && l.state !== "up")
				beside = this.label(g, l.state, cx, cy, this.c_down);
			else if (s > 0.6 && (l.rate[0] || l.rate[1]))
				beside = this.label(g, this.on.rate(l), cx, cy, this.c_muted);
			if (l.errors[0] + l.errors[1]) {
				const fresh = Boolean(l.errorAt) && now - l.errorAt < RECENT, r = fresh ? 8 : 4.5;
				recent ||= fresh;
				this.dot(g, beside ? cx - beside - r : cx, cy, r);
			}
		}
		clearTimeout(this.fading);
		if (recent)
			this.fading = setTimeout(() => this.draw(), RECENT);
	}

	// The dot of errors is on the link, or at the left of the text on the link.
	dot(g, x, y, r) {
		g.fillStyle = this.c_error;
		g.beginPath();
		g.arc(x, y, r, 0, 2 * Math.PI);
		g.fill();
	}

	// The label hides the link behind it, because dashes of the link between letters look like parts of the letters. Letters at whole pixels are sharp.
	// Returns half the width of the label.
	label(g, text, x, y, colour) {
		const w = Math.ceil(g.measureText(text).width / 2) * 2 + 12, left = Math.round(x - w / 2), top = Math.round(y - 9);
		g.fillStyle = this.c_surface;
		g.beginPath();
		g.roundRect(left, top, w, 18, 9);
		g.fill();
		g.fillStyle = colour;
		g.fillText(text, left + w / 2, top + 9);
		return w / 2;
	}

	paintNodes(g, s) {
		const small = BOX[0] * s < 9, w = BOX[0] * s, h = BOX[1] * s;
		for (const n of this.model.shown) {
			const x = n.x0, y = n.y0;
			if (x < -w || x > this.w + w || y < -h - 20 || y > this.h + h + 20)
				continue;
			const marked = this.mark && this.mark.nodes.has(n);
			g.globalAlpha = this.mark && !marked ? 0.45 : 1;
			if (small) {
				const side = n === this.focused || n === this.selected || marked ? 7 : Math.max(2.5, h * 0.7);
				g.fillStyle = marked ? this.c_mark : n === this.focused || n === this.selected ? this.c_accent : n.switch ? this.c_switch_line : this.c_ca_line;
				g.fillRect(x - side / 2, y - side / 2, side, side);
			} else {
				this.paintBox(g, n, x, y, s, marked);
			}
		}
		g.globalAlpha = 1;
	}

	paintBox(g, n, cx, cy, s, marked) {
		const w = BOX[0] * s, h = BOX[1] * s, x = cx - w / 2, y = cy - h / 2, alpha = g.globalAlpha;
		g.beginPath();
		g.roundRect(x, y, w, h, n.switch ? 7 * s : h / 2);
		g.globalAlpha = 1; // links end behind a box that is dimmed, too
		g.fillStyle = this.c_surface;
		g.fill();
		g.globalAlpha = alpha;
		g.fillStyle = n.switch ? this.c_switch : this.c_ca;
		g.fill();
		g.strokeStyle = marked ? this.c_mark : n === this.selected ? this.c_accent : n.switch ? this.c_switch_line : this.c_ca_line;
		g.lineWidth = marked || n === this.selected ? 3 : 1.3;
		g.stroke();
		if (n === this.focused) {
			g.beginPath();
			g.roundRect(x - 5, y - 5, w + 10, h + 10, 7 * s + 4);
			g.strokeStyle = this.c_accent;
			g.lineWidth = 2;
			g.stroke();
		}
		if (s >= 0.45)
			this.paintText(g, n, cx, cy, s);
	}

	paintText(g, n, x, y, s) {
		const note = this.on.note(n), room = (BOX[0] - 14) * s, h = BOX[1] * s;
		g.textAlign = "center";
		g.textBaseline = "middle";
		g.fillStyle = this.c_text;
		g.font = `600 ${13 * s}px system-ui, sans-serif`;
		g.fillText(this.short(g, n.name, room), x, y - (note ? 7 * s : 0));
		g.fillStyle = this.c_muted;
		g.font = `${11 * s}px system-ui, sans-serif`;
		if (note)
			g.fillText(this.short(g, note, room), x, y + 9 * s);
		g.font = "11px system-ui, sans-serif";
		if (n.folded)
			g.fillText(this.on.folded(n), x, y + h / 2 + 11);
		if (n.sm)
			this.badge(g, n.sm, x + BOX[0] * s / 2, y - h / 2, n.sm === "SM master");
	}

	// The badge stands on the upper edge of the box, whose right end is at (x, y), so it covers no name, however small the box is.
	badge(g, text, x, y, master) {
		const w = g.measureText(text).width + 12;
		g.fillStyle = master ? this.c_accent : this.c_muted;
		g.beginPath();
		g.roundRect(x - w + 10, y - 19, w, 18, 9);
		g.fill();
		g.fillStyle = master ? this.c_on_accent : this.c_surface;
		g.fillText(text, x + 10 - w / 2, y - 10);
	}

	short(g, text, max) {
		const width = g.measureText(text).width;
		if (width <= max)
			return text;
		let n = Math.max(1, Math.floor(text.length * max / width) - 1);
		while (n > 1 && g.measureText(`${text.slice(0, n)}…`).width > max)
			n--;
		return `${text.slice(0, n)}…`;
	}

	/* --- pointers */

	hit(x, y) {
		const w = BOX[0] * this.at.s / 2 + 4, h = BOX[1] * this.at.s / 2 + 4;
		const inside = (n) => { const [nx, ny] = this.place(n); return Math.abs(nx - x) < w && Math.abs(ny - y) < h; };
		const node = this.model.shown.find(inside);
		if (node)
			return node;
		let best = null, least = SLACK;
		for (const l of this.model.links) {
			const d = l.drawn ? this.distance(l, x, y) : Infinity;
			if (d < least) {
				least = d;
				best = l;
			}
		}
		return best;
	}

	// Returns the distance of a point from a link, which counts as two straight lines that meet at its bend
	distance(l, x, y) {
		const c = this.bend(l), line = ([ax, ay], [bx, by]) => {
			const dx = bx - ax, dy = by - ay, len = dx * dx + dy * dy;
			const t = len ? Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / len)) : 0;
			return Math.hypot(x - ax - t * dx, y - ay - t * dy);
		};
		return Math.min(line(this.place(l.A), c), line(c, this.place(l.B)));
	}

	listen() {
		const m = this.map, where = (e) => {
			const r = m.getBoundingClientRect();
			return [e.clientX - r.left, e.clientY - r.top];
		};
		m.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(Math.exp(-e.deltaY * 0.0016), ...where(e)); }, { passive: false });
		m.addEventListener("pointerdown", (e) => {
			m.setPointerCapture(e.pointerId);
			this.pointers.set(e.pointerId, where(e));
			this.travelled = 0;
		});
		m.addEventListener("pointermove", (e) => this.drag(e, where(e)));
		const end = (e) => {
			if (this.pointers.delete(e.pointerId) && e.type === "pointerup" && this.travelled < 5 && this.model)
				this.on.select(this.hit(...where(e)));
		};
		m.addEventListener("pointerup", end);
		m.addEventListener("pointercancel", end);
		m.addEventListener("keydown", (e) => this.key(e));
		m.addEventListener("focus", () => this.focus(this.focused || this.topmost()));
		m.addEventListener("blur", () => { this.draw(); });
	}

	drag(e, [x, y]) {
		const was = this.pointers.get(e.pointerId);
		if (!was)
			return;
		this.travelled += Math.hypot(x - was[0], y - was[1]);
		if (this.pointers.size === 2) {
			const [other] = [...this.pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
			const d = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
			if (d(was))
				this.zoom(d([x, y]) / d(was), (x + other[0]) / 2, (y + other[1]) / 2);
		} else {
			this.move(x - was[0], y - was[1]);
		}
		this.pointers.set(e.pointerId, [x, y]);
	}

	/* --- keyboard */

	topmost() {
		return this.model && this.model.shown.reduce((a, n) => (!a || n.py < a.py || (n.py === a.py && n.px < a.px) ? n : a), null);
	}

	focus(n) {
		if (!n)
			return;
		this.focused = n;
		if (this.painted && this.map.matches(":focus-visible"))
			this.show(n);
		this.draw();
		this.on.say(n);
	}

	// Up and down go to the nearest neighbour, left and right to the next node of the level.
	step(dx, dy) {
		const f = this.focused || this.topmost();
		if (!f)
			return;
		const near = (a, b) => Math.abs(a.px - f.px) + Math.abs(a.py - f.py) - Math.abs(b.px - f.px) - Math.abs(b.py - f.py);
		const all = dy ? f.links.map((l) => (l.A === f ? l.B : l.A)).filter((n) => n && !n.hidden) : this.model.shown;
		const to = all.filter((n) => (dy ? Math.sign(n.py - f.py) === dy : n.py === f.py && Math.sign(n.px - f.px) === dx)).sort(near)[0];
		if (to)
			this.focus(to);
	}

	key(e) {
		const keys = {
			ArrowUp: () => this.step(0, -1), ArrowDown: () => this.step(0, 1), ArrowLeft: () => this.step(-1, 0), ArrowRight: () => this.step(1, 0),
			Enter: () => this.on.select(this.focused), " ": () => this.on.select(this.focused), "+": () => this.zoom(1.3), "=": () => this.zoom(1.3),
			"-": () => this.zoom(1 / 1.3), 0: () => this.fit(), Escape: () => this.on.clear(),
		};
		if (e.ctrlKey || e.altKey || e.metaKey || !keys[e.key])
			return;
		e.preventDefault();
		keys[e.key]();
	}
}
