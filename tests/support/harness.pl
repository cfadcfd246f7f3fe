#!/usr/bin/perl
# tests/support/harness.pl [-j N] FILE...: runs every test with TAP::Harness and prints
# "N passed, N failed, N skipped" as its last line; exits 1 when anything failed.
# How a file is run follows from its ending: .t a cmocka program, .py Python, .mjs Node, .sh a shell script.
# A file that breaks off, ends with a status, or breaks its plan counts as one more failed test; a file that
# skips itself wholly ("1..0 # SKIP why") counts as one skipped, and its reason is printed.
use strict;
use warnings;
use TAP::Harness;

my $jobs = 1;
if (@ARGV && $ARGV[0] eq '-j') {
    shift @ARGV;
    $jobs = shift @ARGV;
}
my %runner = (
    t   => ['tests/support/cmocka-tap'],
    py  => ['/usr/bin/python3'],
    mjs => ['node'],
    sh  => ['/bin/sh'],
);
my $harness = TAP::Harness->new({
    jobs      => $jobs,
    timer     => 1,
    color     => -t STDOUT ? 1 : 0,
    merge     => 0,
    failures  => 1,
    exec      => sub {
        my ($self, $file) = @_;
        my ($ending) = $file =~ /\.([a-z]+)$/;
        die "harness: do not know how to run $file\n" unless $ending && $runner{$ending};
        return [@{ $runner{$ending} }, $file];
    },
});
my $aggregator = $harness->runtests(@ARGV);

my ($passed, $failed, $skipped) = (0, 0, 0);
my @reasons;
for my $parser ($aggregator->parsers) {
    my @skipped = $parser->skipped;
    my @failed  = $parser->failed;
    my @passed  = $parser->passed;
    $skipped += @skipped;
    $failed  += @failed;
    $passed  += @passed - @skipped;
    if (defined $parser->skip_all) {
        $skipped++;
        push @reasons, $parser->skip_all;
    } elsif (!@failed && ($parser->exit || $parser->wait || $parser->parse_errors)) {
        $failed++;
    }
}
print "skipped: $_\n" for @reasons;
print "$passed passed, $failed failed, $skipped skipped\n";
exit($failed || !$passed ? 1 : 0);
