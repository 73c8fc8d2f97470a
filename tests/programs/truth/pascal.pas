{ SPDX-License-Identifier: GPL-3.0-or-later

  Pascal: a compiler of its own, that writes no unwind information by default.

  truth: compiler fpc
  truth: chain _start main P$KNOWN_$$_OUTER P$KNOWN_$$_MIDDLE P$KNOWN_$$_SPIN
  truth: aside (_start|SI_PRC_…|main|SYSTEM_…|P$…|fpc_…|FPC_…)*
  truth: ends no-unwind-info at (_start|main|SYSTEM_…|P$…|fpc_…|FPC_…) # it has none }
program known;

var
  total: int64;
  rounds, code: longint;

procedure spin;
var
  i: longint;
begin
  for i := 1 to 10000 do
    total := total + i;
end;

procedure middle;
begin
  spin;
  total := total + 1;
end;

procedure outer;
begin
  middle;
  total := total + 1;
end;

begin
  val(paramstr(1), rounds, code);
  while rounds > 0 do
  begin
    outer;
    rounds := rounds - 1;
  end;
end.
