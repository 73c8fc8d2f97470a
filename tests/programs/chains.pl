# SPDX-License-Identifier: GPL-3.0-or-later
# Functions whose names tell their callers, for a recorder of Perl's frames:
#
#     chains.pl SECONDS [wait|thread|stop WAY]
#
# f3_of_f1 is called by f1_of_f0 alone: directly, by a reference, a method, one that AUTOLOAD or a closure stands for, from C
# (sort by a block, by a sub that has a name or a local one, map, grep, first, reduce, a comparison or a text of an object, a
# tied variable, a destructor, a pattern's code and its replacement), in eval, in an eval of a text, by goto, in a handler of
# errors or of signals, in a loop of blocks. SECONDS are of CPU time, but with `wait` of time. With `thread` all runs in
# another thread. With `stop` f0 alone calls others, in one of these ways.
use strict;
use warnings;
use List::Util qw(first reduce);
use POSIX ();
use Time::HiRes qw(clock time sleep);

my $FUNCTIONS = 63;
our $rounds = 100;

sub spin {
    my ($total, $i) = (0, 0);
    while ($i < $rounds) {
        $total += $i * $i;
        $i++;
    }
    return $total;
}

package Unknown {
    our $AUTOLOAD;
    use overload '<=>' => sub { my ($self) = @_; &{ $self->{callee} }(); return 0 },
        '""' => sub { my ($self) = @_; &{ $self->{callee} }(); return 'text' };

    sub new { my ($class, $callee) = @_; return bless { callee => $callee }, $class }
    sub call { my ($self) = @_; return $self->{callee}->() }

    sub AUTOLOAD {
        my ($self) = @_;
        return if $AUTOLOAD =~ /DESTROY/;
        return $self->{callee}->();
    }
}

package Tied {
    sub TIESCALAR { my ($class, $callee) = @_; return bless { callee => $callee }, $class }
    sub FETCH { my ($self) = @_; return $self->{callee}->() }
}

package Ending {
    sub DESTROY { my ($self) = @_; $self->{callee}->(); return }
}

package Way {
    use List::Util qw(first reduce);
    our $callee;

    sub direct { my ($callee) = @_; return $callee->() }
    sub method { my ($callee) = @_; return Unknown->new($callee)->call }
    sub missing { my ($callee) = @_; return Unknown->new($callee)->absent }
    sub closure { my ($callee) = @_; my $made = sub { $callee->() }; return $made->() }

    sub sorted {
        my ($callee) = @_;
        my @sorted = sort { $callee->(); my $order = $a <=> $b; $order } 2, 1;
        return \@sorted;
    }

    sub by_order { $callee->(); return $a <=> $b }

    sub sorted_by_name {
        local $callee = $_[0];
        my @sorted = sort by_order 2, 1;
        return \@sorted;
    }

    sub mapped { my ($callee) = @_; return map { $callee->() } 1 }
    sub picked { my ($callee) = @_; return grep { $callee->(); 1 } 1 }
    sub found { my ($callee) = @_; return first { $callee->(); 1 } 1, 2 }
    sub folded { my ($callee) = @_; return reduce { $callee->() } 1, 2 }
    sub compared { my ($callee) = @_; return Unknown->new($callee) <=> 1 }
    sub text { my ($callee) = @_; return "" . Unknown->new($callee) }
    sub fetched { my ($callee) = @_; tie my $tied, 'Tied', $callee; return $tied + 0 }
    sub ended { my ($callee) = @_; bless { callee => $callee }, 'Ending'; return 1 }
    sub replaced { my ($callee) = @_; return 'a' =~ s/a/$callee->(); 'b'/er }
    sub in_pattern { my ($callee) = @_; return 'a' =~ /a(?{ $callee->() })/ }
    sub caught { my ($callee) = @_; eval { $callee->(); die "x\n" }; return 1 }
    sub caught_in_sort { my ($callee) = @_; my @sorted = sort { eval { $callee->(); 1 }; $a <=> $b } 2, 1; return \@sorted }
    sub evaluated { my ($callee) = @_; return eval '$callee->()' }
    sub gone { my ($callee) = @_; @_ = (); goto &$callee }
    sub handled { my ($callee) = @_; local $SIG{__DIE__} = sub { $callee->() }; eval { die "x\n" }; return 1 }
    sub warned { my ($callee) = @_; local $SIG{__WARN__} = sub { $callee->() }; warn "x\n"; return 1 }

    sub signalled {
        my ($callee) = @_;
        local $SIG{USR1} = sub { $callee->() };
        kill 'USR1', $$;
        return 1;
    }

    sub looped {
        my ($callee) = @_;
        for my $i (1) { for (my $j = 0; $j < 1; $j++) { { $callee->() } } }
        return 1;
    }

    sub rest { my ($callee) = @_; Time::HiRes::sleep(0.002); return $callee->() }
}

my @WAYS = qw(direct method missing closure sorted sorted_by_name mapped picked found folded compared text fetched ended
    replaced in_pattern caught caught_in_sort evaluated gone handled warned looped signalled);

sub name_of {
    my ($number) = @_;
    return $number == 0 ? 'f0' : sprintf 'f%d_of_f%d', $number, ($number - 1) / 2;
}

# The text of one function: spin is in its second line, and those that it calls are in the next two.
sub text_of {
    my ($number, $functions, $way) = @_;
    my @calls = map { $_ < $functions ? 'Way::' . $way . '(\&' . name_of($_) . ');' : '' } 2 * $number + 1, 2 * $number + 2;
    return 'sub ' . name_of($number) . " {\nspin();\n" . join("\n", @calls) . "\n}\n\n";
}

my ($seconds, $what, $from) = (@ARGV, '', 0)[0 .. 2];
pop @WAYS if $what eq 'thread'; # as signals are the main thread's

sub elapsed { return $what eq 'wait' || $what eq 'stop' ? time : clock }

sub run {
    my ($till) = @_;
    f0() while elapsed() < $till;
    return;
}

my $functions = $what eq 'stop' ? 2 : $FUNCTIONS;
my $text = join '', map { text_of($_, $functions, $what eq 'wait' ? 'rest' : $WAYS[($from + $_) % @WAYS]) } 0 .. $functions - 1;
eval "no warnings;\n# line 1 \"chains.made\"\n$text; 1" or die $@;
if ($what eq 'stop') { # for single steps, most of which are to be in calls
    $rounds = 0;
    run(elapsed() + 0.1);
    kill 'STOP', $$;
}
if ($what eq 'thread') {
    require threads;
    threads->create(\&run, elapsed() + $seconds)->join;
}
else {
    run(elapsed() + $seconds);
}
