%% A row of gen_statems, each of which enters its state anew and hands a number on, increased by one. Reads on standard
%% input how many numbers to put in; answers with a line when all of them have come out.
-module(chain).
-behaviour(gen_statem).
-export([main/1, init/1, callback_mode/0, here/3]).

main([Length]) ->
    Over = self(),
    First = lists:foldl(
        fun(_, Next) ->
            {ok, Machine} = gen_statem:start(?MODULE, {0, Next}, []),
            Machine
        end, Over, lists:seq(1, list_to_integer(Length))),
    rounds(First).

rounds(First) ->
    case io:get_line("") of
        eof -> init:stop();
        Line ->
            Count = list_to_integer(string:trim(Line)),
            [gen_statem:cast(First, {take, 0}) || _ <- lists:seq(1, Count)],
            [receive {'$gen_cast', {take, _}} -> ok end || _ <- lists:seq(1, Count)],
            io:format("~b~n", [Count]),
            rounds(First)
    end.

callback_mode() -> state_functions.

init(Data) -> {ok, here, Data}.

here(cast, {take, Number}, {_, Next}) when Number >= 0 ->
    gen_statem:cast(Next, {take, Number + 1}),
    {repeat_state, {Number + 1, Next}}.
