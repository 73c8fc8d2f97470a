/* The reasons and wakers of the selected threads' waits. */

const WAIT_ROWS = 12;

/** Sums waits: { reasons, wakers }, each [[text, amount], …], the largest first. */
function countWaits(profile, selection) {
	const { samples, header, threads } = profile, amounts = amountsOf(profile, selection);
	const reasons = new Map(), wakers = new Map();
	const add = (map, text, amount) => map.set(text, (map.get(text) || 0) + amount);
	for (let i = 0; i < samples.n; i++) {
		if (!isOfSelected(selection, samples, i) || !amounts[i] || samples.time[i] < selection.from || beginOf(profile, i) > selection.to)
			continue;
		add(reasons, header.strings[samples.reason[i]] || "something else", amounts[i]);
		const waker = threads[samples.waker[i] - 1];
		if (waker)
			add(wakers, `${waker.name} (${waker.tid})`, amounts[i]);
	}
	const sorted = map => [...map].sort((a, b) => b[1] - a[1]);
	return { reasons: sorted(reasons), wakers: sorted(wakers) };
}

function fillWaits(list, counts, all) {
	list.replaceChildren(...counts.slice(0, WAIT_ROWS).map(([text, amount]) => {
		const item = document.createElement("li");
		item.textContent = `${text}: ${duration(amount)}, ${share(amount, all)}`;
		return item;
	}));
	list.parentElement.hidden = !counts.length;
}

/** Shown only if the unit is waits. */
function showWaits(profile, selection) {
	const isShown = profile.header.waits >= 0 && selection.unit === profile.header.waits;
	$("waits").hidden = !isShown;
	if (!isShown)
		return;
	const { reasons, wakers } = countWaits(profile, selection);
	const all = reasons.reduce((sum, [, amount]) => sum + amount, 0);
	fillWaits($("reasons"), reasons, all);
	fillWaits($("wakers"), wakers, all);
}
