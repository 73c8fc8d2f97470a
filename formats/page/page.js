/* The state of the page, and what controls and keys change. */

const $ = id => document.getElementById(id);
const OPTIONS_SHOWN = 300;

const page = {
	profile: null, /* see data.js */
	base: null,    /* the profile to compare with */
	view: "flame",
	selection: null, /* { from, to, threads, contexts } */
	tree: null,
	counts: null,  /* of functions */
	matches: null, /* by function: 1 if the search matches it; null: no search */
	history: [],   /* previous roots of the zoom */
	subject: null, /* the function of the sandwich view */
};

const graphs = {};
let table, timeline, lane, marks;

/* ---- what is shown ---- */

function threadMask() {
	const { profile } = page, process = $("process").value, thread = $("thread").value, cgroup = $("cgroup").value;
	return Uint8Array.from(profile.threads, (each, i) =>
		(cgroup === "" || (profile.processes[each.process].cgroup || "/") === cgroup) && (process === "" || profile.processes[each.process].name === process) && (thread === "" || String(i) === thread) ? 1 : 0);
}

/** By context: whether the filter selects it; null: all are selected. */
function contextMask() {
	const what = $("where").value, value = $("where-value").value;
	return value === "" ? null : Uint8Array.from(page.profile.contexts, context => valueOf(context, what) === value ? 1 : 0);
}

/** Joins the functions of two profiles in one list; `map` leads from functions of `base` to it. */
function joinFunctions(profile, base) {
	const joined = { name: [...profile.functions.name], module: [...profile.functions.module], kind: [...profile.functions.kind] };
	const key = (functions, i) => JSON.stringify([functions.name[i], functions.module[i].replace(/.*\//, ""), functions.kind[i]]);
	const index = new Map(joined.name.map((_, i) => [key(joined, i), i]));
	const map = base.functions.name.map((name, i) => {
		const known = index.get(key(base.functions, i));
		if (known !== undefined)
			return known;
		joined.name.push(name);
		joined.module.push(base.functions.module[i]);
		joined.kind.push(base.functions.kind[i]);
		index.set(key(base.functions, i), joined.name.length - 1);
		return joined.name.length - 1;
	});
	return { joined, map };
}

/** For a range of a heap: compares what was alive at its end with what was alive at its beginning. */
function makeRangeTree() {
	const { profile, selection } = page, grouping = groupingOf($("group").value);
	const tree = new Tree(profile.functions, []), map = profile.functions.name.map((_, i) => i);
	const before = aliveAt(profile, selection.range[0], aliveUnit()), now = aliveAt(profile, selection.range[1], aliveUnit());
	addSamples(tree, profile, { ...selection, weights: now.weights }, grouping, map, to => to.self, false);
	addSamples(tree, profile, { ...selection, weights: before.weights }, grouping, map, to => to.base, false);
	selection.range = [before.at, now.at]; /* the nearest recorded moments */
	return tree.finish();
}

function makeTree() {
	const { profile, base, selection } = page, grouping = groupingOf($("group").value);
	if (selection.range)
		return makeRangeTree();
	const { joined, map } = base ? joinFunctions(profile, base) : { joined: profile.functions, map: null };
	const tree = new Tree(joined, []);
	page.n = addSamples(tree, profile, selection, grouping, profile.functions.name.map((_, i) => i), to => to.self, !base);
	if (base)
		addSamples(tree, base, { ...selection, from: 0, to: Infinity, threads: new Uint8Array(base.threads.length).fill(1), contexts: null }, grouping, map, to => to.base, false);
	return tree.finish();
}

/** How counts of the other profile are scaled, compared and written. */
function comparison(tree) {
	const isShare = !page.selection.range && $("normalised").checked;
	const all = tree.total[0] || 1, baseAll = tree.baseTotal[0] || 1;
	if (!page.base && !page.selection.range)
		return null;
	return {
		factor: isShare && tree.baseTotal[0] ? tree.total[0] / tree.baseTotal[0] : 1,
		change: isShare ? (now, before) => now / all - before / baseAll : (now, before) => now - before,
		text: isShare ? signedShare : signedAmount,
		ofWhat: isShare ? " of the total" : "",
	};
}

/** Recounts everything after a change of selection, grouping or profile. */
function refresh() {
	page.selection = { from: -1, to: Infinity, threads: threadMask(), contexts: contextMask(), unit: Number($("unit").value) };
	if (timeline.range && page.profile.header.heap)
		page.selection.range = timeline.range;
	else if (timeline.range)
		[page.selection.from, page.selection.to] = timeline.range;
	page.tree = makeTree();
	page.counts = countFunctions(page.tree);
	page.history = [];
	search();
	showLegends(page.profile, !!page.base || !!page.selection.range);
	timeline.show(page.selection);
	$("range").textContent = tellRange();
	tellCounts();
	showWaits(page.profile, page.selection);
	showView();
}

function tellRange() {
	const [from, to] = (page.selection.range || timeline.range || []).map(time => `${(time / 1e6).toFixed(3)} s`);
	if (!timeline.range)
		return "";
	if (!page.selection.range)
		return `${from} to ${to} (double-click to clear)`;
	return `alive at ${to}, compared with ${from}: ${signedNumber(page.tree.total[0] - page.tree.baseTotal[0])} ${aliveUnit()} (double-click to clear)`;
}

function showView() {
	const { view, tree } = page, compare = comparison(tree);
	for (const button of document.querySelectorAll("[data-view]")) {
		button.setAttribute("role", "radio");
		button.setAttribute("aria-checked", String(button.dataset.view === view));
	}
	$("graph").hidden = view !== "flame" && view !== "icicle";
	$("list").hidden = view === "flame" || view === "icicle";
	$("main").classList.toggle("sandwich", view === "sandwich");
	$("callers").hidden = $("callees").hidden = view !== "sandwich" || page.subject === null;
	$("normalised-label").hidden = !page.base || !!page.selection.range;
	for (const graph of Object.values(graphs)) {
		graph.compare = compare;
		graph.matches = page.matches;
	}
	if (view === "flame" || view === "icicle") {
		graphs.graph.grows = view === "flame" ? "up" : "down";
		graphs.graph.show(tree, page.history.length ? page.history[page.history.length - 1] : 0);
	} else {
		table.show(tree, page.counts, page.matches, compare);
	}
	if (view === "sandwich" && page.subject !== null) {
		for (const [name, make] of [["callers", callersTree], ["callees", calleesTree]]) {
			const part = make(tree, page.subject);
			graphs[name].show(part, part.childrenOf(0)[0] || 0);
		}
	}
}

function tellCounts() {
	const { header } = page.profile;
	const n = sampleCount(page.profile.samples);
	const complete = header.ends.complete || 0;
	if (header.heap) {
		$("counts").textContent = `${number(header.heap_events)} allocations and frees · ${number(page.tree.total[0])} ${unit()}`
			+ (header.heap_sampled ? " (estimated from samples)" : "");
		$("warning").textContent = [header.incomplete ? "INCOMPLETE: the stream ended early." : "",
			header.heap_lost ? `TAINTED: ${number(header.heap_lost)} allocations or frees were lost; the amounts alive may be wrong.` : "",
			header.heap_forged ? `UNTRUSTED: ${header.heap_forged} wrote to the memory through which its heap is recorded; every number that includes it may be wrong, from the beginning on.` : ""].join(" ").trim();
		$("warning").hidden = !$("warning").textContent;
		return;
	}
	$("counts").textContent = (header.several ? `${amount(page.tree.total[0])} · ` : "") + `${number(page.n)} of ${number(n)} samples · ${number(header.lost)} lost · `
		+ `${share(complete, n)} of stacks complete`;
	tellCut(header);
	const warnings = [];
	if (header.incomplete)
		warnings.push("INCOMPLETE: the stream ended early.");
	if (header.lost)
		warnings.push(`${number(header.lost)} samples were lost.`);
	if (header.left_out)
		warnings.push(`${number(header.left_out)} samples were left out.`);
	if (header.ends["more-stacks-than-fit"])
		warnings.push(`${number(header.ends["more-stacks-than-fit"])} samples have no stack here: there were too many distinct stacks.`);
	$("warning").textContent = warnings.join(" ");
	$("warning").hidden = !warnings.length;
}

/** Lists the end reasons of stacks that are not complete, each with an explanation. */
function tellCut(header) {
	const cut = Object.entries(header.ends).filter(([end]) => end !== "complete");
	cut.forEach(([end, n], i) => {
		const abbreviation = document.createElement("abbr");
		abbreviation.textContent = end;
		abbreviation.title = (header.end_texts || {})[end] || "";
		$("counts").append(i ? ", " : " (", `${number(n)} `, abbreviation, i + 1 === cut.length ? ")" : "");
	});
}

/** A number of the current unit as text. */
function shown(n) {
	const { unit: i, range } = page.selection, { times } = page.profile.header;
	return !range && i >= 0 && times && times[i] ? duration(n) : number(n);
}

function signedAmount(n) {
	return `${n >= 0 ? "+" : "−"}${shown(Math.abs(n))}`;
}

function amount(n) {
	return `${shown(n)} ${unit()}`;
}

/** The name of the current unit. */
function unit() {
	if (page.selection.range)
		return `${aliveUnit()} alive`;
	return page.selection.unit >= 0 ? page.profile.header.units[page.selection.unit] : "samples";
}

/** The unit for what is alive at a time: that of the current view. */
function aliveUnit() {
	return page.profile.header.units[page.selection.unit].startsWith("blocks") ? "blocks" : "bytes";
}

/** Describes a node in one line, also for screen readers. */
function describe(graph, node) {
	const { tree } = graph, fn = tree.function[node];
	const all = page.tree.total[0];
	let text = `${fn >= 0 ? nameOf(tree.functions, fn) : tree.name(node)}: ${amount(tree.total[node])}, ${share(tree.total[node], all)}`;
	if (tree.self[node])
		text += `, self ${share(tree.self[node], all)}`;
	if (graph.compare)
		text += `, ${graph.compare.text(graph.compare.change(tree.total[node], tree.baseTotal[node]))}${graph.compare.ofWhat}`;
	if (fn >= 0 && tree.functions.module[fn])
		text += ` — ${tree.functions.module[fn]}`;
	return text;
}

/* ---- user actions ---- */

function setView(view) {
	page.view = view;
	if (view === "sandwich" && page.subject === null)
		page.subject = hottest();
	showView();
}

/** The first function of the table. */
function hottest() {
	const { self, total } = page.counts;
	let best = null;
	self.forEach((n, fn) => {
		if (n && (best === null || n > self[best] || (n === self[best] && total[fn] > total[best])))
			best = fn;
	});
	return best;
}

function openFunction(fn) {
	page.subject = fn;
	setView("sandwich");
	$("status").textContent = `Callers and callees of ${nameOf(page.tree.functions, fn)}`;
}

function zoom(graph, node) {
	if (graph !== graphs.graph) {
		graph.show(graph.tree, node);
		return;
	}
	if (page.history[page.history.length - 1] !== node)
		page.history.push(node);
	graph.show(page.tree, node);
	graph.box.focus({ preventScroll: true });
	$("status").textContent = describe(graph, node);
}

function back() {
	page.history.pop();
	showView();
}

function reset() {
	$("search").value = "";
	$("process").value = $("thread").value = $("cgroup").value = $("where-value").value = "";
	timeline.range = null;
	fillThreads();
	refresh();
}

/** Finds matching functions and their share: a sample counts once, even with several matches. */
function search() {
	const text = $("search").value;
	let pattern = null;
	$("search").setCustomValidity("");
	try {
		pattern = text === "" ? null : new RegExp(text, "iu");
	} catch (error) {
		$("search").setCustomValidity(error.message);
		$("matched").textContent = "invalid regular expression";
	}
	page.matches = pattern && Uint8Array.from(page.tree.functions.name, name => pattern.test(name) ? 1 : 0);
	if (pattern)
		$("matched").textContent = `${share(matchedShare(page.tree, page.matches), 1)} matched`;
	else if (text === "")
		$("matched").textContent = "";
}

/** Steps to the next match in the order of the graph, the outermost first, and wraps around. */
function stepMatch(step) {
	if (!page.matches || $("graph").hidden)
		return;
	const { tree } = page, graph = graphs.graph, found = [];
	graph.each((node, row, left) => {
		if (graph.isMatch(node))
			found.push({ node, row, left });
	});
	if (!found.length)
		return;
	found.sort((a, b) => a.row - b.row || a.left - b.left);
	const at = found.findIndex(each => each.node === graph.selected);
	const to = found[(at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length)].node;
	select(graph, to);
	graph.scrollTo(to);
	$("matched").textContent = `${share(matchedShare(tree, page.matches), 1)} matched, ${found.findIndex(each => each.node === to) + 1} of ${found.length}`;
}

function select(graph, node) {
	graph.select(node);
	if (node !== null)
		$("status").textContent = node ? describe(graph, node) : "";
}

function setTheme(theme) {
	document.documentElement.dataset.theme = theme;
	$("theme").textContent = theme === "dark" ? "Light" : "Dark";
	try {
		localStorage.setItem("stackpipe-theme", theme);
	} catch {
		/* storage may be forbidden for a page from a file */
	}
	for (const graph of Object.values(graphs))
		graph.draw();
	if (timeline && timeline.columns)
		timeline.draw();
	for (const each of [lane, marks])
		if (each)
			each.draw();
	if (page.profile)
		showLegends(page.profile, !!page.base || !!page.selection.range);
}

function preferredTheme() {
	try {
		const kept = localStorage.getItem("stackpipe-theme");
		if (kept === "dark" || kept === "light")
			return kept;
	} catch {
		/* as above */
	}
	return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function fillOptions(element, options) {
	element.replaceChildren(...options.slice(0, OPTIONS_SHOWN).map(([value, text]) => new Option(text, value)));
}

/** Sorts by number of samples, largest first. A key is that of a thread, or of another `owners`. */
function byCount(keyOf, owners = page.profile.samples.thread) {
	const { samples } = page.profile, counts = new Map();
	for (let i = 0; i < samples.n; i++) {
		const key = keyOf(owners[i]);
		if (key !== null)
			counts.set(key, (counts.get(key) || 0) + 1);
	}
	return [...counts].sort((a, b) => b[1] - a[1]);
}

/** Shown only if there are several. */
function fillCgroups() {
	const { threads, processes } = page.profile;
	const counts = byCount(i => processes[threads[i].process].cgroup || "/");
	fillOptions($("cgroup"), [["", "all"], ...counts.map(([path, n]) => [path, `${path} (${number(n)})`])]);
	$("cgroup-label").hidden = counts.length < 2;
}

/** What programs publish, as more ways to group samples and to select some; nothing if there is none. */
function fillContexts() {
	const { contexts, processes } = page.profile;
	const keys = new Set(contexts.flatMap(context => [...context.attributes.keys()]));
	const ways = [["trace", "trace"], ["span", "span"], ...[...keys].map(key => [`attribute:${key}`, key])];
	if (processes.some(process => process.service))
		$("group").add(new Option("by service", "service"));
	$("where-label").hidden = contexts.length < 2;
	if (contexts.length < 2)
		return;
	for (const [what, text] of ways)
		$("group").add(new Option(`by ${text}`, what));
	fillOptions($("where"), ways);
	fillContextValues();
}

function fillContextValues() {
	const { contexts, samples } = page.profile, what = $("where").value;
	fillOptions($("where-value"), [["", "all"], ...byCount(i => valueOf(contexts[i], what) || null, samples.context)
		.map(([value, n]) => [value, `${value} (${number(n)})`])]);
}

function fillProcesses() {
	const { threads, processes } = page.profile;
	fillOptions($("process"), [["", "all"], ...byCount(i => processes[threads[i].process].name).map(([name, n]) => [name, `${name} (${number(n)})`])]);
}

function fillThreads() {
	const { threads, processes } = page.profile, process = $("process").value;
	fillOptions($("thread"), [["", "all"], ...byCount(i => process === "" || processes[threads[i].process].name === process ? i : null)
		.map(([i, n]) => [String(i), `${threads[i].name} ${threads[i].tid} (${number(n)})`])]);
}

/** Reads a profile to compare with. On failure, the previous one stays, and the result is false. */
async function readBase(data, name) {
	try {
		page.base = readProfile(await unpack(data));
		return true;
	} catch (error) {
		$("status").textContent = `Cannot compare with ${name}: ${error.message}.`;
		return false;
	}
}

async function compareWith(file) {
	const found = findData(await file.text());
	if (!found) {
		$("status").textContent = `Cannot compare with ${file.name}: it is not a stackpipe page.`;
		return;
	}
	if (await readBase(found, file.name))
		refresh();
}

const KEYS = {
	f: () => setView("flame"),
	i: () => setView("icicle"),
	t: () => setView("top"),
	s: () => setView("sandwich"),
	d: () => $("theme").click(),
	n: () => stepMatch(1),
	N: () => stepMatch(-1),
	"/": () => $("search").focus(),
	"?": toggleHelp,
	Backspace: back,
	Escape: reset,
};

/** Escape in a field clears the search, then leaves the field. */
function leave(field) {
	if (field === $("search") && field.value !== "") {
		field.value = "";
		search();
		showView();
	}
	field.blur();
}

function toggleControls() {
	const isOpen = $("controls").classList.toggle("open");
	$("more").setAttribute("aria-expanded", String(isOpen));
	$("more").textContent = isOpen ? "Less" : "More…";
}

function listen() {
	$("help-button").addEventListener("click", toggleHelp);
	$("more").addEventListener("click", toggleControls);
	for (const button of document.querySelectorAll("[data-view]"))
		button.addEventListener("click", () => setView(button.dataset.view));
	$("group").addEventListener("change", refresh);
	$("unit").addEventListener("change", refresh);
	$("process").addEventListener("change", () => {
		fillThreads();
		refresh();
	});
	$("thread").addEventListener("change", refresh);
	$("cgroup").addEventListener("change", refresh);
	$("where").addEventListener("change", () => {
		fillContextValues();
		refresh();
	});
	$("where-value").addEventListener("change", refresh);
	$("search").addEventListener("input", () => {
		search();
		showView();
	});
	$("search").addEventListener("keydown", event => {
		if (event.key === "Enter") {
			event.preventDefault();
			stepMatch(event.shiftKey ? -1 : 1);
		}
	});
	$("next").addEventListener("click", () => stepMatch(1));
	$("previous").addEventListener("click", () => stepMatch(-1));
	$("back").addEventListener("click", back);
	$("reset").addEventListener("click", reset);
	$("normalised").addEventListener("change", showView);
	$("base").addEventListener("change", event => event.target.files[0] && compareWith(event.target.files[0]));
	$("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
	$("controls").addEventListener("submit", event => event.preventDefault());
	document.addEventListener("keydown", event => {
		if (event.ctrlKey || event.altKey || event.metaKey || ($("help").open && event.key !== "?"))
			return; /* the dialog handles Escape itself */
		if (event.target.matches("input, select")) {
			if (event.key === "Escape")
				leave(event.target);
			return;
		}
		if (!KEYS[event.key])
			return;
		event.preventDefault();
		KEYS[event.key]();
	});
}

/** Fills in the units: samples and weights; for a heap or several events only weights. */
function fillUnits() {
	const { header } = page.profile, names = header.heap || header.several ? [] : [["samples", -1]];
	header.units.forEach((name, i) => names.push([name, i]));
	$("unit").replaceChildren(...names.map(([name, i]) => new Option(name, i)));
	$("unit-label").hidden = names.length < 2;
	/* With waits, wall-clock time is the most useful default. */
	const wall = names.find(([name]) => name === "wall-clock");
	if (wall)
		$("unit").value = wall[1];
}

async function begin() {
	setTheme(preferredTheme());
	if (!window.DecompressionStream)
		throw new Error("this browser lacks DecompressionStream; use Chrome 80, Firefox 113, Safari 16.4 or later");
	page.profile = readProfile(await unpack($("data").textContent));
	const { header } = page.profile;
	const rate = header.rate ? ` at ${number(header.rate)} Hz for ${(header.duration_us / 1e6).toFixed(1)} s` : "";
	const what = [header.program, header.host].filter(text => text).join(" on ") || "a recording";
	$("title").textContent = `${what}: ${header.event}${rate}`;
	document.title = `${header.program || header.host} ${header.start_ms ? new Date(header.start_ms).toISOString().slice(0, 19) : ""} – stackpipe`;
	const on = { select, zoom, open: (graph, node) => graph.tree.function[node] >= 0 && openFunction(graph.tree.function[node]) };
	graphs.graph = new Graph($("graph"), "up", on);
	graphs.callers = new Graph($("callers"), "up", on);
	graphs.callees = new Graph($("callees"), "down", on);
	table = new Table($("table"), openFunction);
	table.shown = shown;
	timeline = new Timeline($("timeline"), page.profile, refresh);
	lane = new Lane($("lane"), $("counter"), page.profile, timeline);
	marks = new Marks($("marks"), page.profile, timeline);
	fillUnits();
	fillEnds(header);
	listen();
	fillCgroups();
	fillContexts();
	fillProcesses();
	fillThreads();
	refresh();
	const base = document.getElementById("base-data");
	if (base && await readBase(base.textContent, "the page given with --base"))
		refresh();
}

begin().catch(error => {
	$("warning").hidden = false;
	$("warning").textContent = `Cannot show this page: ${error.message}.`;
});
