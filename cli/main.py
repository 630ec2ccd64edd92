"""The command `wlanlens`: runs a subcommand's file and turns errors into one line and an exit status."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import signal
import sys
from collections import deque
from types import FrameType
from typing import NoReturn

import click

from .start import STOPS

#: Subcommands and their one line in --help, which imports none of their files.
COMMANDS = {
    "analyze": "Find what slowed TCP in captures; write tables and a report.",
    "batch": "Analyse many traces: a folder, globs or a manifest; resumes.",
    "collect": "Put the small tables of many runs in one place each.",
    "simulate": "Write synthetic captures of a scenario, with their truth.",
    "validate": "Score every detector on simulated captures.",
    "reproduce": "Repeat published experiments in the simulator.",
    "report": "Write the report of an analysed directory again.",
    "show": "Show one packet in full, or its journey through all captures.",
    "doctor": "Say what a better capture would need, and how to take it.",
    "evidence": "Write the packets behind a finding for Wireshark.",
    "compare": "Compare analysed directories: before and after.",
    "query": "Run SQL on the tables of an analysed directory or of a fleet.",
    "list": "List formats, detectors, scenarios, plots, models or papers.",
}

#: What click calls a valid "integer range" or "float range", by whether it must be whole.
_NUMBERS = {"integer": "not a whole number", None: "not a number"}

#: Exit statuses.
DONE, MATCHED, USAGE, UNREADABLE = 0, 1, 2, 3


#: Between two attempts to stop a command, s: what C code made of the first exception may have hidden it.
_AGAIN_S = 0.5
#: Signals that arrived.
_arrived: list[int] = []
#: The latest exceptions that no code could catch.
_lost: deque[sys.UnraisableHookArgs] = deque(maxlen=16)


class Stopped(BaseException):
    """SIGINT or SIGTERM arrived."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Lazy(click.Group):
    """A group that imports a subcommand's file only to run it."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"{__package__}.{name}").command
        return found

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            from wlanlens.errors import did_you_mean

            hint = did_you_mean(args[0], COMMANDS, "`wlanlens --help` lists the commands")
            ctx.fail(f"no such command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="wlanlens", prog_name="wlanlens")
def cli() -> None:
    """Find out why TCP is slow on a wireless LAN, and how many seconds each cause costs.

    Exit status: 0 success; 1 a finding matched --fail-on, or a validated or reproduced value is out of bounds; 2 wrong
    usage; 3 unreadable input or unwritable output.

    \b
    Completion of commands, options, detectors, scenarios and their parameters, for bash (also zsh and fish):
      eval "$(_WLANLENS_COMPLETE=bash_source wlanlens)"
    """


def main() -> NoReturn:
    """Run the command line and end the process, even if a thread still waits for a pipe."""
    from wlanlens.pipeline.allocator import settle

    _open_standard_files()
    settle()
    # Where memory is short, a function in Python could not be called: its frame needs some, and a method of C does not.
    sys.unraisablehook = _lost.append
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        for number in STOPS:
            signal.signal(number, _stop)
        status = run(sys.argv[1:])
    except Stopped as stopped:
        status = 128 + stopped.number
    _end(status)


def run(arguments: list[str]) -> int:
    """Run one command; returns the exit status. Errors become one line on standard error."""
    from wlanlens.errors import WlanlensError, WrongUse, is_out_of_memory
    from wlanlens.formatting import printable

    try:
        value = cli.main(arguments, prog_name="wlanlens", standalone_mode=False)
        sys.stdout.flush()
    except Stopped as stopped:
        return 128 + stopped.number
    except SystemExit as done:  # click's completion ends so, and a closed pipe with status 1
        return done.code if isinstance(done.code, int) and done.code != 1 else 128 + signal.SIGPIPE
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        return 128 + signal.SIGINT
    except click.ClickException as error:
        return _say_usage(error)
    except WrongUse as error:
        return _say(str(error), USAGE)
    except WlanlensError as error:
        return _say(str(error), UNREADABLE)
    except BrokenPipeError:
        return 128 + signal.SIGPIPE
    except OSError as error:
        where = f"{printable(str(error.filename))}: " if error.filename is not None else ""
        return _say(where + (error.strerror or str(error)), UNREADABLE)
    except Exception as error:
        if is_out_of_memory(error):
            return _say("out of memory", UNREADABLE)
        if os.environ.get("WLANLENS_TRACEBACK") and not _arrived:
            raise
        return _say(f"a bug in wlanlens: {_place(error)}; WLANLENS_TRACEBACK=1 prints the traceback", UNREADABLE)
    return value if isinstance(value, int) else DONE


def _say_usage(error: click.ClickException) -> int:
    """Print an error of usage, and how the command is used; arguments that it quotes may hold terminal escapes."""
    # From click 8.2 on; its message is the help.
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        click.echo(error.format_message(), err=True)
        return USAGE
    text = error.format_message().strip()
    text = text if text.endswith("...") else text.removesuffix(".")
    text = re.sub(r"not a valid (?:(integer)|float)( range)?$", lambda found: _NUMBERS[found[1]], text)
    status = _say(text if text[:2].isupper() else text[:1].lower() + text[1:], USAGE)
    context = getattr(error, "ctx", None)
    if context is not None:
        with contextlib.suppress(OSError):
            click.echo(f"{context.get_usage()}\nTry '{context.command_path} --help'.", err=True)
    return status


def _place(error: BaseException) -> str:
    from wlanlens.formatting import printable

    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = f" at {os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}" if at is not None else ""
    return printable(f"{type(error).__name__}: {error}{where}")


def _say(message: str, status: int) -> int:
    """Print an error with the one prefix of all; returns the status, which is the signal's where one arrived."""
    from wlanlens.formatting import printable

    if _arrived:
        return 128 + _arrived[0]
    with contextlib.suppress(OSError):
        click.echo("wlanlens: " + printable(message, limit=2000), err=True)
    return status


def _stop(number: int, _frame: FrameType | None) -> None:
    """Stop the command; a second signal kills the process.

    C code may make another error of the exception, or lose it (as while pandas is imported): it is raised again until it
    reaches `run`.
    """
    _arrived.append(number)
    signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, _stop_again)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
    raise Stopped(number)


def _stop_again(_number: int, _frame: FrameType | None) -> None:
    """Raise the exception again, unless the command is just tidying up because of it."""
    handled = sys.exception()
    while handled is not None and not isinstance(handled, Stopped):
        handled = handled.__context__
    if handled is None:
        raise Stopped(_arrived[0])


def _say_lost() -> None:
    """Print exceptions that no code could catch, as those of a weak reference's callback, but for what the exit status says."""
    from wlanlens.errors import is_out_of_memory

    for lost in list(_lost):
        error = lost.exc_value
        if error is None or not (isinstance(error, Stopped) or is_out_of_memory(error)):
            sys.__unraisablehook__(lost)


def _open_standard_files() -> None:
    """Open /dev/null where 0, 1 or 2 is closed, so that no other file gets that descriptor."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - lives as long as the process


def _end(status: int) -> NoReturn:
    for number in (*STOPS, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    _say_lost()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # A thread that reads from a pipe would keep the interpreter running.
    os._exit(status)


if __name__ == "__main__":
    main()
