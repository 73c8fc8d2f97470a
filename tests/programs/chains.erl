%% SPDX-License-Identifier: GPL-3.0-or-later
%% Functions whose names tell their callers, for a recorder of Erlang's frames:
%%
%%     erl -run chains main SECONDS [process|reload|dirty]
%%
%% In the module made, f3_of_f1 is called by f1_of_f0 alone, and begins with line 19 of chains.made: directly, by functions
%% that are values (closures, functions of other modules, of itself, with an environment), from lists, maps, sort and
%% comprehensions, by apply/3, in try, catch and after, for what raises errors, of many arguments, deep in a stack. SECONDS are
%% of CPU time. With `process` a process for each round calls them, with `reload` other versions of the module are loaded
%% meanwhile. With `dirty` all time is spent in a function of C, which another thread executes.
-module(chains).
-export([main/1, way/2, exported/1, many/9, compared/3, 'with a name'/1]).

-define(FUNCTIONS, 63).
-define(WAYS, 26).

way(1, Callee) -> Callee(), ok;
way(2, Callee) -> Made = fun() -> Callee(), ok end, Made(), ok;
way(3, Callee) -> lists:map(fun(_) -> Callee(), 1 end, [1]), ok;
way(4, Callee) -> lists:foldl(fun(_, Sum) -> Callee(), Sum end, 0, [1]), ok;
way(5, Callee) -> [begin Callee(), X end || X <- [1]], ok;
way(6, Callee) -> << <<(begin Callee(), X end)>> || <<X>> <= <<1>> >>, ok;
way(7, Callee) -> lists:sort(fun(A, B) -> compared(Callee, A, B) end, [2, 1]), ok;
way(8, Callee) -> maps:map(fun(_, X) -> Callee(), X end, #{a => 1}), ok;
way(9, Callee) -> apply(chains, exported, [Callee]), ok;
way(10, Callee) -> Module = chains, Module:exported(Callee), ok;
way(11, Callee) -> Function = fun chains:exported/1, Function(Callee), ok;
way(12, Callee) -> try Callee(), error(wrong) catch error:wrong -> ok end;
way(13, Callee) -> catch begin Callee(), throw(wrong) end, ok;
way(14, Callee) -> try ok after Callee() end, ok;
way(15, Callee) -> try error(wrong) catch _:_ -> Callee(), ok end, ok;
way(16, Callee) -> Again = fun Again(0) -> Callee(), 0; Again(N) -> Again(N - 1) + 1 end, Again(3), ok;
way(17, Callee) -> deep(40, Callee), ok;
way(18, Callee) -> many(1, 2, 3, 4, 5, 6, 7, 8, Callee), ok;
way(19, Callee) -> 'with a name'(Callee), ok;
way(20, Callee) -> case element(1, {Callee(), 2}) of ok -> ok; Other -> Other end, ok;
way(21, Callee) -> {A, B, C} = {X, _, _} = {make_ref(), 2.5, <<1, 2, 3>>}, Callee(), {A, B, C, X}, ok;
way(22, Callee) -> X = lists:seq(1, 500), Callee(), length(X), ok;
way(23, Callee) -> lists:filter(fun(_) -> erlang:garbage_collect(), Callee(), true end, [1]), ok;
way(24, Callee) -> catch matched(Callee, {1, Callee()}), ok;
way(25, Callee) -> (fun(X) -> Callee(), X end)(ok), ok;
way(26, Callee) -> lists:foreach(fun(_) -> receive after 0 -> Callee() end, ok end, [1]), ok.

exported(Callee) -> Callee(), ok.

compared(Callee, A, B) -> Callee(), A =< B.

deep(0, Callee) -> Callee(), 0;
deep(N, Callee) -> [N | lists:duplicate(1, deep(N - 1, Callee))].

many(A, B, C, D, E, F, G, H, Callee) -> Callee(), A + B + C + D + E + F + G + H.

'with a name'(Callee) -> Callee(), ok.

matched(Callee, {A, B}) when is_function(Callee) -> C = Callee(), {ok, A} = {B, C}, ok.

read() -> {ok, _} = prim_file:read_file("/proc/self/maps"), ok.

spin(Rounds) -> spin(Rounds, 0).

spin(0, Sum) -> Sum;
spin(N, Sum) -> spin(N - 1, Sum + N * N rem 7).

name(0) -> "f0";
name(Number) -> io_lib:format("f~b_of_f~b", [Number, (Number - 1) div 2]).

%% The text of one function: spin is called in its second line, and those that it calls are in the next two.
call(Child, Way) when Child < ?FUNCTIONS -> io_lib:format("chains:way(~b, fun ~s/0),", [Way, name(Child)]);
call(_, _) -> "".

text(Number, Way) ->
    io_lib:format("~s() ->~nspin(),~n~s~n~s~nok.~n~n", [name(Number), call(2 * Number + 1, Way), call(2 * Number + 2, Way)]).

source(From) ->
    lists:flatten([[text(Number, (From + Number) rem ?WAYS + 1) || Number <- lists:seq(0, ?FUNCTIONS - 1)],
                   "spin() ->\n(get(spin))(), ok.\n"]).

forms(Text, Line) ->
    {done, {ok, Tokens, Next}, Rest} = erl_scan:tokens([], Text, Line),
    {ok, Form} = erl_parse:parse_form(Tokens),
    [Form | case string:trim(Rest) of "" -> []; _ -> forms(Rest, Next) end].

compiled(From) ->
    Head = [{attribute, 1, file, {"chains.made", 1}}, {attribute, 1, module, made}, {attribute, 1, export, [{f0, 0}]}],
    {ok, made, Code} = compile:forms(Head ++ forms(source(From), 1), []),
    Code.

elapsed() -> element(1, erlang:statistics(runtime)) / 1000.

run(Till, Round) ->
    case elapsed() < Till of
        true -> Round(), run(Till, Round);
        false -> ok
    end.

round_of("process", Spin) ->
    fun() ->
        {Process, Monitor} = spawn_monitor(fun() -> put(spin, Spin), made:f0(), ok end),
        receive {'DOWN', Monitor, process, Process, _} -> ok end
    end;
round_of(_, _) ->
    fun() -> made:f0(), ok end.

%% Once a millisecond, so that most time is spent in chains. What still executes the code before the current one would be killed.
reload([Code | Codes]) ->
    timer:sleep(1),
    case code:soft_purge(made) of
        true -> {module, made} = code:load_binary(made, "chains.made", Code), reload(Codes ++ [Code]);
        false -> reload([Code | Codes])
    end.

seconds(Text) ->
    case string:to_float(Text) of
        {error, no_float} -> list_to_integer(Text);
        {Seconds, ""} -> Seconds
    end.

main([Seconds]) -> main([Seconds, ""]);
main([Seconds, What]) ->
    {module, made} = code:load_binary(made, "chains.made", compiled(0)),
    Spin = if What == "dirty" -> fun read/0; true -> fun() -> spin(300), ok end end,
    put(spin, Spin),
    if What == "reload" -> spawn_link(fun() -> reload([compiled(From) || From <- [1, 2, 3]]) end); true -> ok end,
    run(elapsed() + seconds(Seconds), round_of(What, Spin)),
    halt().
