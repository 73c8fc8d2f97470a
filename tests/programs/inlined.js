// SPDX-License-Identifier: GPL-3.0-or-later
//
// Functions that V8's optimizing compiler puts into each other: driver calls arrow, that meth, s, m, outer, middle and leaf.
//
//	node inlined.js SECONDS
'use strict';

function leaf(x) {
	let s = 0;
	for (let i = 0; i < 50; i++)
		s = (s * 31 + x + i) | 0;
	return s;
}

function middle(x) { return leaf(x) + leaf(x + 1); }

function outer(x) {
	let s = 0;
	for (let i = 0; i < 1000; i++)
		s += middle(i + x);
	return s;
}

class Way {
	m(x) { return outer(x) + 1; }
	static s(way, x) { return way.m(x); }
}

const object = {
	meth(x) { return Way.s(new Way(), x); },
	arrow: x => object.meth(x),
};

function driver() {
	const end = process.cpuUsage().user + Number(process.argv[2]) * 1e6;
	let sum = 0;
	while (process.cpuUsage().user < end)
		sum += object.arrow(sum & 7);
	return sum;
}

driver();
