/*
 * A flame graph on a canvas. Only visible nodes are drawn: the canvas has the size of its box, and
 * stays in place while the box scrolls.
 */

const ROW = 18, NARROWEST = 0.4, TEXT_FROM = 24;

/** A module has the same colour in all pages. */
function hashHue(text) {
	let hash = 7;
	for (let i = 0; i < text.length; i++)
		hash = (hash * 31 + text.charCodeAt(i)) | 0;
	return ((hash % 360) + 360) % 360;
}

function isDark() {
	return document.documentElement.dataset.theme === "dark";
}

function lightness() {
	return isDark() ? 32 : 78;
}

/** The colour of groups (processes, threads), which are not functions. */
function groupColor() {
	return `hsl(0 0% ${lightness()}%)`;
}

function kindColor(kind, hue) {
	const light = lightness();
	switch (kind) {
	case KIND.KERNEL:
		return `hsl(28 85% ${light - 8}%)`;
	case KIND.SCRIPT:
		return `hsl(205 90% ${light - 12}%)`;
	case KIND.JIT:
		return `hsl(110 55% ${light - 4}%)`;
	case KIND.CUT:
		return `hsl(0 0% ${light - 14}%)`;
	}
	return `hsl(${hue} ${kind === KIND.INLINED ? 35 : 60}% ${light}%)`;
}

/** Lays out and draws a tree, and handles its mouse and keys. */
class Graph {
	/**
	 * @param grows "down": callers above (icicle); "up": callers below (flame)
	 * @param on { select(node), zoom(node), open(node) }
	 */
	constructor(box, grows, on) {
		this.box = box;
		this.grows = grows;
		this.on = on;
		this.matches = null;
		this.selected = 0;
		this.canvas = document.createElement("canvas");
		this.space = document.createElement("div");
		box.replaceChildren(this.canvas, this.space);
		this.hues = new Map();
		box.addEventListener("scroll", () => this.draw());
		this.canvas.addEventListener("mousemove", event => this.on.select(this, this.nodeAt(event)));
		this.canvas.addEventListener("mouseleave", () => this.on.select(this, 0));
		this.canvas.addEventListener("click", event => {
			const node = this.nodeAt(event);
			if (node !== null && event.ctrlKey)
				this.on.open(this, node);
			else if (node !== null)
				this.on.zoom(this, node);
		});
		this.canvas.addEventListener("contextmenu", event => {
			const node = this.nodeAt(event);
			if (!node)
				return;
			event.preventDefault();
			this.on.open(this, node);
		});
		box.addEventListener("keydown", event => this.move(event));
		new ResizeObserver(() => this.layOut()).observe(box);
	}

	show(tree, root = 0) {
		this.tree = tree;
		this.root = root;
		this.selected = root;
		this.layOut();
		this.box.scrollTop = this.grows === "up" ? this.space.offsetHeight + this.box.clientHeight : 0;
		this.draw();
	}

	/** The number of rows below the root that have a visible node. */
	countRows(width) {
		let deepest = 0;
		const left = [[this.root, 0]];
		const least = this.weight(this.root) * NARROWEST / width;
		while (left.length) {
			const [node, row] = left.pop();
			deepest = Math.max(deepest, row);
			for (const child of this.tree.childrenOf(node)) {
				if (this.weight(child) < least)
					break; /* children are sorted, so the rest is smaller */
				left.push([child, row + 1]);
			}
		}
		return deepest + 1;
	}

	/** The amount that a node's width stands for; in a comparison, the sum of both profiles. */
	weight(node) {
		return this.tree.total[node] + this.tree.baseTotal[node] * this.baseFactor();
	}

	baseFactor() {
		return this.compare ? this.compare.factor : 0;
	}

	layOut() {
		if (!this.tree || this.box.hidden || !this.box.clientWidth)
			return;
		const width = this.box.clientWidth, height = this.box.clientHeight;
		const scale = window.devicePixelRatio || 1;
		this.ancestors = [];
		for (let at = this.root; at; ) {
			at = this.tree.parent[at];
			this.ancestors.unshift(at);
		}
		this.rows = this.ancestors.length + this.countRows(width);
		this.canvas.width = width * scale;
		this.canvas.height = height * scale;
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
		this.space.style.height = `${Math.max(0, this.rows * ROW - height)}px`;
		this.draw();
	}

	/** The position of a row on the canvas; row 0 is the outermost. */
	top(row) {
		const all = Math.max(this.rows * ROW, this.box.clientHeight);
		return (this.grows === "up" ? all - (row + 1) * ROW : row * ROW) - this.box.scrollTop;
	}

	/** Calls visit(node, row, left, width) for every visible node. */
	each(visit) {
		const width = this.box.clientWidth;
		this.ancestors.forEach((node, row) => visit(node, row, 0, width));
		const scale = width / (this.weight(this.root) || 1);
		const stack = [[this.root, this.ancestors.length, 0]];
		while (stack.length) {
			const [node, row, left] = stack.pop();
			visit(node, row, left, this.weight(node) * scale);
			let at = left;
			for (const child of this.tree.childrenOf(node)) {
				const wide = this.weight(child) * scale;
				if (wide < NARROWEST)
					break;
				stack.push([child, row + 1, at]);
				at += wide;
			}
		}
	}

	draw() {
		if (!this.tree || !this.ancestors)
			return;
		const scale = window.devicePixelRatio || 1, context = this.canvas.getContext("2d");
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, this.canvas.width, this.canvas.height);
		context.font = "12px system-ui, sans-serif";
		context.textBaseline = "middle";
		const style = getComputedStyle(document.documentElement);
		this.ink = style.getPropertyValue("--ink");
		this.mark = style.getPropertyValue("--mark");
		const height = this.box.clientHeight;
		this.each((node, row, left, width) => {
			const top = this.top(row);
			if (top > -ROW && top < height)
				this.drawNode(context, node, left, top, width, row < this.ancestors.length);
		});
	}

	drawNode(context, node, left, top, width, isAncestor) {
		const isMatch = this.isMatch(node);
		context.globalAlpha = isAncestor ? 0.55 : 1;
		context.fillStyle = isMatch ? this.mark : this.color(node);
		context.fillRect(left, top, Math.max(width - 0.5, 0.5), ROW - 1);
		if (node === this.selected && node) {
			context.strokeStyle = this.ink;
			context.lineWidth = 2;
			context.strokeRect(left + 1, top + 1, Math.max(width - 2.5, 1), ROW - 3);
		}
		if (width >= TEXT_FROM) {
			context.fillStyle = isMatch ? "#fff" : this.ink;
			context.fillText(fit(context, this.tree.name(node), width - 6), left + 3, top + ROW / 2);
		}
		context.globalAlpha = 1;
	}

	isMatch(node) {
		const fn = this.tree.function[node];
		return this.matches !== null && fn >= 0 && this.matches[fn] === 1;
	}

	color(node) {
		const fn = this.tree.function[node];
		if (this.compare && node)
			return this.changeColor(node);
		if (fn < 0)
			return groupColor();
		const { kind, module } = this.tree.functions;
		let hue = this.hues.get(module[fn]);
		if (hue === undefined)
			this.hues.set(module[fn], hue = hashHue(module[fn]));
		return kindColor(kind[fn], hue);
	}

	/** Red: more than in the other profile; blue: less. */
	changeColor(node) {
		const now = this.tree.total[node], before = this.tree.baseTotal[node] * this.compare.factor;
		return changeColor(now + before ? (now - before) / (now + before) : 0);
	}

	/** null: no node is there. */
	nodeAt(event) {
		const bounds = this.canvas.getBoundingClientRect();
		const x = event.clientX - bounds.left, y = event.clientY - bounds.top;
		let found = null;
		if (this.tree)
			this.each((node, row, left, width) => {
				const top = this.top(row);
				if (y >= top && y < top + ROW && x >= left && x < left + width)
					found = node;
			});
		return found;
	}

	select(node) {
		if (node === null || node === this.selected)
			return;
		this.selected = node;
		this.draw();
	}

	/** Keys move from the selected node to its neighbours. */
	move(event) {
		const outwards = this.grows === "up" ? "ArrowDown" : "ArrowUp";
		const inwards = this.grows === "up" ? "ArrowUp" : "ArrowDown";
		const tree = this.tree, node = this.selected || this.root;
		const siblings = node ? Array.from(tree.childrenOf(tree.parent[node])) : [];
		const at = siblings.indexOf(node);
		const to = {
			[outwards]: node ? tree.parent[node] : node,
			[inwards]: tree.childrenOf(node)[0],
			ArrowLeft: siblings[at - 1],
			ArrowRight: siblings[at + 1],
			Home: this.root,
		}[event.key];
		if (event.key === "Enter")
			this.on.zoom(this, node);
		else if (event.key === "o")
			this.on.open(this, node);
		else if (to !== undefined)
			this.on.select(this, to);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
		this.scrollTo(this.selected);
	}

	scrollTo(node) {
		const top = this.top(this.tree.depth(node));
		if (top < 0)
			this.box.scrollTop += top;
		else if (top > this.box.clientHeight - ROW)
			this.box.scrollTop += top - this.box.clientHeight + ROW;
	}
}

/** From -1 (gone) to 1 (new). */
function changeColor(change) {
	const light = isDark() ? 30 : 90, strength = Math.abs(change);
	return `hsl(${change > 0 ? 0 : 220} ${Math.round(85 * strength)}% ${light + (isDark() ? 15 : -25) * strength}%)`;
}

/** The longest beginning of a text that fits. */
function fit(context, text, width) {
	if (text.length > 400)
		text = text.slice(0, 400);
	if (context.measureText(text).width <= width)
		return text;
	let low = 0, high = text.length;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (context.measureText(`${text.slice(0, middle)}…`).width <= width)
			low = middle;
		else
			high = middle - 1;
	}
	return low ? `${text.slice(0, low)}…` : "";
}
