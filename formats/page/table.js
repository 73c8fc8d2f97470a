/* The table of functions. */

const ROWS_SHOWN = 500;

/** Whole numbers with separators. */
function number(n) {
	return Math.round(n).toLocaleString("en");
}

/** Nanoseconds in a readable unit. */
function duration(ns) {
	for (const [unit, factor] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]])
		if (ns >= factor)
			return `${(ns / factor).toLocaleString("en", { maximumFractionDigits: 2, minimumFractionDigits: 2 })} ${unit}`;
	return `${Math.round(ns)} ns`;
}

function share(n, all) {
	return all ? `${(100 * n / all).toFixed(2)} %` : "–";
}

function signedShare(share) {
	return `${share >= 0 ? "+" : "−"}${Math.abs(100 * share).toFixed(2)} %`;
}

function signedNumber(n) {
	return `${n >= 0 ? "+" : "−"}${number(Math.abs(n))}`;
}

/** The name of a function in the table and in descriptions. */
function nameOf(functions, fn) {
	const mark = { [KIND.KERNEL]: " [kernel]", [KIND.INLINED]: " (inlined)", [KIND.JIT]: " [JIT]" };
	return functions.name[fn] + (mark[functions.kind[fn]] || "");
}

class Table {
	/** @param open called with the function whose callers and callees are to be shown */
	constructor(element, open) {
		this.element = element;
		this.body = element.tBodies[0];
		this.open = open;
		this.sortBy = "self";
		for (const button of element.querySelectorAll("[data-sort]"))
			button.addEventListener("click", () => this.sort(button.dataset.sort));
	}

	sort(by) {
		this.sortBy = by;
		for (const button of this.element.querySelectorAll("[data-sort]")) {
			const head = button.closest("th");
			if (button.dataset.sort === by)
				head.setAttribute("aria-sort", by === "name" ? "ascending" : "descending");
			else
				head.removeAttribute("aria-sort");
		}
		this.show(this.tree, this.counts, this.matches, this.compare);
	}

	/** Shows all functions, or those that match the search. */
	show(tree, counts, matches, compare) {
		Object.assign(this, { tree, counts, matches, compare });
		const all = tree.total[0];
		const change = fn => compare ? compare.change(counts.self[fn], counts.base[fn]) : 0;
		const list = [];
		tree.functions.name.forEach((_, fn) => {
			if ((counts.total[fn] || counts.baseTotal[fn]) && (!matches || matches[fn]))
				list.push(fn);
		});
		const keys = {
			self: (a, b) => counts.self[b] - counts.self[a] || counts.total[b] - counts.total[a],
			total: (a, b) => counts.total[b] - counts.total[a] || counts.self[b] - counts.self[a],
			change: (a, b) => Math.abs(change(b)) - Math.abs(change(a)),
			name: (a, b) => tree.functions.name[a] < tree.functions.name[b] ? -1 : 1,
		};
		list.sort((a, b) => keys[this.sortBy](a, b) || a - b);
		this.element.querySelector(".change").hidden = !compare;
		this.element.caption.textContent = list.length > ROWS_SHOWN
			? `First ${ROWS_SHOWN} of ${number(list.length)} functions; search to find the others` : `${number(list.length)} functions`;
		this.body.replaceChildren(...list.slice(0, ROWS_SHOWN).map(fn => this.row(fn, all, change)));
	}

	row(fn, all, change) {
		const row = document.createElement("tr"), { functions } = this.tree;
		const cell = (text, kind) => {
			const made = row.insertCell();
			made.className = kind;
			made.textContent = text;
			return made;
		};
		row.classList.toggle("matched", !!this.matches);
		cell(`${this.shown(this.counts.self[fn])}  ${share(this.counts.self[fn], all)}`, "number");
		cell(`${this.shown(this.counts.total[fn])}  ${share(this.counts.total[fn], all)}`, "number");
		if (this.compare)
			cell(this.compare.text(change(fn)), "number");
		const button = document.createElement("button");
		button.type = "button";
		button.textContent = nameOf(functions, fn);
		button.addEventListener("click", () => this.open(fn));
		cell("", "name").append(button);
		cell(functions.module[fn], "module");
		return row;
	}
}
