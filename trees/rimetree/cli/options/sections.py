"""Commands of many options: their --help says them in sections."""

from __future__ import annotations

import click

#: Options in the order in which they are shown; a command shows those that it has.
SECTIONS = {
    "Terms and the model": """--term --sky --sky-format --skip-unsupported --patch --beam --pointing --drift-scan
        --model-column --phase-centre --no-smearing --in-turn --start --hold --hold-terms""",
    "Which data": """--data-column --field --ddid --scan --time --antenna --baseline --channels --uvmin --uvmax""",
    "Averaging on reading": """--move-phase-centre --average-time --average-channels --average-loss --average-radius""",
    "The fit": """--reference --robust --noise-per --flag-data --iterations --successive --scale-errors --min-fraction
        --min-snr --flag-solutions --flux-from""",
    "Solutions": """--out --overwrite --resume --solutions""",
    "Using solutions": """--apply --apply-to --from-field --direction --interpolation --subtract --keep --no-correct
        --terms --output-column --weights --again --no-flag-version --report""",
    "The run": """--settings --dry-run --wait --threads --device --memory --time-slots --precision --tolerance
        --help""",
}


class Sectioned(click.Command):
    """A command whose options are told in `SECTIONS`; any others come last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        told = {one.opts[-1]: record for one in options if (record := one.get_help_record(ctx))}
        for title, names in SECTIONS.items():
            own = [told.pop(name) for name in names.split() if name in told]
            if own:
                with formatter.section(title):
                    formatter.write_dl(own)
        if told:
            with formatter.section("Other options"):
                formatter.write_dl(list(told.values()))
