// SPDX-License-Identifier: GPL-3.0-or-later
//
// Functions whose names tell their callers, as chains.py: f3_of_f1 is called by f1_of_f0 alone, by one of V8's
// builtins or by another function of a script.
//
//	node chains.js SECONDS
'use strict';

const functions = 31;

function spin() {
	let total = 0;
	for (let i = 0; i < 300; i++)
		total = (total + i * i) | 0;
	return total;
}

const ways = [
	function call(f) { f(); },
	function sort(f) { [2, 1].sort(() => { f(); return 0; }); },
	function map(f) { [1].map(() => f()); },
	function generate(f) { for (const _ of (function* inner() { yield f(); })()); },
	function get(f) { return ({ get absent() { return f(); } }).absent; },
	function apply(f) { Reflect.apply(f, null, []); },
	function replace(f) { 'a'.replace(/a/, () => { f(); return ''; }); },
	function handle(f) { try { throw new Error('x'); } catch (error) { f(); } },
	function revive(f) { JSON.parse('1', () => { f(); return 1; }); },
	function proxy(f) { return new Proxy({}, { get() { return f(); } }).absent; },
];

function make(number, callees, how) {
	const name = number ? `f${number}_of_f${(number - 1) >> 1}` : 'f0';
	const body = `return function ${name}() { spin(); for (const callee of callees) how(callee); }`;
	return new Function('spin', 'callees', 'how', body)(spin, callees, how);
}

function tree(number) {
	const children = [2 * number + 1, 2 * number + 2].filter(child => child < functions);
	return make(number, children.map(tree), ways[number % ways.length]);
}

const root = tree(0);
const end = process.cpuUsage().user + Number(process.argv[2]) * 1e6;
while (process.cpuUsage().user < end)
	for (let i = 0; i < 20; i++)
		root();
