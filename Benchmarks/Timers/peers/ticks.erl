%% A thousand gen_statems, each of which enters its state anew once a second and counts how often it did.
-module(ticks).
-behaviour(gen_statem).
-export([main/1, init/1, callback_mode/0, here/3]).

main([Count]) ->
    [{ok, _} = gen_statem:start(?MODULE, [], []) || _ <- lists:seq(1, list_to_integer(Count))],
    receive stop -> ok end.

callback_mode() -> state_functions.

init([]) -> {ok, here, 0, [{state_timeout, 1000, tick}]}.

here(state_timeout, tick, Count) -> {repeat_state, Count + 1, [{state_timeout, 1000, tick}]}.
