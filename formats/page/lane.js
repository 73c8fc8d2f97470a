/* A counter of the machine over time, above the samples and on the same time axis. */

class Lane {
	constructor(canvas, select, profile, timeline) {
		Object.assign(this, { canvas, select, profile, timeline });
		const { counters } = profile, shown = counters.map((_, i) => i).filter(i => counters[i].values.length);
		select.replaceChildren(...shown.map(i => new Option(`${counters[i].category}: ${counters[i].name}`, i)));
		canvas.hidden = select.parentElement.hidden = !shown.length;
		if (!shown.length)
			return;
		select.addEventListener("change", () => this.draw());
		canvas.addEventListener("mousemove", event => this.tell(event));
		new ResizeObserver(() => this.draw()).observe(canvas);
	}

	counter() {
		return this.profile.counters[Number(this.select.value)];
	}

	/** Draws the counter. The label has its maximum, also for screen readers. */
	draw() {
		if (this.canvas.hidden)
			return;
		const { times, values, category, name, description } = this.counter();
		const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
		const scale = window.devicePixelRatio || 1, context = this.canvas.getContext("2d");
		const style = getComputedStyle(document.documentElement), most = values.reduce((a, b) => Math.max(a, b), /percent/i.test(category + description) ? 100 : 0);
		this.canvas.width = width * scale;
		this.canvas.height = height * scale;
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.strokeStyle = style.getPropertyValue("--accent");
		context.beginPath();
		times.forEach((time, i) => {
			const x = time / this.timeline.end * width, y = height - 1 - (most ? values[i] / most : 0) * (height - 2);
			if (i)
				context.lineTo(x, y);
			else
				context.moveTo(x, y);
		});
		context.stroke();
		this.canvas.setAttribute("aria-label", `${category}, ${name} (${description}) over time: maximum ${lanePrecision(most)}`);
		this.canvas.title = `maximum ${lanePrecision(most)} (${description})`;
	}

	/** Shows the last value before the pointer's time. */
	tell(event) {
		const { times, values, description, name } = this.counter(), at = this.timeline.timeAt(event);
		let i = times.length - 1;
		while (i > 0 && times[i] > at)
			i--;
		$("status").textContent = `${name}: ${lanePrecision(values[i])} (${description}) at ${(times[i] / 1e6).toFixed(2)} s`;
	}
}

function lanePrecision(value) {
	return value.toLocaleString("en", { maximumFractionDigits: 2 });
}
