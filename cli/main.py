"""The command `wlanlens`: finds the subcommand's file, turns errors into one line and a status."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

import click

COMMANDS = ("analyze", "simulate", "validate", "reproduce", "report", "show", "evidence", "query", "list")

#: Exit statuses.
DONE, MATCHED, USAGE, UNREADABLE = 0, 1, 2, 3


class Stopped(BaseException):
    """SIGINT or SIGTERM arrived."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Lazy(click.Group):
    """A group that imports a subcommand's file only when it is named."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"{__package__}.{name}").command
        return found


@click.command(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="wlanlens", prog_name="wlanlens")
def cli() -> None:
    """Tell why TCP is slow on a wireless LAN, and how many seconds each cause cost.

    Exit status: 0 done, 1 a finding matched --fail-on or a reproduced row fails, 2 bad usage, 3 unreadable input or unwritable output.
    """


def main() -> NoReturn:
    """Run the command line and end the process, also where a thread still waits for a pipe."""
    from wlanlens.pipeline.allocator import settle

    _open_standard_files()
    settle()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    _end(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; returns the exit status. Errors become one line on standard error."""
    from wlanlens.errors import BadKey, NoSuchUnit, WlanlensError
    from wlanlens.formatting import printable

    try:
        value = cli.main(arguments, prog_name="wlanlens", standalone_mode=False)
        sys.stdout.flush()
    except Stopped as stopped:
        return 128 + stopped.number
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        return 130
    except click.ClickException as error:
        error.show()
        return USAGE
    except (NoSuchUnit, BadKey) as error:
        return _say(str(error), USAGE)
    except WlanlensError as error:
        return _say(str(error), UNREADABLE)
    except (BrokenPipeError, SystemExit):  # click makes the first into the second
        return 128 + signal.SIGPIPE
    except MemoryError:
        return _say("out of memory", UNREADABLE)
    except OSError as error:
        where = f"{printable(str(error.filename))}: " if error.filename is not None else ""
        return _say(where + (error.strerror or str(error)), UNREADABLE)
    except Exception as error:
        if os.environ.get("WLANLENS_TRACEBACK"):
            raise
        return _say(f"a bug in wlanlens: {_place(error)} (WLANLENS_TRACEBACK=1 shows more)", UNREADABLE)
    return value if isinstance(value, int) else DONE


def _place(error: BaseException) -> str:
    from wlanlens.formatting import printable

    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = f" at {os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}" if at is not None else ""
    return printable(f"{type(error).__name__}: {error}{where}")


def _say(message: str, status: int) -> int:
    from wlanlens.formatting import printable

    with contextlib.suppress(OSError):
        click.echo("wlanlens: " + printable(message, limit=2000), err=True)
    return status


def _stop(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise Stopped(number)


def _open_standard_files() -> None:
    """Put /dev/null where 0, 1 or 2 is closed, so that no file of ours gets that number and is taken for it."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - lives as long as the process


def _end(status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Threads that wait in a read of a pipe would keep the interpreter from ending.
    os._exit(status)


if __name__ == "__main__":
    main()
