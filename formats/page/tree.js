/*
 * Trees of functions with counts, for the graphs. Each node has a larger number than its parent;
 * node 0 is the root. A node is a function, or (negative) a group of samples.
 */

class Tree {
	/** @param labels texts of groups, by ~function */
	constructor(functions, labels) {
		this.functions = functions;
		this.labels = labels;
		this.parent = [0];
		this.function = [-1];
		this.self = [0];
		this.base = [0]; /* counts of the profile to compare with */
		this.index = new Map();
	}

	/** Adds a new node. */
	add(parent, fn) {
		this.parent.push(parent);
		this.function.push(fn);
		this.self.push(0);
		this.base.push(0);
		return this.parent.length - 1;
	}

	/** The child of a node for a function or group, added if it is new. */
	child(parent, fn) {
		const key = parent * 0x4000000 + (fn + 0x1000000);
		let node = this.index.get(key);
		if (node === undefined) {
			node = this.add(parent, fn);
			this.index.set(key, node);
		}
		return node;
	}

	/** Once all counts are in: sums them up, and sorts the children of each node, the largest first. */
	finish() {
		const n = this.parent.length;
		this.index = null;
		this.total = Float64Array.from(this.self);
		this.baseTotal = Float64Array.from(this.base);
		for (let i = n - 1; i > 0; i--) {
			this.total[this.parent[i]] += this.total[i];
			this.baseTotal[this.parent[i]] += this.baseTotal[i];
		}
		this.firstChild = new Uint32Array(n + 1);
		for (let i = 1; i < n; i++)
			this.firstChild[this.parent[i] + 1]++;
		for (let i = 0; i < n; i++)
			this.firstChild[i + 1] += this.firstChild[i];
		this.children = new Uint32Array(n);
		const used = this.firstChild.slice();
		for (let i = 1; i < n; i++)
			this.children[used[this.parent[i]]++] = i;
		const weight = i => this.total[i] + this.baseTotal[i];
		for (let i = 0; i < n; i++)
			if (this.firstChild[i + 1] - this.firstChild[i] > 1)
				this.childrenOf(i).sort((a, b) => weight(b) - weight(a) || a - b);
		return this;
	}

	childrenOf(node) {
		return this.children.subarray(this.firstChild[node], this.firstChild[node + 1]);
	}

	name(node) {
		const fn = this.function[node];
		if (node === 0)
			return "all";
		return fn < 0 ? this.labels[~fn] : this.functions.name[fn];
	}

	depth(node) {
		let depth = 0;
		for (; node; node = this.parent[node])
			depth++;
		return depth;
	}

	/** Visits nodes, the outermost first; `enter` returns false to skip a node's children. */
	walk(enter, leave = () => {}) {
		const stack = [0];
		while (stack.length) {
			const node = stack.pop();
			if (node < 0) {
				leave(~node);
				continue;
			}
			if (enter(node) === false)
				continue;
			stack.push(~node);
			for (const child of this.childrenOf(node))
				stack.push(child);
		}
	}
}

/** Groupings of samples by their thread: the name of its group. */
const GROUPS = {
	none: () => null,
	process: (profile, thread) => profile.processes[thread.process].name,
	thread: (profile, thread) => `${thread.name} (${thread.tid})`,
	cgroup: (profile, thread) => profile.processes[thread.process].cgroup || "/",
	service: (profile, thread) => profile.processes[thread.process].service || "no service",
};

/** The value of a context by "trace", "span" or "attribute:" and a key; empty: it has none. */
function valueOf(context, what) {
	return what.startsWith("attribute:") ? context.attributes.get(what.slice("attribute:".length)) || "" : context[what];
}

/** How samples are grouped: by what their thread, or else their context, has in common. */
function groupingOf(what) {
	if (what in GROUPS)
		return { owners: profile => profile.threads, ownerOf: samples => samples.thread, label: GROUPS[what] };
	return {
		owners: profile => profile.contexts, ownerOf: samples => samples.context,
		label: (profile, context) => valueOf(context, what) || "none",
	};
}

/** Whether a sample is of a selected thread and context. */
function isOfSelected(selection, samples, i) {
	return selection.threads[samples.thread[i]] && (!selection.contexts || selection.contexts[samples.context[i]]);
}

/** The group of each thread or context, as an index of the tree's labels; -1: none. */
function groupOwners(tree, profile, grouping) {
	const known = new Map(tree.labels.map((label, i) => [label, i]));
	return Int32Array.from(grouping.owners(profile), owner => {
		const label = grouping.label(profile, owner);
		if (label === null)
			return -1;
		if (!known.has(label)) {
			known.set(label, tree.labels.length);
			tree.labels.push(label);
		}
		return known.get(label);
	});
}

/** When a sample began, in microseconds: the time of a wait is its end. */
function beginOf(profile, i) {
	const { samples, header } = profile;
	return header.waits >= 0 ? samples.time[i] - samples.weights[header.waits][i] / 1e3 : samples.time[i];
}

/** The amount of each sample; null: 1 each. Of a wait, only the part within the selection counts. */
function amountsOf(profile, selection) {
	const { samples, header } = profile, { from, to, unit } = selection;
	const weights = selection.weights || (unit >= 0 ? samples.weights[unit] : samples.count);
	if (!weights || selection.weights || !(header.waits >= 0) || !header.times[unit] || (from <= 0 && to === Infinity))
		return weights;
	return weights.map((weight, i) => {
		const begin = beginOf(profile, i), end = samples.time[i];
		return begin < end && weight ? Math.max(0, Math.min(end, to) - Math.max(begin, from)) * 1e3 : weight;
	});
}

/** Sorts the selected samples by group: { list, ends }, with the end of each group (from -1 on). */
function sortByGroup(profile, selection, amounts, ownerOf, groupOf, nGroups) {
	const { samples } = profile, ends = new Uint32Array(nGroups + 1);
	const isSelected = i => isOfSelected(selection, samples, i) && (!amounts || !profile.header.several || amounts[i])
		&& samples.time[i] >= selection.from && beginOf(profile, i) <= selection.to;
	let n = 0;
	for (let i = 0; i < samples.n; i++)
		if (isSelected(i)) {
			ends[groupOf[ownerOf[i]] + 1]++;
			n++;
		}
	for (let g = 1; g <= nGroups; g++)
		ends[g] += ends[g - 1];
	const list = new Uint32Array(n), at = new Uint32Array(nGroups + 1);
	at.set(ends.subarray(0, nGroups), 1);
	for (let i = 0; i < samples.n; i++)
		if (isSelected(i))
			list[at[groupOf[ownerOf[i]] + 1]++] = i;
	return { list, ends };
}

/**
 * Adds the selected samples, or their weights, to a tree. Returns their number. `map` leads from
 * the profile's functions to the tree's. `isAlone`: the tree was empty, so every node is new.
 */
function addSamples(tree, profile, selection, grouping, map, counts, isAlone) {
	const { samples, nodes } = profile, groupOf = groupOwners(tree, profile, grouping);
	const weight = amountsOf(profile, selection);
	const { list, ends } = sortByGroup(profile, selection, weight, grouping.ownerOf(samples), groupOf, tree.labels.length);
	const count = new Float64Array(nodes.n), seen = new Uint32Array(nodes.n), place = new Uint32Array(nodes.n);
	const touched = new Uint32Array(nodes.n);
	for (let g = 0, first = 0; g < ends.length; first = ends[g++]) {
		if (first === ends[g])
			continue;
		let n = 0;
		for (let i = first; i < ends[g]; i++) {
			const node = samples.node[list[i]];
			count[node] += weight ? weight[list[i]] : 1;
			for (let at = node; at && seen[at] !== g + 1; at = nodes.parent[at]) {
				seen[at] = g + 1;
				touched[n++] = at;
			}
		}
		place[0] = g ? tree.child(0, ~(g - 1)) : 0;
		counts(tree)[place[0]] += count[0];
		count[0] = 0;
		for (const node of touched.subarray(0, n).sort()) { /* parents first */
			const parent = place[nodes.parent[node]], fn = map[nodes.function[node]];
			place[node] = isAlone ? tree.add(parent, fn) : tree.child(parent, fn);
			counts(tree)[place[node]] += count[node];
			count[node] = 0;
		}
	}
	return sampleCount(samples, list);
}

/** The share of samples with a matching function in the stack; each counts once. */
function matchedShare(tree, matches) {
	let n = 0;
	tree.walk(node => {
		const fn = tree.function[node];
		if (node === 0 || fn < 0 || !matches[fn])
			return true;
		n += tree.total[node];
		return false;
	});
	return tree.total[0] ? n / tree.total[0] : 0;
}

/** Counts of each function. In `total`, a sample counts once, even if the function recurs. */
function countFunctions(tree) {
	const n = tree.functions.name.length;
	const counts = { self: new Float64Array(n), total: new Float64Array(n), base: new Float64Array(n), baseTotal: new Float64Array(n) };
	const onPath = new Uint32Array(n);
	tree.walk(node => {
		const fn = tree.function[node];
		if (fn < 0)
			return;
		counts.self[fn] += tree.self[node];
		counts.base[fn] += tree.base[node];
		if (onPath[fn]++)
			return;
		counts.total[fn] += tree.total[node];
		counts.baseTotal[fn] += tree.baseTotal[node];
	}, node => {
		const fn = tree.function[node];
		if (fn >= 0)
			onPath[fn]--;
	});
	return counts;
}

/** The outermost nodes of a function. */
function occurrences(tree, fn) {
	const found = [];
	tree.walk(node => {
		if (tree.function[node] !== fn)
			return true;
		found.push(node);
		return false;
	});
	return found;
}

/** The callees of a function, summed over all of its occurrences. */
function calleesTree(tree, fn) {
	const callees = new Tree(tree.functions, tree.labels);
	const left = occurrences(tree, fn).map(node => [node, callees.child(0, fn)]);
	while (left.length) {
		const [from, to] = left.pop();
		callees.self[to] += tree.self[from];
		callees.base[to] += tree.base[from];
		for (const child of tree.childrenOf(from))
			left.push([child, callees.child(to, tree.function[child])]);
	}
	return callees.finish();
}

/** The callers of a function: here they are its children. */
function callersTree(tree, fn) {
	const callers = new Tree(tree.functions, tree.labels);
	for (const node of occurrences(tree, fn)) {
		let to = callers.child(0, fn);
		for (let at = tree.parent[node]; at; at = tree.parent[at])
			to = callers.child(to, tree.function[at]);
		callers.self[to] += tree.total[node];
		callers.base[to] += tree.baseTotal[node];
	}
	return callers.finish();
}
