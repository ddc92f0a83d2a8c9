// SPDX-License-Identifier: BSD-2-Clause
// The page: it takes a snapshot, follows the events, and fills the panels. Texts of the fabric are set as text, never as HTML.

import { Model, rate } from "/model.js";
import { View } from "/view.js";

const LOG_MAX = 200, TABLE_MAX = 400, CHIPS_MAX = 300, PORT_AGAIN = 2000, BEFORE = 100;
const $ = (id) => document.getElementById(id);
let model = null, view = null, source = null, again = 0;

const make = (tag, text, more = {}) => Object.assign(document.createElement(tag), text === undefined ? {} : { textContent: text }, more);

const get = async (path, args) => {
	const r = await fetch(args ? `${path}?${new URLSearchParams(args)}` : path);
	if (r.status !== 404 && !r.ok)
		throw new Error(await r.text());
	return r.json();
};

// If a request fails, the page shows that it is not connected.
const attempt = (promise) => Promise.resolve(promise).catch(() => online(false));

const fabricOf = (n) => model.fabrics[n.fabric].name;
const hostsOf = (n) => model.interfaces.filter((i) => model.nodeOf(i.fabric, i.port) === n);

/* --- what the map asks for */

const note = (n) => {
	const hosts = n.hosts || (n.hosts = [...new Set(hostsOf(n).map((i) => i.host))].join(", "));
	return hosts || (n.lid ? `LID ${n.lid}` : "");
};

const say = (n) => {
	const up = n.links.filter((l) => l.state === "up").length;
	$("say").textContent = `${n.name}, ${n.switch ? "switch" : "CA"}, ${note(n)}, ${up} of ${n.links.length} links up${n.sm ? `, ${n.sm}` : ""}`;
};

const rates = (l) => rate(Math.max(...l.rate));

// The text below a switch whose CAs are not drawn
const folded = (n) => {
	const down = n.links.filter((l) => l.state !== "up" && l.B && (l.A === n ? l.B : l.A).hidden).length;
	return `+ ${n.folded} CAs${down ? `, ${down} not up` : ""}`;
};

/* --- highlight */

const press = (button) => {
	document.querySelectorAll("[aria-pressed=true]").forEach((b) => b.setAttribute("aria-pressed", "false"));
	if (button)
		button.setAttribute("aria-pressed", "true");
};

const highlight = (nodes, links, button) => {
	press(button);
	view.mark = { nodes: new Set(nodes.filter(Boolean)), links };
	view.draw();
};

const clear = () => {
	press(null);
	view.mark = null;
	$("hops").replaceChildren();
	view.draw();
};

/* --- selection */

const list = (facts) => {
	const dl = make("dl");
	for (const [name, value] of facts)
		if (value !== undefined && value !== null && value !== "")
			dl.append(make("dt", name), make("dd", Array.isArray(value) ? value.join(", ") : String(value)));
	return dl;
};

const words = (name) => name.replaceAll("_", " ");

const select = (what) => {
	if (!what)
		return;
	view.selected = what;
	view.draw();
	if (what.A)
		showLink(what);
	else
		showNode(what);
};

const title = (text) => { $("selected-title").textContent = text; };
const body = (...children) => { $("selected-body").replaceChildren(...children); };

const portButton = (l, n) => {
	const b = make("button", `${model.portAt(l, n)} → ${model.peerName(l, n)}`, { type: "button", className: l.state === "up" ? "" : "down" });
	b.addEventListener("click", () => attempt(showPort(fabricOf(n), `${n.name}/${model.portAt(l, n)}`, l)));
	return b;
};

// The function that updates the panel of the selection; null: the panel needs no updates
let live = null;

const showNode = (n) => {
	live = null;
	const chips = make("div", undefined, { className: "chips" });
	n.links.slice(0, CHIPS_MAX).forEach((l) => chips.append(portButton(l, n)));
	const parts = [list([["Kind", n.switch ? "switch" : "CA"], ["Description", n.description === n.name ? "" : n.description], ["LID", n.lid || ""],
		["GUID", n.guid], ["Fabric", model.fabrics.length > 1 ? fabricOf(n) : ""], ["Manager", n.sm]])];
	for (const i of hostsOf(n)) {
		parts.push(make("h3", `${i.host}: ${i.ifname}`), list([["State", i.reason ? `${i.state}: ${i.reason}` : i.state], ["Addresses", i.addresses],
			["P_Key", i.pkey], ["Port", i.port], ["GID", i.gid], ["QPN", i.qpn], ["MTU", i.mtu], ["Profile", i.profile]]));
	}
	title(n.name);
	body(...parts, make("h3", n.links.length > CHIPS_MAX ? `Ports (first ${CHIPS_MAX} of ${n.links.length})` : "Ports"), chips);
	view.show(n);
};

const linkFacts = (l) => list([["State", l.state], ["Speed", l.speed], [`From ${model.endName(l, false)}`, rate(l.rate[0])],
	[`From ${model.endName(l, true)}`, rate(l.rate[1])], ["Errors", `${l.errors[0]} and ${l.errors[1]}`]]);

const showLink = (l) => {
	const ends = make("div", undefined, { className: "chips" });
	let facts = linkFacts(l);
	ends.append(portButton(l, l.A));
	if (l.B)
		ends.append(portButton(l, l.B));
	title(`${model.endName(l, false)} – ${model.endName(l, true)}`);
	body(facts, make("h3", "Ends"), ends);
	live = () => {
		const now = linkFacts(l);
		facts.replaceWith(now);
		facts = now;
	};
};

const portFacts = ({ counters, ...facts }) => [list(Object.entries(facts).map(([k, v]) => [words(k), v])), make("h3", "Counters"),
	list(Object.entries(counters).map(([k, v]) => [words(k), v]))];

const showPort = async (fabric, port, link) => {
	const ask = () => get("/api/port", { port, fabric }), answer = await ask();
	let at = performance.now();
	if (link) {
		view.selected = link;
		view.draw();
	}
	title(port);
	live = null;
	if (!answer.rows.length) {
		body(make("p", answer.error));
		return;
	}
	body(...portFacts(answer.rows[0]));
	const mine = live = async () => {
		if (performance.now() - at < PORT_AGAIN)
			return;
		at = performance.now();
		const [row] = (await ask()).rows;
		if (row && live === mine)
			body(...portFacts(row));
	};
};

/* --- panels */

const row = (ul, text, small, click) => {
	const b = make("button", text, { type: "button" }), li = make("li");
	b.setAttribute("aria-pressed", "false");
	b.append(make("small", small));
	b.addEventListener("click", () => (b.getAttribute("aria-pressed") === "true" ? clear() : click(b)));
	li.append(b);
	ul.append(li);
};

const fillManagers = () => {
	$("sms").replaceChildren();
	for (const s of model.sms) {
		row($("sms"), s.port, `${s.state}, priority ${s.priority}, routing ${s.routing}, ${s.heavy_sweeps} sweeps`, (b) => {
			const n = model.nodeOf(s.fabric, s.port);
			highlight([n], [], b);
			view.show(n);
		});
	}
	if (!model.sms.length)
		$("sms").append(make("li", "There is none in this instance.", { className: "hint" }));
};

const fillPartitions = () => {
	$("partitions").replaceChildren();
	for (const p of model.partitions) {
		const all = [...p.full_members, ...p.limited_members];
		row($("partitions"), p.partition ? `${p.partition} ${p.pkey}` : p.pkey, `${p.full_members.length} full, ${p.limited_members.length} limited members`,
			(b) => highlight(all.map((m) => model.nodeOf(p.fabric, m)), all.map((m) => model.linkOf(p.fabric, m)).filter(Boolean), b));
	}
};

const showTree = async (g, button) => {
	const answer = await get("/api/tree", { mlid: Number(g.mlid), fabric: g.fabric });
	const links = new Set(), nodes = g.members.map((m) => model.nodeOf(g.fabric, m.port));
	for (const r of answer.rows) {
		nodes.push(model.nodeOf(g.fabric, `${r.node}/0`));
		for (const p of r.ports) {
			const l = model.linkOf(g.fabric, `${r.node}/${p}`);
			if (l)
				links.add(l);
		}
	}
	highlight(nodes, [...links], button);
};

const fillGroups = () => {
	$("groups").replaceChildren();
	for (const g of model.groups.slice(0, CHIPS_MAX))
		row($("groups"), g.mgid, `MLID ${g.mlid}, P_Key ${g.pkey}, ${g.nmembers} member${g.nmembers === 1 ? "" : "s"}`, (b) => attempt(showTree(g, b)));
};

/* --- path */

const fillEnds = () => {
	const options = [];
	for (const i of model.interfaces.slice(0, 500))
		options.push(make("option", `${i.ifname}, ${i.port}`, { value: i.host }));
	for (const n of model.nodes.filter((k) => !k.switch).slice(0, 500))
		options.push(make("option", undefined, { value: n.name }));
	$("ends").replaceChildren(...options);
};

// The fabric and the port that a text such as "h1", "Hca1" or "Hca1/1" names
const endOf = (text) => {
	const i = model.interfaces.find((k) => k.host === text || k.port === text || k.addresses.some((a) => a.split("/")[0] === text));
	if (i)
		return [i.fabric, i.port];
	const n = model.nodes.find((k) => k.name === text || text.startsWith(`${k.name}/`));
	if (!n)
		return null;
	return [fabricOf(n), n.name === text ? `${text}/${n.switch ? 0 : 1}` : text];
};

const showPath = async () => {
	const from = endOf($("from").value.trim()), to = endOf($("to").value.trim());
	$("hops").replaceChildren();
	if (!from || !to || from[0] !== to[0]) {
		$("hops").append(make("li", !from ? "From: there is no such host, node or port." : !to ? "To: there is no such host, node or port."
			: "Both must be in the same fabric.", { className: "problem" }));
		return;
	}
	const answer = await get("/api/route", { from: from[1], to: to[1], fabric: from[0] });
	const links = answer.rows.map((r) => model.linkOf(from[0], r.port)).filter(Boolean);
	highlight([model.nodeOf(...from), model.nodeOf(...to), ...links.flatMap((l) => [l.A, l.B])], links, null);
	answer.rows.forEach((r, k) => {
		const li = make("li", `${r.port} → ${r.peer || "no cable"}`);
		li.append(make("small", k ? `LFT: LID ${r.lid} by port ${r.port.slice(r.port.lastIndexOf("/") + 1)}` : `sent to LID ${r.lid}`));
		$("hops").append(li);
	});
	if (answer.error)
		$("hops").append(make("li", answer.error, { className: "problem" }));
	if (!answer.rows.length && !answer.error)
		$("hops").append(make("li", "Both are the same port."));
};

/* --- events */

const trapInWords = (d) => [
	`${d.what}${d.issuer ? `, reported by ${d.issuer}` : ""}`,
	d.port && `port ${d.port}`,
	(d.from || d.from_lid) && `from ${d.from || `LID ${d.from_lid}`}`,
	(d.to || d.to_lid) && `to ${d.to || `LID ${d.to_lid}`}`,
	d.pkey && `P_Key ${d.pkey}`,
	d.qkey && `Q_Key ${d.qkey}`,
	d.request,
	d.changed,
].filter(Boolean).join(", ");

const inWords = {
	link: (d) => `${d.ifname} of ${d.host}: ${d.state}${d.reason ? `, ${d.reason}` : ""}${d.carrier ? ", carrier" : ""}`,
	interface: (d) => `${d.ifname} of ${d.host} ${d.what}, P_Key ${d.pkey}`,
	port: (d) => `${d.port}: ${d.what}`,
	sm: (d) => `manager at ${d.port}: ${d.state}`,
	sweep: (d) => `sweep ${d.number}: ${d.nodes} nodes, ${d.links} links, ${d.smps} SMPs${d.errors ? `, ${d.errors} errors` : ""}`,
	end_port: (d) => `${d.gid} ${d.what}`,
	group: (d) => `group ${d.mgid} ${d.what}`,
	trap: (d) => `trap ${d.trap}: ${d.link ? `link ${d.port} – ${d.peer || "?"} ${d.link}` : trapInWords(d)}`,
	drop: (d) => `${d.object}: ${d.counter} ${d.count}`,
};

const log = (d) => {
	if (d.event === "drop" && !$("drops").checked)
		return;
	const time = new Date(d.unix_ms), li = make("li"), ul = $("log");
	li.append(make("time", time.toTimeString().slice(0, 8), { dateTime: time.toISOString() }), make("span", inWords[d.event] ? inWords[d.event](d) : d.event));
	if (d.link === "down" || d.what === "port error" || d.what === "out of service" || d.event === "drop")
		li.className = "bad";
	ul.prepend(li);
	while (ul.children.length > LOG_MAX)
		ul.lastChild.remove();
};

/* --- the table, which is the map as text */

const fillTable = () => {
	if (!$("table-of-links").open)
		return;
	const want = $("filter").value.trim().toLowerCase(), rows = [];
	let fit = 0;
	for (const l of model.links) {
		const cells = [model.endName(l, false), model.endName(l, true), l.state, l.speed, rate(l.rate[0]), rate(l.rate[1]), String(l.errors[0] + l.errors[1])];
		if (want && !cells.slice(0, 4).some((c) => c.toLowerCase().includes(want)))
			continue;
		if (++fit > TABLE_MAX)
			continue;
		const tr = make("tr");
		cells.forEach((c, k) => tr.append(k ? make("td", c) : make("th", c, { scope: "row" })));
		rows.push(tr);
	}
	$("rows").replaceChildren(...rows);
	$("count").textContent = fit > TABLE_MAX ? `${fit} links, of which the first ${TABLE_MAX} are shown` : `${fit} links`;
};

/* --- following */

const fillAll = () => {
	$("instance").textContent = model.instance;
	document.title = `${model.instance} · uipoib`;
	$("summary").textContent = model.summary();
	fillManagers();
	fillPartitions();
	fillGroups();
	fillEnds();
};

let due = 0;
const refresh = () => {
	view.draw();
	if (due)
		return;
	due = setTimeout(() => {
		due = 0;
		$("summary").textContent = model.summary();
		fillTable();
		if (live)
			attempt(live());
	}, 250);
};

const section = async (name) => {
	const now = model;
	now[name] = await get(`/api/${name}`);
	if (now !== model)
		return;
	now.masters();
	now.nodes.forEach((n) => { n.hosts = undefined; });
	({ interfaces: fillEnds, sms: fillManagers, groups: fillGroups, partitions: fillPartitions })[name]();
	refresh();
};

const online = (on) => {
	$("live").classList.toggle("on", on);
	$("live").textContent = on ? "live" : "not connected, trying again";
};

// The list of events begins with some events that are older than the snapshot. Only the notices among them are shown, because the snapshot has the effects of the other events.
const follow = ({ seq, first }) => {
	const fresh = (e) => Number(e.lastEventId) > seq;
	source = new EventSource(`/api/events?since=${Math.max(first - 1, seq - BEFORE)}`);
	source.addEventListener("open", () => online(true));
	source.addEventListener("links", (e) => {
		if (!fresh(e))
			return;
		model.update(JSON.parse(e.data).links);
		refresh();
	});
	source.addEventListener("notice", (e) => log(JSON.parse(e.data)));
	source.addEventListener("section", (e) => fresh(e) && attempt(section(JSON.parse(e.data).name)));
	source.addEventListener("reset", (e) => { if (!e.lastEventId || fresh(e)) start(); });
	source.addEventListener("error", () => {
		online(false);
		if (source.readyState === EventSource.CLOSED)
			later();
	});
};

const later = () => {
	clearTimeout(again);
	again = setTimeout(start, 4000);
};

const start = async () => {
	clearTimeout(again);
	if (source)
		source.close();
	try {
		model = new Model(await get("/api/snapshot"));
	} catch {
		online(false);
		later();
		return;
	}
	live = null;
	view.setModel(model);
	fillAll();
	refresh();
	$("log").replaceChildren();
	follow(model);
};

view = new View($("map"), $("canvas"), { note, say, select, clear, folded, rate: rates });
$("closer").addEventListener("click", () => view.zoom(1.4));
$("farther").addEventListener("click", () => view.zoom(1 / 1.4));
$("fit").addEventListener("click", () => view.fit());
$("path").addEventListener("submit", (e) => { e.preventDefault(); attempt(showPath()); });
$("filter").addEventListener("input", fillTable);
$("table-of-links").addEventListener("toggle", fillTable);
start();

// For tests, and for whoever looks at the page with the browser's tools
window.uipoib = { view, get model() { return model; } };
