/* Marks over time, below the samples and on the same time axis: a row for each CPU and kind of mark. */

const MARK_ROW = 13, MARK_ROWS = 16, MARK_NARROWEST = 1.5, MARK_STEP = 0.5;
const byName = new Intl.Collator("en", { numeric: true });

class Marks {
	constructor(canvas, profile, timeline) {
		Object.assign(this, { canvas, profile, timeline });
		this.rows = this.arrange();
		canvas.hidden = !this.rows.length;
		canvas.style.height = `${this.rows.length * MARK_ROW}px`;
		canvas.setAttribute("aria-label", `Marks over time. ${this.rows.map(({ name, marks }) => `${name}: ${number(marks.length)}`).join(", ")}`);
		canvas.addEventListener("mousemove", event => this.tell(event));
		new ResizeObserver(() => this.draw()).observe(canvas);
	}

	/** One row for each name, sorted by name; the last row has all further names. */
	arrange() {
		const found = new Map();
		for (const mark of this.profile.marks) {
			const name = `${mark.group} ${mark.name}`;
			if (!found.has(name))
				found.set(name, []);
			found.get(name).push(mark);
		}
		const rows = [...found].map(([name, marks]) => ({ name, marks }));
		rows.sort((a, b) => byName.compare(a.name, b.name));
		if (rows.length <= MARK_ROWS)
			return rows;
		const rest = rows.splice(MARK_ROWS - 1).flatMap(({ marks }) => marks).sort((a, b) => a.time - b.time);
		return [...rows, { name: `${number(found.size - rows.length)} other kinds`, marks: rest }];
	}

	draw() {
		const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
		if (this.canvas.hidden || !width)
			return;
		const scale = window.devicePixelRatio || 1, context = this.canvas.getContext("2d");
		this.canvas.width = width * scale;
		this.canvas.height = height * scale;
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.textBaseline = "middle";
		context.font = "10px system-ui, sans-serif";
		this.rows.forEach((row, i) => this.drawRow(context, row, i * MARK_ROW, width));
	}

	/** Draws marks in the colour of their process, and the name on top. Skips marks that add no pixel of another colour. */
	drawRow(context, { name, marks }, top, width) {
		const style = getComputedStyle(document.documentElement), light = isDark() ? 45 : 65;
		const colours = new Map([[null, style.getPropertyValue("--mark")]]);
		let drawn = -1, last = null;
		for (const { time, duration: took, process } of marks) {
			const right = time / this.timeline.end * width, left = (time - took) / this.timeline.end * width;
			if (process === last && left >= drawn - MARK_NARROWEST && right < drawn + MARK_STEP)
				continue;
			if (!colours.has(process))
				colours.set(process, `hsl(${hashHue(process.name)} 60% ${light}%)`);
			context.fillStyle = colours.get(process);
			context.fillRect(left, top + 1, Math.max(right - left, MARK_NARROWEST), MARK_ROW - 2);
			drawn = Math.max(right, left + MARK_NARROWEST);
			last = process;
		}
		context.globalAlpha = 0.8;
		context.fillStyle = style.getPropertyValue("--paper");
		context.fillRect(0, top + 1, context.measureText(name).width + 6, MARK_ROW - 2);
		context.globalAlpha = 1;
		context.fillStyle = style.getPropertyValue("--ink");
		context.fillText(name, 3, top + MARK_ROW / 2);
	}

	/** Describes the row's last mark under the pointer, or within a few pixels of it. */
	tell(event) {
		const bounds = this.canvas.getBoundingClientRect();
		const row = this.rows[Math.floor((event.clientY - bounds.top) / MARK_ROW)];
		const at = this.timeline.timeAt(event), near = 3 / bounds.width * this.timeline.end;
		let found = null;
		for (const mark of row ? row.marks : [])
			if (mark.time + near >= at && mark.time - mark.duration - near <= at)
				found = mark;
		$("status").textContent = found ? describeMark(found) : "";
	}
}

function describeMark({ name, text, process, duration: took, time }) {
	return `${name}${text ? `: ${text}` : ""}${process ? ` — ${process.name} (${process.pid})` : ""}, ${took ? `${duration(took * 1e3)}, ` : ""}until ${(time / 1e6).toFixed(3)} s`;
}
