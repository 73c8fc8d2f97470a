// SPDX-License-Identifier: GPL-3.0-or-later
//
// Waits for 5 ms, again and again: inner is called by outer alone.
//
//	node pauses.js SECONDS
'use strict';

const word = new Int32Array(new SharedArrayBuffer(4));

function inner() { Atomics.wait(word, 0, 0, 5); }

function outer() { inner(); }

const until = Date.now() + 1000 * Number(process.argv[2]);
while (Date.now() < until)
	outer();
