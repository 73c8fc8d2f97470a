-- SPDX-License-Identifier: GPL-3.0-or-later
-- Functions whose lines tell their callers, for a recorder of frames of Lua, or LuaJIT:
--
--     chains.lua SECONDS [coroutine|stop WAY]
--
-- In chains.made, function 3 begins with line 19, and is called by function 1 alone: directly, by a closure, from C (pcall,
-- xpcall and its handler, sort, gsub, an iterator, load), by metamethods (of an index, a sum, a comparison, a call, a text, a
-- variable that ends), in a coroutine. SECONDS are of CPU time. With `coroutine` all runs in one. With `stop` function 0 alone
-- calls others, in one of these ways.
local FUNCTIONS, LINES = 63, 6
local rounds = 100

function spin()
    local total = 0
    for i = 1, rounds do
        total = total + i * i
    end
    return total
end

local function with(event, callee)
    return setmetatable({}, { [event] = function() callee() return 1 end })
end

ways = {
    function(callee) callee() return 1 end,
    function(callee) local made = function() callee() return 1 end made() return 1 end,
    function(callee) pcall(callee) return 1 end,
    function(callee) pcall(function() callee() error("x") end) return 1 end,
    function(callee) xpcall(error, function() callee() return 1 end) return 1 end,
    function(callee) table.sort({ 2, 1 }, function(a, b) callee() return a < b end) return 1 end,
    function(callee) string.gsub("a", "a", function() callee() return "b" end) return 1 end,
    function(callee) for _ in function(_, i) if not i then callee() return 1 end end do end return 1 end,
    function(callee) load(function() callee() return nil end) return 1 end,
    function(callee) local _ = with("__index", callee).absent return 1 end,
    function(callee) local _ = with("__add", callee) + 1 return 1 end,
    function(callee) local one = with("__lt", callee) local _ = one < one return 1 end,
    function(callee) local _ = with("__call", callee)() return 1 end,
    function(callee) tostring(setmetatable({}, { __tostring = function() callee() return "x" end })) return 1 end,
    function(callee) coroutine.wrap(function() callee() coroutine.yield() end)() return 1 end,
    function(callee)
        local made = coroutine.create(function() coroutine.yield() callee() end)
        coroutine.resume(made)
        coroutine.resume(made)
        return 1
    end,
}
if not jit then -- what Lua can read from 5.4 on, as if it was in this line
    local text = 'local with = ... return function(callee) do local _ <close> = with("__close", callee) end return 1 end'
    local here = debug.getinfo(1, "Sl")
    ways[#ways + 1] = load(("\n"):rep(here.currentline - 2) .. text, here.source)(with)
end

-- The text of one function: spin is in its second line, and those that it calls are in the next two.
local function text_of(number, functions, way)
    local calls = {}
    for child = 2 * number + 1, 2 * number + 2 do
        calls[#calls + 1] = child < functions and ("ways[%d](f%d)"):format(way, child) or ""
    end
    return ("function f%d()\nspin()\n%s\n%s\nend\n\n"):format(number, calls[1], calls[2])
end

local seconds, what, from = tonumber(arg[1]), arg[2], tonumber(arg[3] or 0)
local functions, texts = what == "stop" and 2 or FUNCTIONS, {}
for i = 0, functions - 1 do
    texts[#texts + 1] = text_of(i, functions, (from + i) % #ways + 1)
end
assert(load(table.concat(texts), "@chains.made"))()

local function run(till)
    while os.clock() < till do
        f0()
    end
end

if what == "stop" then -- for single steps, most of which are to be in calls
    rounds = 0
    run(0.1)
    collectgarbage() -- the next one is more steps away
    os.execute("kill -STOP $PPID")
    run(1e9)
elseif what == "coroutine" then
    coroutine.wrap(run)(seconds)
else
    run(seconds)
end
