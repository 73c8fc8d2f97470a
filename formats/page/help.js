/* The help dialog and legends: keys, colours and end reasons. */

/** [meaning, colours] of each kind of function in the page. */
function legendOf(profile, hasBase) {
	if (hasBase)
		return [["more than before", [changeColor(0.8)]], ["less than before", [changeColor(-0.8)]], ["unchanged", [changeColor(0)]]];
	const { kind, module } = profile.functions, there = new Set(kind);
	const hues = [...new Set(module.filter((_, i) => kind[i] === KIND.USER || kind[i] === KIND.INLINED))].map(hashHue);
	const [a = 0, b = a, c = b] = hues;
	const all = [
		[KIND.USER, "functions, one colour per binary", [a, b, c].map(hue => kindColor(KIND.USER, hue))],
		[KIND.INLINED, "inlined functions", [kindColor(KIND.INLINED, a)]],
		[KIND.SCRIPT, "functions of scripts", [kindColor(KIND.SCRIPT)]],
		[KIND.JIT, "JIT-compiled code", [kindColor(KIND.JIT)]],
		[KIND.KERNEL, "kernel", [kindColor(KIND.KERNEL)]],
		[KIND.CUT, "why a stack is incomplete", [kindColor(KIND.CUT)]],
	];
	return all.filter(([each]) => there.has(each)).map(([, text, colors]) => [text, colors]);
}

function fillLegend(list, legend) {
	list.replaceChildren(...legend.map(([text, colors]) => {
		const item = document.createElement("li");
		item.textContent = text;
		colors.forEach((color, i) => item.style.setProperty(i ? `--swatch${i + 1}` : "--swatch", color));
		if (colors.length > 1)
			item.dataset.many = "";
		return item;
	}));
}

/** Also called after a change of theme. */
function showLegends(profile, hasBase) {
	const legend = legendOf(profile, hasBase);
	fillLegend($("legend-line"), legend);
	fillLegend($("legend"), [...legend, ["search matches", [getComputedStyle(document.documentElement).getPropertyValue("--mark")]],
		["processes and threads", [groupColor()]]]);
}

function fillEnds(header) {
	const texts = Object.entries(header.end_texts || {}).filter(([end]) => end !== "complete");
	$("ends-help").hidden = !texts.length;
	$("ends").replaceChildren(...texts.flatMap(([end, text]) => {
		const term = document.createElement("dt"), meaning = document.createElement("dd");
		term.textContent = end;
		meaning.textContent = `${text} (${number(header.ends[end])} ${header.ends[end] === 1 ? "stack" : "stacks"})`;
		return [term, meaning];
	}));
}

function toggleHelp() {
	if ($("help").open)
		$("help").close();
	else
		$("help").showModal();
}
