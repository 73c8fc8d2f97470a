// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Methods whose names tell their callers, for a recorder of .NET's frames:
 *
 *     chains SECONDS [threads|dynamic|wait|stop WAY]
 *
 * f3_of_f1 is called by f1_of_f0 alone (tests/pipeline/dotnet.py makes them): directly, by a delegate, a lambda, an interface, a
 * generic method, reflection, libraries (sorting, lists, sequences), C (qsort), an iterator, async methods, in a constructor, in
 * handlers of exceptions. SECONDS are of time. With `threads` four of them do so, with `dynamic` by code that is made for it, with
 * `wait` each function waits. With `stop` function 0 alone calls others, in one of these ways.
 */
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

public static partial class Chains
{
    static volatile int total;
    static int rounds = 400;
    static bool waits;
    static readonly object Lock = new object();
    static readonly string[] Texts = { "b", "a" };

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void spin()
    {
        int sum = 0;
        for (int i = 0; i < rounds; i++)
            sum += sum * 31 + i;
        total += sum;
        if (waits)
            Thread.Sleep(2);
    }

    interface IRunner
    {
        void Run(Action callee);
    }

    class Runner : IRunner
    {
        public virtual void Run(Action callee) => callee();
    }

    class Other : Runner
    {
        public override void Run(Action callee)
        {
            base.Run(callee);
            total++;
        }
    }

    struct Value : IRunner
    {
        public long a, b, c;

        public void Run(Action callee)
        {
            callee();
            a = total;
        }
    }

    class Made
    {
        public Made(Action callee) => callee();
    }

    static readonly IRunner[] Runners = { new Runner(), new Other(), new Value() };

    static class Way<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static T Run(Action callee, T what)
        {
            callee();
            return what;
        }
    }

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    delegate int Compare(IntPtr a, IntPtr b);

    [DllImport("libc", EntryPoint = "qsort")]
    static extern void Sort(long[] values, UIntPtr n, UIntPtr size, Compare compare);

    static IEnumerable<int> Iterate(Action callee)
    {
        callee();
        yield return 1;
        total++;
    }

    static async Task Await(Action callee)
    {
        await Task.CompletedTask;
        callee();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Many(Action callee, long a, long b, double c, long d, long e, long f, long g, double h, long i)
    {
        Span(callee, a + b);
        return a + b + d + e + f + g + i + (long)(c * h);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static unsafe void Span(Action callee, long n)
    {
        byte* bytes = stackalloc byte[(int)(n & 255) + 16];
        bytes[0] = (byte)n;
        callee();
        total += bytes[0];
    }

    static bool Filter(Action callee)
    {
        callee();
        return true;
    }

    static readonly Action<Action>[] Ways = {
        callee => callee(),
        callee => { Action inner = () => callee(); inner(); },
        callee => Runners[0].Run(callee),
        callee => Runners[1].Run(callee),
        callee => Runners[2].Run(callee),
        callee => Way<string>.Run(callee, "a"),
        callee => Way<Value>.Run(callee, new Value()),
        callee => callee.Method.Invoke(null, null),
        callee => new Made(callee),
        callee => Array.Sort(new string[] { "b", "a" }, (a, b) => { callee(); return 0; }),
        callee => new List<Action> { callee }.ForEach(each => each()),
        callee => Texts.Where(text => text == "a").Select(text => { callee(); return text; }).ToList(),
        callee => { foreach (int i in Iterate(callee)) total += i; },
        callee => Await(callee).Wait(),
        callee => Sort(new long[] { 2, 1 }, (UIntPtr)2, (UIntPtr)8, (a, b) => { callee(); return 0; }),
        callee => Many(callee, 1, 2, 3, 4, 5, 6, 7, 8, 9),
        callee => { try { total++; } finally { callee(); } },
        callee => { lock (Lock) callee(); },
        callee => new Lazy<int>(() => { callee(); return 1; }).Value.ToString(),
        callee => string.Join(",", Texts.Select(text => { if (text == "a") callee(); return text; })),
        callee => ((Action)(() => callee())).DynamicInvoke(),
        callee => new ThreadLocal<int>(() => { callee(); return 1; }).Value.ToString(),
    };

    /* These take much time. */
    static readonly Action<Action>[] RareWays = {
        callee => { try { throw new Exception(); } catch (Exception) { callee(); } },
        callee => { try { throw new Exception(); } catch (Exception) when (Filter(callee)) { total++; } },
        callee => { try { try { throw new Exception(); } finally { callee(); } } catch (Exception) { total++; } },
    };

    /* A method that is made as it runs: it calls what it is given. */
    static Action<Action> Emit()
    {
        var method = new DynamicMethod("made", typeof(void), new[] { typeof(Action) }, typeof(Chains).Module, true);
        ILGenerator code = method.GetILGenerator();
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Callvirt, typeof(Action).GetMethod("Invoke"));
        code.Emit(OpCodes.Ret);
        return (Action<Action>)method.CreateDelegate(typeof(Action<Action>));
    }

    static Action<Action>[] ways;

    static void run(Stopwatch watch, double seconds)
    {
        while (watch.Elapsed.TotalSeconds < seconds)
            f0();
    }

    static int Main(string[] arguments)
    {
        double seconds = double.Parse(arguments[0]);
        string what = arguments.Length > 1 ? arguments[1] : "";
        Stopwatch watch = Stopwatch.StartNew();
        var threads = new List<Thread>();

        ways = what == "dynamic" ? Enumerable.Range(0, 8).Select(i => Emit()).Concat(RareWays).ToArray() : Ways;
        waits = what == "wait";
        if (what == "stop")
            return stop(int.Parse(arguments[2]));
        for (int i = 1; what == "threads" && i < 4; i++)
            threads.Add(new Thread(() => run(watch, seconds)));
        threads.ForEach(thread => thread.Start());
        run(watch, seconds);
        threads.ForEach(thread => thread.Join());
        return 0;
    }

    [DllImport("libc", EntryPoint = "raise")]
    static extern int Raise(int signal);

    /* For single steps, most of which are to be in calls. */
    static int stop(int way)
    {
        ways = new[] { way < Ways.Length ? Ways[way] : RareWays[way - Ways.Length] };
        rounds = 0;
        for (int i = 0; i < 100; i++)
            g0();
        Raise(19);
        for (;;)
            g0();
    }
}
