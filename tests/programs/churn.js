// Scripts come and go in three threads, with much garbage. Each has one function, named by the line where it begins.
//
//	node churn.js SECONDS
'use strict';

const vm = require('vm');
const { Worker, isMainThread, workerData } = require('worker_threads');

const seconds = Number(isMainThread ? process.argv[2] : workerData);
const end = performance.now() + 1000 * seconds;
const kept = [];

globalThis.spin = function spin(n) {
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum += Math.sqrt(i);
	return sum;
};

// Lines of different lengths and ends, some of wide characters.
function textOf(number) {
	const line = 1 + number * 7919 % 400;
	let text = '';
	for (let i = 1; i < line; i++)
		text += '//' + 'y'.repeat((i + number * 31) % 60) + (number % 5 ? '' : '\u03c0') + (number % 3 ? '\n' : '\r\n');
	return text + `(function by_line_${line}(n) { return spin(n) + ${number}; })`;
}

function makeGarbage() {
	for (let i = 0; i < 300; i++)
		kept.garbage = { i, list: [i, i], text: 'z' + i };
}

for (let i = 0; isMainThread && i < 2; i++)
	new Worker(__filename, { workerData: 0.9 * seconds });
for (let number = 0; performance.now() < end; number++) {
	const script = new vm.Script(textOf(number), { filename: `/made/${number % 13}.js` });
	kept[number % 64] = script.runInThisContext();
	for (let i = 0; i < 20; i++)
		kept[(number + 3 * i) % 64]?.(4000);
	makeGarbage();
}
