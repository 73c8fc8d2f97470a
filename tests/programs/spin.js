// SPDX-License-Identifier: GPL-3.0-or-later
// Code that V8 compiles at run time; runs for the given seconds of CPU time.
function fibonacci(n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

const end = 1e6 * (process.argv[2] || 1);
let sum = 0;
while (process.cpuUsage().user < end) {
	const object = {};
	sum += fibonacci(20);
	for (let i = 0; i < 1000; i++)
		object["key" + i] = i;
	JSON.parse(JSON.stringify(object));
	/a+b/.test("aaab".repeat(100));
}
console.log(sum);
