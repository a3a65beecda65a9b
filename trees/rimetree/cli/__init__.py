"""The command line: `rimetree COMMAND ...`. One module per command in `commands`; each imports what it needs when it
runs."""

from __future__ import annotations

import importlib
import sys

import click

from .errors import Interrupted, guarded
from .options.given_twice import warn_of_options_given_twice
from .options.other_names import say_ours

# Command: (module of `commands`, line for --help). Modules are imported when their command is used.
_COMMANDS = {
    "make-ms": ("make_ms", "Create a Measurement Set for a telescope, with zero visibilities."),
    "simulate": ("simulate", "Predict a sky model into a column of a Measurement Set."),
    "make-solutions": ("make_solutions", "Write solutions with values drawn at random, to simulate with."),
    "make-voltages": ("make_voltages", "Write the voltages of a sky seen by a telescope."),
    "correlate": ("correlate", "Correlate files of voltages into a Measurement Set."),
    "calibrate": ("calibrate", "Solve for gains and other Jones terms; apply them, subtract the model."),
    "apply": ("apply", "Apply solutions to a Measurement Set, or subtract a model with them."),
    "beam-solutions": ("beam_solutions", "Write beams of antennas in one direction as solutions."),
    "convert-solutions": ("convert_solutions", "Write solutions in another format: H5parm, or tables of CASA."),
    "compare-solutions": ("compare_solutions", "Say how far solutions are from others, such as true ones."),
    "plot-solutions": ("plot_solutions", "Plot solutions against time and frequency: PNG, PDF, HTML."),
    "run": ("run", "Run a tree script, over a Measurement Set or without one."),
    "flags": ("flags", "List, save and restore versions of the flags of a Measurement Set."),
    "inspect-ms": ("inspect_ms", "Report what a Measurement Set contains, and what may cause trouble."),
    "image": ("image", "Make a dirty image (Stokes I) of a column: PNG, FITS."),
    "sky": ("sky", "Show and convert sky models."),
    "draw": ("draw", "Draw a forest as SVG."),
    "explain": ("explain", "Show the plan of a forest: batches, bytes, time; nothing is evaluated."),
    "bench": ("bench", "Measure speed; all results are checked."),
    "info": ("info", "Show versions, devices and node classes."),
}


class _LazyGroup(click.Group):
    """A group that imports a command when it is used, and turns users' errors into one message each."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        return importlib.import_module(f".commands.{_COMMANDS[name][0]}", __package__).command

    def resolve_command(self, ctx, args):
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as problem:
            if args and args[0] not in _COMMANDS:
                problem.message = f"there is no command {args[0]!r}; commands are {', '.join(_COMMANDS)}"
            raise
        if command is not None:
            warn_of_options_given_twice(command, rest, ctx)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def main(self, *args, standalone_mode: bool = True, **extra):
        """As click's, but Ctrl-C has its own exit status wherever it comes."""
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            status = super().main(*args, standalone_mode=False, **extra)
        except click.Abort:
            status = _told(Interrupted("interrupted"))
        except click.ClickException as problem:
            status = _told(problem)
        sys.exit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: click.Context):
        with guarded(ctx.params.get("debug", False)):
            return super().invoke(ctx)


def _told(problem: click.ClickException) -> int:
    """Says what is wrong; the exit status."""
    if isinstance(problem, click.NoSuchOption):
        say_ours(problem)
    problem.show()
    return problem.exit_code


def _version(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from rimetree import __version__

        click.echo(f"rimetree {__version__}")
        ctx.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--debug", is_flag=True, help="Show the Python traceback of errors.")
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
def cli(debug: bool) -> None:
    """RimeTree: measurement-equation trees for radio interferometry.

    \b
    A first simulation:
      rimetree make-ms sim.ms --telescope meerkat --phase-centre 3h32m30s -27d48m --duration 1h --integration 60s
      rimetree simulate sim.ms --sky field.skymodel
      rimetree image sim.ms --column MODEL_DATA --sky field.skymodel -o sim.png

    There is no sky model at hand? examples/quickstart.skymodel is one. Every command explains itself:
    rimetree COMMAND --help.

    Exit status: 0 done, 1 error, 2 wrong usage, 3 no usable solutions, 130 interrupted by Ctrl-C,
    143 by SIGTERM.
    """


def main() -> None:
    """Entry point of the command `rimetree`."""
    cli(prog_name="rimetree")
