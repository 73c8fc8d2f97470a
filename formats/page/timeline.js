/* Samples over time, losses, and the selected range. */

const SAMPLES_A_COLUMN = 8; /* on average; with fewer, meaningless gaps would appear */

const SCALE_GAP = 80; /* least distance of two numbers, in pixels */

/** The least of 1, 2 or 5 times a power of ten that is not below `least`. */
function niceStep(least) {
	const power = 10 ** Math.floor(Math.log10(least));
	return power * [1, 2, 5, 10].find(each => each * power >= least);
}

class Timeline {
	/** @param changed called with the new range [from, to]; null: all of the time */
	constructor(canvas, profile, changed) {
		this.canvas = canvas;
		this.profile = profile;
		this.changed = changed;
		this.end = profile.timeline ? Math.max(profile.timeline.bytes.length * profile.header.interval_ns / 1e3, 1)
			: Math.max(profile.header.duration_us, profile.samples.n ? profile.samples.time[profile.samples.n - 1] : 0, 1);
		this.selection = null;
		this.range = null;
		canvas.addEventListener("mousedown", event => this.begin(event));
		canvas.addEventListener("dblclick", () => this.select(null, null));
		canvas.addEventListener("keydown", event => this.move(event));
		new ResizeObserver(() => this.show(this.selection)).observe(canvas);
	}

	/** Shows selected samples in the selection's unit; negative: samples. */
	show(selection) {
		const width = this.canvas.clientWidth;
		this.selection = selection;
		if (!selection || !width)
			return;
		if (this.profile.timeline) {
			this.showHeap();
			return;
		}
		const { samples } = this.profile, { unit } = selection;
		const columns = Math.min(width, Math.ceil(samples.n / SAMPLES_A_COLUMN) || 1);
		this.columns = this.spread(columns, unit >= 0 ? samples.weights[unit] : samples.count);
		this.draw();
	}

	/** The sum of each column. A wait is divided among all columns that it spans. */
	spread(columns, weights) {
		const { samples } = this.profile, change = new Float64Array(columns + 1);
		const columnAt = time => Math.min(columns - 1, Math.max(0, Math.floor(time / this.end * columns)));
		for (let i = 0; i < samples.n; i++) {
			if (!isOfSelected(this.selection, samples, i))
				continue;
			const last = columnAt(samples.time[i]), first = columnAt(beginOf(this.profile, i));
			const each = (weights ? weights[i] : 1) / (last - first + 1);
			change[first] += each;
			change[last + 1] -= each;
		}
		let sum = 0;
		return Float64Array.from(change.subarray(0, columns), each => Math.max(0, sum += each));
	}

	/** Shows the bytes alive. */
	showHeap() {
		const { header, timeline } = this.profile;
		const n = Math.max(1, Math.min(this.canvas.clientWidth, timeline.bytes.length));
		this.columns = new Float64Array(n);
		timeline.bytes.forEach((bytes, i) => {
			const column = Math.floor(i / timeline.bytes.length * n);
			this.columns[column] = Math.max(this.columns[column], bytes);
		});
		this.canvas.setAttribute("aria-label",
			`Bytes alive over ${(timeline.bytes.length * header.interval_ns / 1e9).toFixed(2)} s, maximum ${this.columns.reduce((a, b) => Math.max(a, b), 0)}`);
		this.draw();
	}

	draw() {
		const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
		const scale = window.devicePixelRatio || 1, context = this.canvas.getContext("2d");
		const style = getComputedStyle(document.documentElement);
		this.canvas.width = width * scale;
		this.canvas.height = height * scale;
		context.setTransform(scale, 0, 0, scale, 0, 0);
		const most = this.columns.reduce((a, b) => Math.max(a, b), 1), wide = width / this.columns.length;
		context.fillStyle = style.getPropertyValue("--faint");
		this.columns.forEach((n, i) => { /* whole pixels: fractions would make stripes */
			const left = Math.floor(i * wide), right = Math.ceil((i + 1) * wide);
			context.fillRect(left, height - n / most * height, right - left, n / most * height);
		});
		this.drawScale(context, width, height, most, style);
		context.fillStyle = style.getPropertyValue("--loss");
		for (const loss of this.profile.losses)
			context.fillRect(loss.time / this.end * width - 1, 0, 2, 8);
		if (!this.range)
			return;
		context.fillStyle = style.getPropertyValue("--accent");
		context.globalAlpha = 0.25;
		const [left, right] = this.range.map(time => time / this.end * width);
		context.fillRect(left, 0, Math.max(right - left, 1), height);
		context.globalAlpha = 1;
	}

	/** Draws the time axis in seconds, and the value of the highest column. */
	drawScale(context, width, height, most, style) {
		const seconds = this.end / 1e6, step = niceStep(seconds * SCALE_GAP / width);
		context.font = "10px system-ui, sans-serif";
		context.textBaseline = "bottom";
		context.lineWidth = 3;
		context.strokeStyle = style.getPropertyValue("--paper");
		context.fillStyle = style.getPropertyValue("--ink");
		const write = (text, left, bottom) => {
			context.strokeText(text, left, bottom);
			context.fillText(text, left, bottom);
		};
		for (let i = 1; i * step < seconds; i++) {
			const left = Math.round(i * step / seconds * width);
			context.fillRect(left, height - 6, 1, 6);
			if (left < width - SCALE_GAP / 2)
				write(`${Number((i * step).toPrecision(6))} s`, left + 3, height);
		}
		context.textBaseline = "top";
		write(this.tellMost(most), 3, 1);
	}

	/** The value of the highest column, for a column's width of time. */
	tellMost(most) {
		const { header } = this.profile, each = this.end / this.columns.length;
		if (this.profile.timeline)
			return `${number(most)} bytes`;
		if (this.selection.unit >= 0 && header.times && header.times[this.selection.unit])
			return `${(most / 1e3 / each).toFixed(1)} threads`;
		return `${number(Math.round(most))} ${this.selection.unit >= 0 ? header.units[this.selection.unit] : "samples"} in ${duration(each * 1e3)}`;
	}

	select(from, to) {
		this.range = from === null ? null : [Math.max(0, from), Math.min(this.end, to)];
		this.draw();
		this.changed(this.range);
	}

	timeAt(event) {
		const bounds = this.canvas.getBoundingClientRect();
		return (event.clientX - bounds.left) / bounds.width * this.end;
	}

	/** There are no moments for a heap with too many changes. */
	canSelect() {
		return !this.profile.timeline || this.profile.moments.length > 0;
	}

	/** Drags until the button is released, even outside the canvas. */
	begin(event) {
		if (!this.canSelect())
			return;
		const first = this.timeAt(event);
		let last = first;
		const drag = moved => {
			last = Math.min(this.end, Math.max(0, this.timeAt(moved)));
			this.range = [Math.min(first, last), Math.max(first, last)];
			this.draw();
		};
		const release = () => {
			window.removeEventListener("mousemove", drag);
			if (Math.abs(last - first) / this.end * this.canvas.clientWidth > 2)
				this.select(Math.min(first, last), Math.max(first, last));
		};
		window.addEventListener("mousemove", drag);
		window.addEventListener("mouseup", release, { once: true });
	}

	/** Arrow keys move the range by half its length; without a range, they select a tenth. */
	move(event) {
		const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (!direction || !this.canSelect())
			return;
		event.preventDefault();
		const [from, to] = this.range || (direction > 0 ? [0, 0.1 * this.end] : [0.9 * this.end, this.end]);
		const length = to - from;
		const shift = this.range ? direction * length / 2 : 0;
		const start = Math.max(0, Math.min(this.end - length, from + shift));
		this.select(start, start + length);
	}
}
