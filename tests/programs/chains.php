<?php
// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Functions whose names tell their callers, for a recorder of PHP's calls:
 *
 *     chains.php SECONDS [wait|fiber|stop WAY]
 *
 * f3_of_f1 is called by f1_of_f0 alone: directly, from C (array_map, usort, preg_replace_callback), as a generator, as a
 * method that an attribute or an unknown name stands for, as a destructor, while an exception is handled. SECONDS are of CPU
 * time, but with `wait` of time. With `fiber` all runs in one. With `stop` f0 alone calls others, in one of these ways.
 */

const FUNCTIONS = 31;

$rounds = 400;

function spin()
{
    global $rounds;
    $total = 0;
    for ($i = 0; $i < $rounds; $i++) {
        $total += $i * $i;
    }
    return $total;
}

class Unknown
{
    public function __construct(private string $callee)
    {
    }

    public function __get($name)
    {
        return ($this->callee)();
    }

    public function __call($name, $arguments)
    {
        return ($this->callee)();
    }

    public function __invoke()
    {
        return ($this->callee)();
    }
}

class Ending
{
    public function __construct(private string $callee)
    {
    }

    public function __destruct()
    {
        ($this->callee)();
    }
}

abstract class Way
{
    public static function call($callee)
    {
        $callee();
    }

    public static function map($callee)
    {
        array_map(fn ($x) => $callee(), [1]);
    }

    public static function sort($callee)
    {
        $list = [1, 2];
        usort($list, function ($a, $b) use ($callee) {
            $callee();
            return 0;
        });
    }

    public static function replace($callee)
    {
        preg_replace_callback('/a/', fn ($x) => (string)$callee(), 'a');
    }

    public static function generate($callee)
    {
        $generator = (function () use ($callee) {
            yield $callee();
        })();
        foreach ($generator as $value) {
        }
    }

    public static function innermost($callee)
    {
        yield $callee();
    }

    public static function middle($callee)
    {
        yield from self::innermost($callee);
    }

    public static function outermost($callee)
    {
        yield from self::middle($callee);
    }

    public static function delegate($callee)
    {
        foreach (self::outermost($callee) as $value) {
        }
    }

    private static $generators = [];

    /* Each generator lives on, and is resumed anew by each call of the one function that has this callee. */
    public static function resume($callee)
    {
        if (isset(self::$generators[$callee])) {
            self::$generators[$callee]->next();
            return;
        }
        self::$generators[$callee] = (function () use ($callee) {
            while (true) {
                yield $callee();
            }
        })();
        self::$generators[$callee]->current();
    }

    public static function get($callee)
    {
        (new Unknown($callee))->absent;
    }

    public static function method($callee)
    {
        (new Unknown($callee))->absent();
    }

    public static function invoke($callee)
    {
        call_user_func(new Unknown($callee));
    }

    public static function end($callee)
    {
        $ending = new Ending($callee);
    }

    public static function handle($callee)
    {
        try {
            throw new Exception();
        } catch (Exception $e) {
            $callee();
        }
    }

    public static function rest($callee)
    {
        usleep(2000);
        $callee();
    }
}

const WAYS = ['call', 'map', 'sort', 'replace', 'generate', 'resume', 'get', 'method', 'invoke', 'end', 'handle', 'delegate'];

function name_of($number)
{
    return $number ? "f{$number}_of_f" . intdiv($number - 1, 2) : 'f0';
}

/* The text of one function: spin() is in its third line, and those that it calls are in the next two. */
function text_of($number, $functions, $way)
{
    $lines = ['function ' . name_of($number) . '()', '{', 'spin();'];
    foreach ([2 * $number + 1, 2 * $number + 2] as $child) {
        $lines[] = $child < $functions ? "Way::$way('" . name_of($child) . "');" : '';
    }
    array_push($lines, '}', '');
    return implode("\n", $lines) . "\n";
}

function cpu_time()
{
    $usage = getrusage();
    return $usage['ru_utime.tv_sec'] + $usage['ru_utime.tv_usec'] / 1e6
        + $usage['ru_stime.tv_sec'] + $usage['ru_stime.tv_usec'] / 1e6;
}

function wall_time()
{
    return microtime(true);
}

function run($clock, $until)
{
    while ($clock() < $until) {
        f0();
    }
}

function run_in_turns($clock, $until)
{
    while ($clock() < $until) {
        f0();
        Fiber::suspend();
    }
}

$seconds = (float)$argv[1];
$what = $argv[2] ?? '';
$functions = $what === 'stop' ? 2 : FUNCTIONS;
$text = '';
for ($i = 0; $i < $functions; $i++) {
    $way = $what === 'wait' ? 'rest' : WAYS[((int)($argv[3] ?? 0) + $i) % count(WAYS)];
    $text .= text_of($i, $functions, $way);
}
eval($text);
$clock = $what === 'wait' ? 'wall_time' : 'cpu_time';
if ($what === 'stop') { // for single steps, most of which are to be in calls
    $rounds = 0;
    run('wall_time', wall_time() + 0.1);
    shell_exec('kill -STOP ' . getmypid());
    run('wall_time', wall_time() + $seconds);
} elseif ($what === 'fiber') {
    $fiber = new Fiber('run_in_turns');
    $fiber->start($clock, $clock() + $seconds);
    while (!$fiber->isTerminated()) {
        $fiber->resume();
    }
} else {
    run($clock, $clock() + $seconds);
}
