/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operates pages in a real browser as a user would, and prints what was shown as JSON:
 *
 *	node drive.js PLAYWRIGHT-DIR SCENARIO FILE...
 */
"use strict";

const fs = require("fs");
const [playwright, scenario, ...files] = process.argv.slice(2);
const { chromium } = require(playwright);

const SIZE = { width: 1280, height: 800 };
const TIMEOUT_MS = 60000;

/* Polls a function in the page, as the page's policy forbids to evaluate text. */
async function until(page, condition, argument) {
	for (const end = Date.now() + TIMEOUT_MS; !await page.evaluate(condition, argument);)
		if (Date.now() > end)
			throw new Error(`waited in vain for ${condition}`);
}

async function open(browser, file, errors) {
	const page = await browser.newPage({ viewport: SIZE });
	page.on("pageerror", error => errors.push(error.message));
	page.on("console", message => message.type() === "error" && errors.push(message.text()));
	page.on("request", request => !/^(file|data|blob):/.test(request.url()) && errors.push(`network: ${request.url()}`));
	page.on("dialog", dialog => {
		errors.push(`dialog: ${dialog.message()}`);
		dialog.dismiss();
	});
	await page.goto(`file://${file}`);
	await until(page, () => document.getElementById("counts").textContent !== "" ||
		!document.getElementById("warning").hidden);
	return page;
}

/* The first rows of the table: [[function, self], …]. */
function rows(page, n = 10) {
	return page.$$eval("#table tbody tr", (found, count) => found.slice(0, count).map(row =>
		[row.querySelector(".name").textContent, row.cells[0].textContent.split(" ")[0].replace(/,/g, "")]), n);
}

async function shot(page, name) {
	const directory = process.env.STACKPIPE_SCREENSHOTS;
	if (directory)
		await page.screenshot({ path: `${directory}/${name}.png` });
}

const scenarios = {
	/* Samples by what programs publish: groups, and a filter. */
	async contexts(browser, seen, errors) {
		const page = await open(browser, files[0], errors);
		const groups = () => page.evaluate(() =>
			[...page.tree.childrenOf(0)].map(node => [page.tree.name(node), page.tree.total[node]]));
		seen.ways = await page.$$eval("#group option", found => found.map(each => each.value));
		for (const way of process.env.WAYS.split(" ")) {
			await page.selectOption("#group", way);
			seen[way] = await groups();
		}
		await page.selectOption("#where", "attribute:route");
		seen.values = await page.$$eval("#where-value option", found => found.map(each => each.value));
		await page.selectOption("#where-value", seen.values[1]);
		seen.filtered = await groups();
		await shot(page, "contexts");
		await page.keyboard.press("Escape");
		seen.all = await page.evaluate(() => page.n);
	},

	/* Every control, on a recording with times. */
	async controls(browser, seen, errors) {
		const page = await open(browser, files[0], errors);
		seen.counts = await page.textContent("#counts");
		seen.title = await page.textContent("#title");
		await shot(page, "flame");
		await page.click("[data-view=top]");
		seen.rows = await rows(page);
		await page.fill("#search", process.env.SEARCH);
		seen.matched = await page.textContent("#matched");
		seen.searched = await rows(page);
		await page.fill("#search", "(");
		seen.badSearch = await page.textContent("#matched");
		await page.fill("#search", "");
		await shot(page, "top");

		await page.click("[data-view=sandwich]");
		seen.subject = await page.evaluate(() => nameOf(graphs.callees.tree.functions, graphs.callees.tree.function[1]));
		seen.callers = await page.evaluate(() => graphs.callers.tree.total[1]);
		seen.callees = await page.evaluate(() => graphs.callees.tree.total[1]);
		await shot(page, "sandwich");

		await page.click("[data-view=icicle]");
		const box = await page.locator("#graph canvas").boundingBox();
		await page.mouse.click(box.x + 20, box.y + 18 * 3 + 5); /* the third row */
		seen.zoomed = await page.evaluate(() => graphs.graph.root);
		seen.status = await page.textContent("#status");
		await page.keyboard.press("Backspace");
		seen.back = await page.evaluate(() => graphs.graph.root);
		await page.keyboard.press("ArrowDown");
		seen.byKey = await page.textContent("#status");

		const line = await page.locator("#timeline").boundingBox();
		await page.mouse.move(line.x + line.width / 4, line.y + 20);
		await page.mouse.down();
		await page.mouse.move(line.x + line.width / 2, line.y + 20, { steps: 4 });
		await page.mouse.up();
		seen.range = await page.textContent("#range");
		seen.brushed = await page.evaluate(() => page.n);
		await shot(page, "brush");
		await page.keyboard.press("Escape");
		seen.all = await page.evaluate(() => page.n);

		seen.processes = await page.$$eval("#process option", found => found.map(each => each.value));
		await page.selectOption("#process", process.env.PROCESS);
		seen.filtered = await page.evaluate(() => page.n);
		await page.selectOption("#group", "thread");
		seen.group = await page.evaluate(() => page.tree.name(page.tree.childrenOf(0)[0]));

		seen.theme = await page.evaluate(() => document.documentElement.dataset.theme);
		await page.click("#theme");
		seen.otherTheme = await page.evaluate(() => document.documentElement.dataset.theme);
		await shot(page, "dark");
	},

	/* Time on and off the CPU, counters and marks. */
	async waits(browser, seen, errors) {
		const page = await open(browser, files[0], errors);
		seen.units = await page.$$eval("#unit option", found => found.map(each => each.textContent));
		seen.totals = {};
		await page.click("[data-view=top]");
		for (const unit of seen.units) {
			await page.selectOption("#unit", { label: unit });
			seen.totals[unit] = await page.evaluate(() => page.tree.total[0]);
		}
		await page.selectOption("#unit", { label: "off-cpu" });
		seen.functions = await page.evaluate(() => Object.fromEntries(page.tree.functions.name.map((name, fn) => [name, page.counts.total[fn]])));
		seen.first = await page.textContent("#table tbody tr td");
		seen.counts = await page.textContent("#counts");
		seen.byColumn = await page.evaluate(() => timeline.columns.reduce((a, b) => a + b, 0));
		seen.reasons = await page.evaluate(() => countWaits(page.profile, page.selection).reasons);
		seen.wakers = await page.evaluate(() => countWaits(page.profile, page.selection).wakers);
		seen.shown = await page.$$eval("#reasons li", found => found.map(each => each.textContent));
		seen.marks = await page.evaluate(() => marks.rows.map(({ name, marks: all }) => [name, all.length]));
		seen.marksShown = await page.isVisible("#marks");
		await page.click("[data-view=flame]");
		await shot(page, "waits");
		const line = await page.locator("#timeline").boundingBox();
		await page.mouse.move(line.x + line.width / 4, line.y + 20);
		await page.mouse.down();
		await page.mouse.move(line.x + line.width / 2, line.y + 20, { steps: 4 });
		await page.mouse.up();
		seen.range = await page.evaluate(() => (timeline.range[1] - timeline.range[0]) * 1e3);
		seen.inRange = await page.evaluate(() => page.tree.total[0]);
		await page.keyboard.press("Escape");
		seen.lane = await page.isVisible("#lane");
		seen.counters = await page.$$eval("#counter option", found => found.map(each => each.textContent));
		await page.hover("#lane");
		seen.told = await page.textContent("#status");
		const life = await page.evaluate(() => {
			const row = marks.rows.findIndex(({ name }) => name === "process life"), { time, duration } = marks.rows[row].marks.at(-1);
			return { y: (row + 0.5) * MARK_ROW, x: (time - duration / 2) / timeline.end };
		});
		const rows = await page.locator("#marks").boundingBox();
		await page.mouse.move(rows.x + life.x * rows.width, rows.y + life.y);
		seen.mark = await page.textContent("#status");
		await page.selectOption("#unit", { label: "on-cpu" });
		seen.shownOnCpu = await page.isVisible("#waits");
	},

	/* Samples of different weights. */
	async weights(browser, seen, errors) {
		const page = await open(browser, files[0], errors);
		seen.isOffered = await page.isVisible("#unit");
		seen.samples = await page.evaluate(() => page.tree.total[0]);
		if (!seen.isOffered)
			return;
		await page.selectOption("#unit", "0");
		seen.weight = await page.evaluate(() => page.tree.total[0]);
		await page.keyboard.press("ArrowDown");
		seen.unit = await page.$eval("#unit option:checked", option => option.textContent);
	},

	/* A heap: its amounts, and bytes alive over time. */
	async heap(browser, seen, errors) {
		const page = await open(browser, files[0], errors);
		seen.units = await page.$$eval("#unit option", found => found.map(option => option.textContent));
		seen.totals = [];
		for (let i = 0; i < seen.units.length; i++) {
			await page.selectOption("#unit", String(i));
			seen.totals.push(await page.evaluate(() => page.tree.total[0]));
		}
		seen.counts = await page.textContent("#counts");
		seen.timeline = await page.getAttribute("#timeline", "aria-label");
		seen.highest = await page.evaluate(() => Math.max(...timeline.columns));
		await page.selectOption("#unit", "0");
		await shot(page, "heap");
		/* Bytes alive at the end of a range, and at its start. */
		const box = await (await page.$("#timeline")).boundingBox();
		const drag = async (from, to) => {
			await page.mouse.move(box.x + from * box.width, box.y + 5);
			await page.mouse.down();
			await page.mouse.move(box.x + to * box.width, box.y + 5, { steps: 5 });
			await page.mouse.up();
			return page.evaluate(() => ({ now: page.tree.total[0], before: page.tree.baseTotal[0], range: page.selection.range }));
		};
		seen.whole = await drag(0, 1);
		seen.late = await drag(0.5, 0.999);
		seen.range = await page.textContent("#range");
		await shot(page, "heap-range");
		await page.dblclick("#timeline");
		seen.afterRange = await page.evaluate(() => page.tree.total[0]);
		await page.click("[data-view=top]");
		seen.rows = await rows(page, 5);
	},

	/* Names that contain markup or scripts stay text. */
	async hostile(browser, seen, errors) {
		const page = await open(browser, files[0], errors);
		await page.click("[data-view=top]");
		seen.rows = await rows(page, 50);
		seen.title = await page.title();
		seen.scripts = await page.$$eval("script", found => found.length);
		await page.click("[data-view=flame]");
		await shot(page, "hostile");
	},

	/* A page made with a base, and one compared by the user. */
	async diff(browser, seen, errors) {
		const page = await open(browser, files[0], errors);
		await page.click("[data-view=top]");
		seen.change = await page.isVisible("th.change");
		const cells = () => page.$$eval("#table tbody tr", found => found.map(row =>
			[row.querySelector(".name").textContent, row.cells[2].textContent]));
		seen.cells = await cells();
		await page.click("#normalised");
		seen.shares = await cells();
		await page.click("[data-view=flame]");
		await shot(page, "diff");
		const plain = await open(browser, files[1], errors);
		await plain.setInputFiles("#base", files[2]);
		await until(plain, () => page.base !== null);
		seen.byHand = await plain.evaluate(() => page.tree.baseTotal[0]);
	},

	/* Help for new users: the subject, keys, colours, a scale; a small screen. */
	async help(browser, seen, errors) {
		const page = await open(browser, files[0], errors);
		seen.title = await page.textContent("#title");
		seen.legend = await page.$$eval("#legend-line li", found => found.map(item => item.textContent));
		await page.keyboard.press("?");
		seen.isOpen = await page.isVisible("#help");
		seen.help = await page.textContent("#help");
		await shot(page, "help");
		await page.keyboard.press("Escape");
		seen.isClosed = !await page.isVisible("#help");
		await page.fill("#search", "_start");
		seen.matched = await page.evaluate(() => page.matches !== null);
		await page.press("#search", "Escape");
		seen.left = await page.evaluate(() => [page.matches, document.getElementById("search").value, document.activeElement.id]);
		seen.ends = await page.$$eval("#counts abbr", found => found.map(each => [each.textContent, each.title]));
		seen.view = await page.$eval("#unit", select => select.selectedOptions[0].textContent);

		await page.setViewportSize({ width: 400, height: 800 });
		const height = async selector => (await page.locator(selector).boundingBox()).height;
		seen.small = [await height("#controls"), await height("#graph")];
		seen.hidden = await page.isVisible("#group");
		await page.click("#more");
		seen.shown = await page.isVisible("#group");
		await page.click("#more");
		await shot(page, "small");
	},

	async versions(browser, seen, errors) {
		const page = await open(browser, files[0], errors), status = () => page.textContent("#status");
		const total = () => page.evaluate(() => page.tree.total[0]);
		seen.status = [await status()];
		seen.samples = [await total()];
		await page.evaluate(() => { document.getElementById("status").textContent = ""; });
		await page.setInputFiles("#base", files[1]);
		await until(page, () => document.getElementById("status").textContent !== "");
		seen.status.push(await status());
		seen.samples.push(await total());
		seen.compared = await page.evaluate(() => page.base !== null);
	},

	/* The time until a large page is shown, and until another selection is. */
	async large(browser, seen, errors) {
		const begun = Date.now();
		const page = await open(browser, files[0], errors);
		seen.openMs = Date.now() - begun;
		seen.samples = await page.evaluate(() => page.profile.samples.n);
		seen.nodes = await page.evaluate(() => page.profile.nodes.n);
		seen.refreshMs = await page.evaluate(() => {
			const from = performance.now();
			timeline.select(0, timeline.end / 2);
			return performance.now() - from;
		});
		seen.drawMs = await page.evaluate(() => {
			const from = performance.now();
			for (let i = 0; i < 10; i++)
				graphs.graph.draw();
			return (performance.now() - from) / 10;
		});
		seen.searchMs = await page.evaluate(() => {
			const from = performance.now();
			document.getElementById("search").value = "a.*e";
			search();
			showView();
			return performance.now() - from;
		});
	},

	/* speedscope itself opens a file of its format. */
	async speedscope(browser, seen, errors) {
		const page = await browser.newPage({ viewport: SIZE });
		page.on("pageerror", error => errors.push(error.message));
		const data = fs.readFileSync(files[1]).toString("base64");
		const script = `${files[1]}.js`; /* as its command line does */
		fs.writeFileSync(script, `speedscope.loadFileFromBase64("out.speedscope.json", "${data}")`);
		await page.goto(`file://${files[0]}#localProfilePath=${script}`);
		await until(page, name => document.body.textContent.includes(name), process.env.EXPECTED);
		await page.keyboard.press("3"); /* the sandwich view, which has a table */
		await until(page, () => document.body.innerText.includes("innermost"));
		seen.text = await page.evaluate(() => document.body.innerText);
	},
};

async function main() {
	const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage"] });
	const seen = {}, errors = [];
	try {
		await scenarios[scenario](browser, seen, errors);
	} finally {
		await browser.close();
	}
	console.log(JSON.stringify({ ...seen, errors }));
}

main().catch(error => {
	console.error(error);
	process.exit(1);
});
