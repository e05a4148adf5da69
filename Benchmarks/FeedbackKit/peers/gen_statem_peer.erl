%% The peer of the loops and systems: Erlang/OTP's gen_statem. Measures the lines named in the arguments,
%% `main FACTOR NAME...`, each for FACTOR times its turns, and prints for each its name and figure, separated by a tab.
-module(gen_statem_peer).
-behaviour(gen_statem).
-export([main/1]).
-export([init/1, callback_mode/0, idle/3, busy/3, token/3, waiting/3, working/3]).

%% Lines: name, turns at scale 1, and what measures so many turns.
lines() ->
    [{"casts-1", 800000, fun(N) -> casts(N, 1) end},
     {"casts-2", 800000, fun(N) -> casts(N, 2) end},
     {"casts-8", 800000, fun(N) -> casts(N, 8) end},
     {"ring-2", 400000, fun(N) -> ring(N, 2) end},
     {"ring-100", 400000, fun(N) -> ring(N, 100) end},
     {"ring-10000", 400000, fun(N) -> ring(N, 10000) end},
     {"start-stop", 60000, fun start_and_stop/1},
     {"restart-timer", 300000, fun(N) -> restart(N, waiting) end},
     {"restart-process", 100000, fun(N) -> restart(N, working) end},
     {"idle-rss", 100000, fun(N) -> idle(N, fun resident/0) end},
     {"idle-allocated", 100000, fun(N) -> idle(N, fun() -> erlang:memory(processes) end) end}].

main([Factor | Names]) ->
    Scale = number(Factor),
    lists:foreach(
        fun(Name) ->
            case lists:keyfind(Name, 1, lines()) of
                {_, Turns, Measure} ->
                    Figure = Measure(max(1, round(Turns * Scale))),
                    io:format("~s\t~.1f~n", [Name, float(Figure)]);
                false ->
                    io:format(standard_error, "unknown line ~s~n", [Name]),
                    halt(2)
            end
        end, Names),
    halt(0).

number(Text) ->
    case string:to_float(Text) of
        {error, _} -> float(list_to_integer(Text));
        {Float, _} -> Float
    end.

%% Turns a second.
rate(Turns, Body) ->
    {Microseconds, _} = timer:tc(Body),
    Turns * 1000000 / Microseconds.

%% Two states and a count, one event; over when a call behind the last cast is answered.
casts(Turns, Senders) ->
    {ok, Machine} = gen_statem:start(?MODULE, {idle, 0}, []),
    Each = max(1, Turns div Senders),
    Rate = rate(Each * Senders, fun() ->
        Pids = [spawn_monitor(fun() -> cast(Machine, Each) end) || _ <- lists:seq(1, Senders)],
        [receive {'DOWN', Reference, process, Pid, normal} -> ok end || {Pid, Reference} <- Pids],
        Total = gen_statem:call(Machine, total, infinity),
        Total = Each * Senders
    end),
    gen_statem:stop(Machine),
    Rate.

cast(_, 0) -> ok;
cast(Machine, Left) ->
    gen_statem:cast(Machine, {step, 1}),
    cast(Machine, Left - 1).

%% A token goes round; each hop is a state change and a cast.
ring(Turns, Size) ->
    Over = self(),
    Machines = [element(2, gen_statem:start(?MODULE, {token, {none, Turns, Over}}, [])) || _ <- lists:seq(1, Size)],
    [First | Rest] = Machines,
    lists:foreach(
        fun({Machine, Next}) -> gen_statem:call(Machine, {next, Next}) end, lists:zip(Machines, Rest ++ [First])),
    Rate = rate(Turns, fun() ->
        gen_statem:cast(First, {pass, 1}),
        receive over -> ok end
    end),
    [gen_statem:stop(Machine) || Machine <- Machines],
    Rate.

start_and_stop(Turns) ->
    rate(Turns, fun() -> start_and_stop_each(Turns) end).

start_and_stop_each(0) -> ok;
start_and_stop_each(Left) ->
    {ok, Machine} = gen_statem:start(?MODULE, {idle, 0}, []),
    gen_statem:stop(Machine),
    start_and_stop_each(Left - 1).

%% Each event cancels and restarts a state timeout (`waiting`), or ends a process that waits and starts another
%% (`working`).
restart(Turns, State) ->
    {ok, Machine} = gen_statem:start(?MODULE, {State, 0}, []),
    Rate = rate(Turns, fun() ->
        cast(Machine, Turns),
        Turns = gen_statem:call(Machine, total, infinity)
    end),
    gen_statem:stop(Machine),
    Rate.

%% Bytes for each of so many that have hibernated.
idle(Count, Measure) ->
    {ok, First} = gen_statem:start(?MODULE, {hibernated, 0}, []),
    gen_statem:stop(First),
    Before = Measure(),
    Machines = start_idle(Count, []),
    lists:foreach(
        fun(Machine) ->
            case process_info(Machine, current_function) of
                {current_function, {erlang, hibernate, 3}} -> ok;
                {current_function, {gen_statem, loop_hibernate, _}} -> ok;
                _ -> timer:sleep(1)
            end
        end, Machines),
    erlang:garbage_collect(),
    Bytes = (Measure() - Before) / Count,
    true = is_process_alive(hd(Machines)),
    Bytes.

start_idle(0, Machines) -> Machines;
start_idle(Left, Machines) ->
    {ok, Machine} = gen_statem:start(?MODULE, {hibernated, 0}, []),
    start_idle(Left - 1, [Machine | Machines]).

%% What of the emulator lies in memory.
resident() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:lexemes(binary_to_list(Text), " "),
    list_to_integer(Pages) * 4096.

callback_mode() -> state_functions.

init({hibernated, Data}) -> {ok, idle, Data, [hibernate]};
init({State, Data}) -> {ok, State, Data}.

idle(cast, {step, By}, Total) -> {next_state, busy, Total + By};
idle({call, From}, total, Total) -> {keep_state_and_data, [{reply, From, Total}]}.

busy(cast, {step, By}, Total) -> {next_state, idle, Total + By};
busy({call, From}, total, Total) -> {keep_state_and_data, [{reply, From, Total}]}.

token(cast, {pass, Turns}, {_, Turns, Over}) ->
    Over ! over,
    keep_state_and_data;
token(cast, {pass, Hops}, {Next, _, _} = Data) ->
    gen_statem:cast(Next, {pass, Hops + 1}),
    {next_state, token, Data};
token({call, From}, {next, Next}, {_, Turns, Over}) ->
    {keep_state, {Next, Turns, Over}, [{reply, From, ok}]}.

waiting(cast, {step, By}, Total) -> {keep_state, Total + By, [{state_timeout, 600000, late}]};
waiting({call, From}, total, Total) -> {keep_state_and_data, [{reply, From, Total}]}.

working(cast, {step, By}, Total) when is_integer(Total) -> {keep_state, {start_work(), Total + By}};
working(cast, {step, By}, {Work, Total}) ->
    exit(Work, kill),
    {keep_state, {start_work(), Total + By}};
working({call, From}, total, {_, Total}) -> {keep_state_and_data, [{reply, From, Total}]}.

start_work() -> spawn(fun() -> receive after 600000 -> ok end end).
