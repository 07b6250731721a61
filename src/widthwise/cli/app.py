"""The group of commands: an overview, and modules that are imported only when they are called.

To add a command, write ``cli/<name>.py`` with a Typer ``app`` of one command, keep what is slow to
import inside it, and add its line to ``COMMANDS``. Options that several commands have come in bundles:
``Output`` (--json, --csv, --plot), ``Where`` (--store, --workers, ...), and the problem (``takes_problem``).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .._bad_value import did_you_mean
from .._extras import MissingExtra, sentence
from .._interrupt import EXIT_CODE
from .._version import __version__
from .output import BadInput, ReaderLeft, flush, talk

__all__ = ["COMMANDS", "LazyGroup", "app", "run"]

COMMANDS = {
    "predict": "errors, overlaps and phases along a learning curve",
    "transitions": "where hidden units begin to be learnt, and where the equilibrium jumps",
    "plan": "how many samples a target needs, at the optimum and in polynomial time",
    "diagram": "phases over the width or the noise, and the lines between them",
    "scaling": "how the error falls with the number of samples, and how many features are learnt",
    "spectrum": "spectrum, mmse and shrinkage of the matrix that the hidden units make",
    "simulate": "run learners, and put what they measure beside the theory",
    "hardness": "how the time that a learner needs to leave the universal branch grows with d",
    "study": "questions that many runs answer together, such as how wide a student should be",
    "yardstick": "how far estimators of your own are from the optimum",
    "store": "look at, check and export the results of sweeps",
    "explore": "a local page on which the curves follow a slider",
    "reproduce": "figures and tables of the paper, computed again and compared with the theory",
}
"""Each command, by the name of its module, with the line that says what it answers."""

OVERVIEW = """\
widthwise {version}: how well a wide two-layer neural network can be learnt

{commands}

for example
  widthwise predict --activation relu --readouts four-point --gamma 0.7 --noise 0.1 --alpha 0.5:8:16
  widthwise predict --activation "tanh(2*x)" --weights rademacher --alpha 0.1:6:60 --plot curve.png

'widthwise COMMAND --help' explains the options of a command, their symbols, domains and defaults.
"""

# Older versions of Typer use Click, newer ones carry a copy of it: reached through a name that is public
# in both, this is the ClickException that the command at hand raises.
_ClickError: Any = typer.BadParameter.__mro__[2]


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in COMMANDS:
            module = import_module(f"{__package__}.{cmd_name}")
            return _unfolded(typer.main.get_command(module.app))
        if ctx.resilient_parsing:  # shell completion asks about half a word
            return None
        hint = did_you_mean(cmd_name, COMMANDS, 1)
        raise BadInput(f"unknown command {cmd_name!r}; {hint}choose from {', '.join(COMMANDS)}")


app = typer.Typer(
    name="widthwise",
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"widthwise {__version__}")
        raise typer.Exit


@app.callback()
def overview(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """How well a wide two-layer neural network can be learnt, and how far a learner is from that limit.

    Inputs have dimension d; there are k = gamma d hidden units and n = alpha d² samples.

    Example: widthwise predict --activation relu --gamma 0.7 --alpha 0.5:8:16
    """
    if ctx.invoked_subcommand is None:
        width = max(map(len, COMMANDS))
        lines = "\n".join(f"  {name:<{width}}  {line}" for name, line in COMMANDS.items())
        print(OVERVIEW.format(version=__version__, commands=lines), end="")


def run(arguments: Sequence[str] | None = None) -> int:
    """Parse and execute; every way to fail becomes one sentence on stderr and an exit code."""
    command = typer.main.get_command(app)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: talk(f"warning: {message}")
            code = command.main(
                args=_with_figure(list(sys.argv[1:] if arguments is None else arguments)),
                prog_name="widthwise",
                standalone_mode=False,
            )
        flush()
    except BadInput as error:
        talk(f"error: {error}")
        return 2
    except ModuleNotFoundError as error:
        text = str(error) if isinstance(error, MissingExtra) else sentence(error, "this command")
        if text is None:
            raise
        talk(f"error: {text}")
        return 2
    except _ClickError as error:
        if not error.format_message():  # a group without a command has shown its help
            return 0
        talk(f"error: {_sentence(error.format_message())}")
        return 2
    except ReaderLeft:
        return 141  # 128 + SIGPIPE, as other Unix programs
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_CODE
    if code == EXIT_CODE:
        talk("interrupted")
    return code if isinstance(code, int) else 0


def _with_figure(arguments: list[str]) -> list[str]:
    """The arguments with a name after a ``--plot`` that has none: that of the command."""
    for i, word in enumerate(arguments):
        if word == "--plot" and (i + 1 == len(arguments) or arguments[i + 1].startswith("-")):
            return [*arguments[: i + 1], f"{arguments[0]}.png", *arguments[i + 1 :]]
    return arguments


def _unfolded(command: Any) -> Any:
    """The command with each paragraph of its help on one line, for the terminal to fold as it likes."""
    for one in (command, *getattr(command, "commands", {}).values()):
        one.help = "\n\n".join(" ".join(part.split()) for part in (one.help or "").split("\n\n"))
    return command


def _sentence(message: str) -> str:
    """Click's message in our manner: no capital, no full stop."""
    return message[:1].lower() + message[1:].rstrip(".")
