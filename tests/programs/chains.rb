# SPDX-License-Identifier: GPL-3.0-or-later
# Functions whose names tell their callers, for a recorder of Ruby's frames:
#
#     chains.rb SECONDS [wait|thread|fiber|stop WAY]
#
# f3_of_f1 is called by f1_of_f0 alone: directly, from C (each, map, sort, gsub, inject, times), by a proc, a method object,
# a method that an unknown name stands for or that is defined by a block, an enumerator with a fiber of its own, an ensure or
# rescue clause, `send`, `instance_eval`, a comparison. SECONDS are of CPU time, but with `wait` of time. With `thread` all
# runs in another thread, with `fiber` in a fiber. With `stop` f0 alone calls others, in one of these ways.

FUNCTIONS = 63
$rounds = 100

def spin
  total = 0
  i = 0
  while i < $rounds
    total += i * i
    i += 1
  end
  total
end

class Unknown
  def initialize(callee)
    @callee = callee
  end

  def method_missing(name, *arguments)
    Object.new.send(@callee)
  end

  def respond_to_missing?(name, all = false)
    true
  end

  def <=>(other)
    Object.new.send(@callee)
    0
  end

  def each
    yield 1
  end

  def to_s
    Object.new.send(@callee)
    'text'
  end

  define_method(:defined) { Object.new.send(@callee) }
end

module Way
  def self.call(callee)
    Object.new.send(callee)
  end

  def self.each(callee)
    [1].each { |x| Object.new.send(callee) }
  end

  def self.map(callee)
    [1].map(&->(x) { Object.new.send(callee) })
  end

  def self.sort(callee)
    [1, 2].sort_by { |x| x == 1 ? Object.new.send(callee) : nil; x }
  end

  def self.replace(callee)
    'a'.gsub(/a/) { |x| Object.new.send(callee).to_s }
  end

  def self.fold(callee)
    [1, 2].inject { |a, b| Object.new.send(callee) }
  end

  def self.times(callee)
    1.times { Object.new.send(callee) }
  end

  def self.hold(callee)
    proc { Object.new.send(callee) }.call
  end

  def self.object(callee)
    Object.new.method(callee).call
  end

  def self.missing(callee)
    Unknown.new(callee).absent
  end

  def self.define(callee)
    Unknown.new(callee).defined
  end

  def self.enumerate(callee)
    Unknown.new(callee).to_enum.each_with_index { |x, i| Object.new.send(callee) }
  end

  def self.ensures(callee)
    begin
      $rounds
    ensure
      Object.new.send(callee)
    end
  end

  def self.rescues(callee)
    begin
      raise 'x'
    rescue StandardError
      Object.new.send(callee)
    end
  end

  def self.unwinds(callee)
    catch(:done) do
      begin
        throw :done
      ensure
        Object.new.send(callee)
      end
    end
  end

  def self.evaluate(callee)
    Object.new.instance_eval { send(callee) }
  end

  def self.text(callee)
    "#{Unknown.new(callee)}"
  end

  def self.compare(callee)
    Unknown.new(callee) <=> 1
  end

  def self.rest(callee)
    sleep 0.002
    Object.new.send(callee)
  end
end

WAYS = %i[call each map sort replace fold times hold object missing define enumerate ensures rescues unwinds evaluate text
          compare]

def name_of(number)
  number == 0 ? 'f0' : "f#{number}_of_f#{(number - 1) / 2}"
end

# The text of one function: spin is in its second line, and those that it calls are in the next two.
def text_of(number, functions, way)
  calls = [2 * number + 1, 2 * number + 2].map { |child| child < functions ? "Way.#{way} :#{name_of(child)}" : '' }
  "def #{name_of(number)}\nspin\n#{calls.join("\n")}\nend\n\n"
end

def cpu_time
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end

def wall_time
  Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def run(clock, till)
  f0 while send(clock) < till
end

seconds = Float(ARGV[0])
what = ARGV[1]
functions = what == 'stop' ? 2 : FUNCTIONS
text = (0...functions).map do |i|
  text_of(i, functions, what == 'wait' ? 'rest' : WAYS[((ARGV[2] || 0).to_i + i) % WAYS.size])
end
eval(text.join, nil, 'chains.made')
clock = what == 'wait' ? :wall_time : :cpu_time
case what
when 'stop' # for single steps, most of which are to be in calls
  $rounds = 0
  run(:wall_time, wall_time + 0.1)
  Process.kill(:STOP, Process.pid)
  run(:wall_time, wall_time + seconds)
when 'fiber'
  Fiber.new { run(clock, send(clock) + seconds) }.resume
when 'thread'
  Thread.new { run(clock, send(clock) + seconds) }.join
else
  run(clock, send(clock) + seconds)
end
