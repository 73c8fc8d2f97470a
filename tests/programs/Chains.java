// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Methods whose names tell their callers, for a recorder of Java's frames:
 *
 *     Chains SECONDS [wait|mixed]
 *
 * f3_of_f1 is called by f1_of_f0 alone: directly, through tables, from C++ (reflection, privileges), as a lambda, by a
 * library, in a constructor, while an exception is handled. SECONDS are of CPU time, but with `wait` of time.
 * With `mixed` they do what compilers have code of their own for, which moves the stack pointer.
 */
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

public class Chains {
    static volatile long total;
    static boolean waits, mixes;
    static final String TEXT = "a text that is searched for what is at its very end: here";
    static final ReentrantLock LOCK = new ReentrantLock();
    static final Object[] FROM = new Object[100], TO = new Object[100];

    static void spin() {
        long sum = 0;
        for (int i = 0; i < 400; i++) {
            sum += sum * 31 + i;
        }
        total += sum;
        if (mixes) {
            mix();
        }
        if (waits) {
            rest();
        }
    }

    static void mix() {
        for (int i = 0; i < 20; i++) {
            total += TEXT.indexOf("here") + TEXT.indexOf("er", i);
            LOCK.lock();
            total++;
            LOCK.unlock();
            System.arraycopy(FROM, i, TO, 0, 60 + i);
            total += (long) (Math.sin(i) + Math.pow(i, 1.5)) + Long.toString(total + i).hashCode();
            TO[i] = FROM[i] instanceof Runnable ? TEXT : new int[i + 1];
        }
    }

    static void rest() {
        try {
            Thread.sleep(2);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static class Base {
        void run(Runnable callee) {
            throw new AssertionError();
        }
    }

    static class Derived extends Base {
        @Override
        void run(Runnable callee) {
            callee.run();
        }
    }

    static class Other extends Base {
    }

    static class Made {
        Made(Runnable callee) {
            callee.run();
        }
    }

    static final MethodHandle RUN;

    static {
        try {
            RUN = MethodHandles.lookup().findVirtual(Runnable.class, "run", MethodType.methodType(void.class));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static final Base[] BASES = { new Derived(), new Other() };

    /* How one function calls another. */
    static class Way {
        static void call(Runnable callee) {
            callee.run();
        }

        static void virtual(Runnable callee) {
            BASES[0].run(callee);
        }

        static void implement(Runnable callee) {
            new Runnable() {
                @Override
                public void run() {
                    callee.run();
                }
            }.run();
        }

        static void lambda(Runnable callee) {
            Runnable inner = () -> callee.run();
            inner.run();
        }

        static void reflect(Runnable callee) {
            try {
                Runnable.class.getMethod("run").invoke(callee);
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }

        static void handle(Runnable callee) {
            try {
                RUN.invokeExact(callee);
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        static void sort(Runnable callee) {
            Integer[] list = { 1, 2 };
            Arrays.sort(list, (a, b) -> {
                callee.run();
                return 0;
            });
        }

        static void stream(Runnable callee) {
            Stream.of(callee).map(x -> x).forEach(Runnable::run);
        }

        @SuppressWarnings({"deprecation", "removal"})
        static void privileged(Runnable callee) {
            java.security.AccessController.doPrivileged((java.security.PrivilegedAction<Object>) () -> {
                callee.run();
                return null;
            });
        }

        static void construct(Runnable callee) {
            new Made(callee);
        }

        static synchronized void synchronize(Runnable callee) {
            callee.run();
        }

        static void catching(Runnable callee) {
            try {
                throw new IllegalStateException();
            } catch (IllegalStateException e) {
                callee.run();
            }
        }

        static void recurse(Runnable callee) {
            recurse(callee, 3);
        }

        private static void recurse(Runnable callee, int n) {
            if (n > 0) {
                recurse(callee, n - 1);
            } else {
                callee.run();
            }
        }

        static void method(Runnable callee) {
            Runnable bound = callee::run;
            bound.run();
        }
    }

    static void f0() {
        spin();
        Way.call(Chains::f1_of_f0);
        Way.call(Chains::f2_of_f0);
    }

    static void f1_of_f0() {
        spin();
        Way.virtual(Chains::f3_of_f1);
        Way.virtual(Chains::f4_of_f1);
    }

    static void f2_of_f0() {
        spin();
        Way.implement(Chains::f5_of_f2);
        Way.implement(Chains::f6_of_f2);
    }

    static void f3_of_f1() {
        spin();
        Way.lambda(Chains::f7_of_f3);
        Way.lambda(Chains::f8_of_f3);
    }

    static void f4_of_f1() {
        spin();
        Way.reflect(Chains::f9_of_f4);
        Way.reflect(Chains::f10_of_f4);
    }

    static void f5_of_f2() {
        spin();
        Way.handle(Chains::f11_of_f5);
        Way.handle(Chains::f12_of_f5);
    }

    static void f6_of_f2() {
        spin();
        Way.sort(Chains::f13_of_f6);
        Way.sort(Chains::f14_of_f6);
    }

    static void f7_of_f3() {
        spin();
        Way.stream(Chains::f15_of_f7);
        Way.stream(Chains::f16_of_f7);
    }

    static void f8_of_f3() {
        spin();
        Way.privileged(Chains::f17_of_f8);
        Way.privileged(Chains::f18_of_f8);
    }

    static void f9_of_f4() {
        spin();
        Way.construct(Chains::f19_of_f9);
        Way.construct(Chains::f20_of_f9);
    }

    static void f10_of_f4() {
        spin();
        Way.synchronize(Chains::f21_of_f10);
        Way.synchronize(Chains::f22_of_f10);
    }

    static void f11_of_f5() {
        spin();
        Way.catching(Chains::f23_of_f11);
        Way.catching(Chains::f24_of_f11);
    }

    static void f12_of_f5() {
        spin();
        Way.recurse(Chains::f25_of_f12);
        Way.recurse(Chains::f26_of_f12);
    }

    static void f13_of_f6() {
        spin();
        Way.method(Chains::f27_of_f13);
        Way.method(Chains::f28_of_f13);
    }

    static void f14_of_f6() {
        spin();
        Way.call(Chains::f29_of_f14);
        Way.call(Chains::f30_of_f14);
    }

    static void f15_of_f7() {
        spin();
    }

    static void f16_of_f7() {
        spin();
    }

    static void f17_of_f8() {
        spin();
    }

    static void f18_of_f8() {
        spin();
    }

    static void f19_of_f9() {
        spin();
    }

    static void f20_of_f9() {
        spin();
    }

    static void f21_of_f10() {
        spin();
    }

    static void f22_of_f10() {
        spin();
    }

    static void f23_of_f11() {
        spin();
    }

    static void f24_of_f11() {
        spin();
    }

    static void f25_of_f12() {
        spin();
    }

    static void f26_of_f12() {
        spin();
    }

    static void f27_of_f13() {
        spin();
    }

    static void f28_of_f13() {
        spin();
    }

    static void f29_of_f14() {
        spin();
    }

    static void f30_of_f14() {
        spin();
    }

    static long now() {
        return waits ? System.nanoTime() : ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    public static void main(String[] arguments) {
        waits = arguments.length > 1 && arguments[1].equals("wait");
        mixes = arguments.length > 1 && arguments[1].equals("mixed");
        long end = now() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        while (now() < end) {
            f0();
        }
    }
}
