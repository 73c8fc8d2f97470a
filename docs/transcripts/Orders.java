// SPDX-License-Identifier: GPL-3.0-or-later
// The guide's program in Java: orders are added up by customer, who is found in a list (slow) or in a map (fast).
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class Orders {
    record Customer(String name, long[] total) {
    }

    static Customer findInList(List<Customer> customers, String name) {
        return customers.stream().filter(customer -> customer.name().equals(name)).findFirst().orElseThrow();
    }

    static void addUp(List<Customer> customers, Map<String, Customer> byName, int n) {
        for (int i = 0; i < n; i++) {
            String name = "customer " + i * 7919L % customers.size();
            Customer customer = byName == null ? findInList(customers, name) : byName.get(name);
            customer.total()[0] += i;
        }
    }

    public static void main(String[] arguments) {
        List<Customer> customers = new ArrayList<>();
        Map<String, Customer> byName = new HashMap<>();
        for (int i = 0; i < 4000; i++) {
            customers.add(new Customer("customer " + i, new long[1]));
            byName.put("customer " + i, customers.get(i));
        }
        addUp(customers, arguments[0].equals("fast") ? byName : null, 200_000);
        System.out.println(customers.stream().mapToLong(customer -> customer.total()[0]).sum());
    }
}
