// Adds up orders by customer, to show where the time of a program in node goes:
//
//	node orders.js slow	looks each customer up in a list
//	node orders.js fast	looks each customer up in a Map
'use strict';

const customers = Array.from({ length: 4000 }, (_, i) => ({ id: `customer-${i}`, total: 0 }));
const byId = new Map(customers.map(customer => [customer.id, customer]));

function makeOrders(n) {
	return Array.from({ length: n }, (_, i) => ({ customer: `customer-${i * 7919 % 4000}`, price: i % 100 }));
}

function findInList(id) {
	return customers.find(customer => customer.id === id);
}

function findInMap(id) {
	return byId.get(id);
}

function addUp(orders, find) {
	for (const order of orders)
		find(order.customer).total += order.price;
}

function report() {
	return JSON.stringify(customers.sort((a, b) => b.total - a.total).slice(0, 10));
}

addUp(makeOrders(200000), process.argv[2] === 'slow' ? findInList : findInMap);
console.log(report());
