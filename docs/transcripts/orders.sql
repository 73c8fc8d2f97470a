-- Orders of customers, asked for in the ways that reports ask.
.output /dev/null
CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, day INTEGER, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
	INSERT INTO customers SELECT i, 'customer ' || (i * 7919 % 20000), 'city ' || (i % 97) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000)
	INSERT INTO orders SELECT i, i * 31 % 20000 + 1, i % 365, (i * 13 % 1000) / 10.0 FROM n;
CREATE INDEX orders_of_customer ON orders(customer);
SELECT city, count(*), sum(price), avg(price) FROM customers JOIN orders ON customer = customers.id
	GROUP BY city ORDER BY 3 DESC LIMIT 5;
SELECT name, max(day) FROM customers JOIN orders ON customer = customers.id
	WHERE name LIKE '%77%' GROUP BY name ORDER BY name LIMIT 5;
SELECT day, sum(price) OVER (ORDER BY day ROWS 30 PRECEDING) FROM
	(SELECT day, sum(price) AS price FROM orders GROUP BY day) ORDER BY day DESC LIMIT 5;
SELECT count(DISTINCT substr(name, 10, 2) || city) FROM customers JOIN orders
	ON customer = customers.id WHERE price > 50;
