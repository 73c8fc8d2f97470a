--  SPDX-License-Identifier: GPL-3.0-or-later
--  Ada: nested procedures, which reach the frames of those around them.
--
--  truth: compiler gnatmake
--  truth: aside START main (adainit|adafinal|ada_main__…|system__…|interfaces__…|ada__…|__gnat_…|[libgnat…|LIBC|LD|PLT)*
--  truth: aside START main _ada_known (ada__…|system__…|__gnat_…|[lib…|LIBC|LD|PLT)+
--  truth: chain START main _ada_known known__outer.… known__middle.… known__spin.…
with Ada.Command_Line;

procedure Known is
   Total : Long_Integer := 0;
   pragma Volatile (Total);

   procedure Spin;
   pragma No_Inline (Spin);
   procedure Middle;
   pragma No_Inline (Middle);
   procedure Outer;
   pragma No_Inline (Outer);

   procedure Spin is
   begin
      for I in 1 .. 10_000 loop
         Total := Total + 1;
      end loop;
   end Spin;

   procedure Middle is
   begin
      Spin;
      Total := Total + 1;
   end Middle;

   procedure Outer is
   begin
      Middle;
      Total := Total + 1;
   end Outer;

begin
   for Round in 1 .. Integer'Value (Ada.Command_Line.Argument (1)) loop
      Outer;
   end loop;
end Known;
