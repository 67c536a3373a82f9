import shlex
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect._shell import read_script
from niceeval_expect._shell_commands import commands_of_argv, commands_of_text
from niceeval_expect._shell_holes import ANY_WORDS, HOLE


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("", []),
        ("ls", [["ls"]]),
        ("ls -l 'a b' \"c d\" e\\ f", [["ls", "-l", "a b", "c d", "e f"]]),
        ("a && b || c; d & e | f |& g", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]),
        ("a\nb\r\nc", [["a"], ["b"], ["c"]]),
        ("FOO=1 BAR='x y' make all", [["make", "all"]]),
        ("make FOO=1", [["make", "FOO=1"]]),
        ("echo a >out 2>&1 <in &>all >>more", [["echo", "a"]]),
        ("echo 2 > x", [["echo", "2"]]),
        ("echo a#b # rm x", [["echo", "a#b"]]),
        ("(cd x && rm y)", [["cd", "x"], ["rm", "y"]]),
        ("{ rm x; }", [["rm", "x"]]),
        ("! grep x y", [["grep", "x", "y"]]),
        ("if [ -f x ]; then rm x; else ls; fi", [["[", "-f", "x", "]"], ["rm", "x"], ["ls"]]),
        ("while true; do rm x; done", [["true"], ["rm", "x"]]),
        ("for f in a b; do rm c; done", [["rm", "c"]]),
        ("for f in a b\ndo rm c\ndone", [["rm", "c"]]),
        ("for ((i = 0; i < 3; i++)); do ls; done", [["ls"]]),
        ("[[ -f x && 1 > 2 ]] && ls", [["ls"]]),
        ("r\\m -r\"f\" $'\\x41\\tb'", [["rm", "-rf", "A\tb"]]),
        ("echo $(rm x) `rm y`", [["rm", "x"], ["rm", "y"], ["echo", ANY_WORDS, ANY_WORDS]]),
        ('echo "now $(rm "x y") $USER"', [["rm", "x y"], ["echo", f"now {HOLE} {HOLE}"]]),
        ("echo '$(rm x)' \\$(ls)", None),
        ("echo '$(rm x)'", [["echo", "$(rm x)"]]),
        ("echo ${x:-$(rm z)} $((1 + (2 * 3)))", [["rm", "z"], ["echo", ANY_WORDS, ANY_WORDS]]),
        ("diff <(sort a) <(sort b)", [["sort", "a"], ["sort", "b"], ["diff", HOLE, HOLE]]),
        ("cat <<EOF\nhi $(whoami)\nEOF\nls", [["cat"], ["whoami"], ["ls"]]),
        ("cat <<'EOF'\nhi $(whoami)\nEOF\nls", [["cat"], ["ls"]]),
        ("cat <<-EOF\n\tx\n\tEOF\nls", [["cat"], ["ls"]]),
        ("a=(1 2) ls", [["ls"]]),
        ("ls \\\n -l", [["ls", "-l"]]),
        ("cp {a,b} c", [["cp", ANY_WORDS, "c"]]),
        ("echo $ a", [["echo", "$", "a"]]),
    ],
)
def test_text_is_split_into_simple_commands(text: str, commands: list[list[str]] | None) -> None:
    script = read_script(text)
    if commands is None:
        assert script.gap is not None
    else:
        assert [list(words) for words in script.commands] == commands
        assert script.gap is None


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("echo 'a", "the quote ' opened at character 6 is never closed"),
        ('echo "a', 'the quote " opened at character 6 is never closed'),
        ("echo `ls", "the backquote opened at character 6 is never closed"),
        ("echo $(ls", "the ( opened at character 7 is never closed"),
        ("echo ${x", "the ${ opened at character 6 is never closed"),
        ("ls )", "the ) at character 4 closes nothing"),
        ("ls >", "nothing follows the > at character 4"),
    ],
)
def test_text_that_no_shell_reads_holds_no_command(text: str, gap: str) -> None:
    script = read_script(text)
    assert (script.commands, script.gap, script.invalid) == ((), gap, True)


@pytest.mark.parametrize("rest", ["case x in a) rm;; esac", "f() { rm x; }", "function f { rm x; }", "$(" * 60])
def test_what_is_not_read_leaves_the_commands_before_it(rest: str) -> None:
    script = read_script(f"ls; {rest}")
    assert script.commands == (("ls",),)
    assert script.gap is not None
    assert not script.invalid


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=5))
def test_quoted_words_come_back_whatever_is_in_them(words: list[str]) -> None:
    quoted = [f"'{word}'" if shlex.quote(word) == word else shlex.quote(word) for word in words]
    assert read_script(" ".join(quoted).replace("\r\n", "\n")).commands == (
        tuple(word.replace("\r\n", "\n") for word in words),
    )


@given(st.text("ab'\"`\\$(){}[]<>|&;#=! \n\t,.", max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    script = commands_of_text(text)
    assert all(words and all(isinstance(word, str) for word in words) for words in script.commands)


@pytest.mark.parametrize(
    "text",
    ["$(", "`", "{", "{,", "<<a ", "((", "\\`", "x", "a ", "' ", "${", "a;", "a=", '"$(', "&>", "\\\n", "$'"],
)
def test_hostile_text_is_read_in_linear_time(text: str) -> None:
    begun = process_time()
    read_script(text * 50_001)
    assert process_time() - begun < 4


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("sudo rm x", "rm x"),
        ("sudo -u www -n FOO=1 rm x", "rm x"),
        ("sudo --user www -- rm x", "rm x"),
        ("env -i A=1 B=2 rm x", "rm x"),
        ("env -u HOME rm x", "rm x"),
        ("nohup nice -n 5 rm x", "rm x"),
        ("timeout -k 5 10s rm x", "rm x"),
        ("time -p rm x", "rm x"),
        ("exec rm x", "rm x"),
        ("ls | xargs -0 -n 1 rm -f", "rm -f"),
        ("find . -name a -exec rm {} \\;", "rm {}"),
        ("bash -c 'rm x'", "rm x"),
        ("/bin/sh -ec 'cd /; rm x'", "rm x"),
        ("bash -o pipefail -lc 'rm x'", "rm x"),
        ("eval 'rm' x", "rm x"),
        ("sudo bash -c 'sudo rm x'", "rm x"),
    ],
)
def test_commands_that_run_others_are_opened(text: str, last: str) -> None:
    script = commands_of_text(text)
    assert " ".join(script.commands[-1]) == last
    assert commands_of_argv(shlex.split(text)).commands[-1][0] == "rm" or "|" in text
    assert script.gap is None


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("bash -c \"bash -c 'rm x'\"", "a script of bash inside another script is not read"),
        ("sh -c 'eval rm'", "a script of eval inside another script is not read"),
        ("env -S 'rm x'", "the split string of env is not read"),
        ("bash -c 'echo \"'", 'in the script of bash, the quote " opened at character 6 is never closed'),
    ],
)
def test_what_is_not_opened_is_said(text: str, gap: str) -> None:
    assert commands_of_text(text).gap == gap


@pytest.mark.parametrize(
    "text", ["bash build.sh", "bash", "sh -x build.sh -c", "sudo", "env A=1", "find . -exec", "xargs"]
)
def test_commands_that_run_nothing_that_is_written_are_left_alone(text: str) -> None:
    assert len(commands_of_text(text).commands) == 1
    assert commands_of_text(text).gap is None
