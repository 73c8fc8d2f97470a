// SPDX-License-Identifier: GPL-3.0-or-later
//
// Functions that spend their time in V8's builtins, leaf_get in those of maps and so on. Each is called by a function of
// its own, caller_of_leaf_get.
//
//	node leaves.js SECONDS
'use strict';

const text = 'abcdefgh'.repeat(3), pattern = /h(a)b/g;
const map = new Map(Array.from({ length: 50 }, (_, i) => [`k${i}`, i]));
const objects = Array.from({ length: 40 }, (_, i) => ({ [`p${i}`]: 1, own: i }));
const numbers = [...Array(60).keys()];

const leaves = [
	function leaf_find() { let n = 0; for (let i = 0; i < 200; i++) n += text.indexOf('hab', i & 7); return n; },
	function leaf_get() { let n = 0; for (let i = 0; i < 200; i++) n += map.get('k' + (i % 50)); return n; },
	function leaf_key() { let n = 0; for (let i = 0; i < 200; i++) n += objects[i % 40][`p${i % 40}`]; return n; },
	function leaf_field() { let n = 0; for (let i = 0; i < 200; i++) n += objects[i % 40].own; return n; },
	function leaf_includes() { let n = 0; for (let i = 0; i < 200; i++) n += numbers.includes(i); return n; },
	function leaf_push() { const list = []; for (let i = 0; i < 200; i++) list.push(i); return list.length; },
	function leaf_add() { let s = ''; for (let i = 0; i < 200; i++) s += i; return s.length; },
	function leaf_parse() { let n = 0; for (let i = 0; i < 200; i++) n += parseInt('12' + i); return n; },
	function leaf_match() { let n = 0; for (let i = 0; i < 50; i++) { pattern.lastIndex = 0; n += !!pattern.exec(text); } return n; },
	function leaf_spread() { let n = 0; for (let i = 0; i < 50; i++) n += Math.max(...numbers); return n; },
	function leaf_keys() { let n = 0; for (let i = 0; i < 50; i++) n += Object.keys(objects[i % 40]).length; return n; },
	function leaf_rest() { let n = 0; for (let i = 0; i < 100; i++) { const { own, ...rest } = objects[i % 40]; n += own; } return n; },
	function leaf_multiply() { let n = 1n; for (let i = 0; i < 50; i++) n *= 3n; return Number(n & 7n); },
	function leaf_concat() { let n = 0; for (let i = 0; i < 50; i++) n += numbers.concat(i).length; return n; },
	function leaf_slice() { let n = 0; for (let i = 0; i < 50; i++) n += numbers.slice(i).length; return n; },
];
const callers = leaves.map(leaf => new Function('leaf', `return function caller_of_${leaf.name}() { return leaf() | 0; }`)(leaf));
const end = process.cpuUsage().user + Number(process.argv[2]) * 1e6;
let sum = 0;
while (process.cpuUsage().user < end)
	for (let i = 0; i < 10; i++)
		for (const caller of callers)
			sum += caller();
