/* Reads the profile that html.c wrote into a page; the format is described there. */

const FORMAT = 5; /* PAGE_FORMAT in html.c */

/** Kinds of functions: enum tree_function_kind. */
const KIND = { USER: 0, KERNEL: 1, JIT: 2, CUT: 3, SCRIPT: 4, INLINED: 5 };

class Numbers {
	constructor(bytes, at) {
		this.bytes = bytes;
		this.at = at;
	}

	/** The next LEB128 number. A few have more than 32 bits, so no bit operations. */
	next() {
		let value = 0, factor = 1, byte;
		do {
			byte = this.bytes[this.at++];
			value += (byte & 0x7f) * factor;
			factor *= 128;
		} while (byte & 0x80);
		return value;
	}
}

async function unpack(base64) {
	const text = atob(base64.trim());
	const packed = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		packed[i] = text.charCodeAt(i);
	const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(plain).arrayBuffer());
}

function readFunctions(numbers, n) {
	const functions = { name: [], module: [], kind: [] };
	for (let i = 0; i < n; i++) {
		functions.name.push(numbers.next());
		functions.module.push(numbers.next());
		functions.kind.push(numbers.next());
	}
	return functions;
}

function readNodes(numbers, n) {
	const nodes = { n, parent: new Uint32Array(n), function: new Int32Array(n) };
	nodes.function[0] = -1;
	for (let i = 1; i < n; i++) {
		nodes.parent[i] = i - numbers.next();
		nodes.function[i] = numbers.next();
	}
	return nodes;
}

/** What programs publish about themselves: traces, spans and attributes. The first one is none. */
function readContexts(numbers, n, strings) {
	const contexts = [{ trace: "", span: "", attributes: new Map() }];
	for (let i = 0; i < n; i++) {
		const context = { trace: strings[numbers.next()], span: strings[numbers.next()], attributes: new Map() };
		for (let left = numbers.next(); left; left--) {
			const key = strings[numbers.next()];
			context.attributes.set(key, strings[numbers.next()]);
		}
		contexts.push(context);
	}
	return contexts;
}

/**
 * `nUnits`: weights of each sample (0: all equal). With `haveCounts`, a sample may stand for several;
 * with `haveWaits`, it has the reason of a wait, and the waking thread + 1; with `haveContexts`, what
 * its program publishes.
 */
function readSamples(numbers, n, nUnits, haveWaits, haveCounts, haveContexts) {
	const samples = {
		n, time: new Float64Array(n), thread: new Uint32Array(n), node: new Uint32Array(n),
		count: haveCounts ? new Float64Array(n) : null, /* null: 1 each */
		weights: Array.from({ length: nUnits }, () => new Float64Array(n)),
		reason: new Uint32Array(haveWaits ? n : 0), waker: new Uint32Array(haveWaits ? n : 0),
		context: new Uint32Array(n),
	};
	for (let i = 0, time = 0; i < n; i++) {
		time += numbers.next();
		samples.time[i] = time;
		samples.thread[i] = numbers.next();
		samples.node[i] = numbers.next();
		if (haveCounts)
			samples.count[i] = numbers.next();
		for (const weight of samples.weights)
			weight[i] = numbers.next();
		if (haveWaits) {
			samples.reason[i] = numbers.next();
			samples.waker[i] = numbers.next();
		}
		if (haveContexts)
			samples.context[i] = numbers.next();
	}
	return samples;
}

/** What was alive of a heap, in intervals of equal length. */
function readTimeline(numbers, n) {
	const bytes = new Float64Array(n), blocks = new Float64Array(n);
	for (let i = 0; i < n; i++) {
		bytes[i] = numbers.next();
		blocks[i] = numbers.next();
	}
	return { bytes, blocks };
}

/** Moments of a heap: which samples changed since the last one, and what they have alive. */
function readMoments(numbers, n) {
	const moments = [];
	for (let i = 0, time = 0; i < n; i++) {
		time += numbers.next();
		const changes = numbers.next();
		const moment = { time, sample: new Uint32Array(changes), bytes: new Float64Array(changes), blocks: new Float64Array(changes) };
		for (let k = 0; k < changes; k++) {
			moment.sample[k] = numbers.next();
			moment.bytes[k] = numbers.next();
			moment.blocks[k] = numbers.next();
		}
		moments.push(moment);
	}
	return moments;
}

/** The number of all samples, or of those in a list. */
function sampleCount(samples, list) {
	if (!samples.count)
		return list ? list.length : samples.n;
	return list ? list.reduce((sum, i) => sum + samples.count[i], 0) : samples.count.reduce((sum, n) => sum + n, 0);
}

/** What each sample has alive at the last moment up to a time, and that moment (0: none, nothing). */
function aliveAt(profile, time, unit) {
	const weights = new Float64Array(profile.samples.n);
	let at = 0;
	for (const moment of profile.moments) {
		if (moment.time > time)
			break;
		at = moment.time;
		moment.sample.forEach((sample, i) => {
			weights[sample] = moment[unit][i];
		});
	}
	return { weights, at };
}

function readLosses(numbers, n) {
	const losses = [];
	for (let i = 0, time = 0; i < n; i++) {
		time += numbers.next();
		losses.push({ time, n: numbers.next() });
	}
	return losses;
}

/** Counters of the machine, each with times and values. */
function readCounters(numbers, n, nValues, strings) {
	const counters = [];
	for (let i = 0; i < n; i++)
		counters.push({
			category: strings[numbers.next()], name: strings[numbers.next()], description: strings[numbers.next()],
			divisor: numbers.next(), times: [], values: [],
		});
	for (let i = 0, time = 0; i < nValues; i++) {
		time += numbers.next();
		const counter = counters[numbers.next()];
		counter.times.push(time);
		counter.values.push(numbers.next() / counter.divisor);
	}
	return counters;
}

/** Appends the sum of losses as a counter of stackpipe. */
function countersOf(header, counters, losses) {
	if (!counters.length && !losses.length)
		return counters;
	let sum = 0;
	const times = [0], values = [0];
	for (const loss of losses) {
		times.push(loss.time);
		values.push(sum += loss.n);
	}
	times.push(header.duration_us);
	values.push(sum);
	return [...counters, { category: "stackpipe", name: "Lost Events", description: "so far", divisor: 1, times, values }];
}

/** Marks of programs and the scheduler; `time` is the end. */
function readMarks(numbers, n, strings, processes) {
	const marks = [];
	for (let i = 0, time = 0; i < n; i++) {
		time += numbers.next();
		marks.push({
			time, duration: numbers.next(), process: processes[numbers.next() - 1] || null, tid: numbers.next(),
			group: strings[numbers.next()], name: strings[numbers.next()], text: strings[numbers.next()],
		});
	}
	return marks;
}

/** Reads a whole profile from its unpacked bytes. Times are microseconds since the start. */
function readProfile(bytes) {
	const size = new DataView(bytes.buffer).getUint32(0, true);
	const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
	if (header.format !== FORMAT)
		throw new Error("another version of stackpipe wrote it; convert both recordings with one version");
	const numbers = new Numbers(bytes, 4 + size);
	const strings = header.strings;
	const functions = readFunctions(numbers, header.functions);
	const nodes = readNodes(numbers, header.nodes);
	const processes = [], threads = [];
	for (let i = 0; i < header.processes; i++)
		processes.push({ pid: numbers.next(), name: strings[numbers.next()], cgroup: strings[numbers.next()], service: strings[numbers.next()] });
	for (let i = 0; i < header.threads; i++)
		threads.push({ process: numbers.next(), tid: numbers.next(), name: strings[numbers.next()] });
	const contexts = readContexts(numbers, header.contexts, strings);
	const samples = readSamples(numbers, header.samples, header.units.length, header.waits >= 0, header.repeats, header.contexts);
	const losses = readLosses(numbers, header.losses);
	const counters = readCounters(numbers, header.counters || 0, header.counter_values || 0, strings);
	const marks = readMarks(numbers, header.marks || 0, strings, processes);
	const timeline = header.heap ? readTimeline(numbers, header.timeline) : null;
	const moments = header.heap ? readMoments(numbers, header.moments) : [];
	functions.name = functions.name.map(i => strings[i]);
	functions.module = functions.module.map(i => strings[i]);
	return {
		header, functions, nodes, processes, threads, contexts, samples, losses, marks, timeline, moments,
		counters: countersOf(header, counters, losses),
	};
}

/** The profile in the text of another page; null: there is none. */
function findData(text) {
	const found = /<script type="application\/octet-stream" id="data">\s*([A-Za-z0-9+\/=]+)\s*<\/script>/.exec(text);
	return found ? found[1] : null;
}
