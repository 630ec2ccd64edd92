"""`wlanlens validate`: simulate, analyse, and score every detector against the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import cluster, counterfactual, json_output
from . import config as settings_of_detectors
from .meter import Meter
from .names import DETECTOR, SCENARIO, complete_setting
from .scores import collected, put
from .simulate import pairs

if TYPE_CHECKING:
    from wlanlens.validation.clock_validation import TrialScore
    from wlanlens.validation.random_page import RandomValidation
    from wlanlens.validation.summary import Validation


#: Most seeds of a scenario.
SEEDS_MOST = 100_000


@click.command("validate")
@click.option(
    "--seeds", metavar="N", default="20", help="Seeds per scenario: N for 1 to N (default 20), A..B, or 1,2,7."
)
@click.option(
    "--random", "count", metavar="N", type=click.IntRange(1, 1_000_000), help="Judge N random worlds instead."
)
@click.option(
    "--counterfactual",
    "pairs_wanted",
    metavar="N",
    type=click.IntRange(1, 1_000_000),
    help="Compare saved_s in N worlds with the same worlds without the cause.",
)
@click.option(
    "--seed",
    metavar="S",
    type=click.IntRange(0, 1 << 62),
    default=None,
    help="Number of the first world of --random or --counterfactual (default 1).",
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    shell_complete=complete_setting,
    multiple=True,
    help="Set a parameter of the scenarios (repeatable).",
)
@click.option(
    "-s",
    "--scenario",
    "scenarios",
    metavar="NAME",
    type=SCENARIO,
    multiple=True,
    help="Only this scenario (repeatable).",
)
@click.option(
    "-d",
    "--detector",
    "detectors",
    metavar="CODE",
    type=DETECTOR,
    multiple=True,
    help="Only this detector (repeatable).",
)
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 1024),
    default=None,
    help="Runs in parallel (default: one per core).",
)
@click.option(
    "--together", is_flag=True, help="Also score the captures of a run together on one time axis, and their clocks."
)
@click.option("--clocks", is_flag=True, help="Score only clocks and links, of captures with wrong clocks.")
@click.option(
    "-o", "--out", metavar="FILE", type=click.Path(path_type=Path), help="Write the scores to FILE.md or FILE.json."
)
@settings_of_detectors.option
@cluster.options
@click.option("--json", "as_json", is_flag=True, help="Print the scores as JSON.")
@click.option("--quiet", is_flag=True, help="Print failures only.")
def command(
    seeds: str,
    count: int | None,
    pairs_wanted: int | None,
    seed: int | None,
    settings: tuple[str, ...],
    scenarios: tuple[str, ...],
    detectors: tuple[str, ...],
    jobs: int | None,
    together: bool,
    clocks: bool,
    out: Path | None,
    config: str | None,
    as_json: bool,
    quiet: bool,
    **of_cluster: str | None,
) -> int:
    """Simulate every scenario with many seeds, analyse each capture, and score the findings against the truth.

    Detectors see the captures only. Exit status 1 when a detector misses a requirement: precision and recall 0.95,
    times within 10 ms, no finding on its look-alikes, nothing above info on a clean link. Ctrl-C prints the scores of
    the finished runs.

    --clocks gives all taps wrong clocks (offset, drift, resolution, a step) and missed packets, aligns the captures, and
    compares offsets, bounds, drifts and links with the true ones.

    --random draws worlds (scenario, parameters, TCP, connections, queues, errors) and also scores ledger and verdict,
    for each capture alone and for all together. It lists the worst worlds with the command that repeats each. --scheduler
    judges them on a Dask cluster.

    --counterfactual draws transfers with a cause that can be removed, simulates each with and without it, and compares the
    change of the duration with saved_s of the findings. Exit status 1 below 90 % within 20 %.
    """
    from wlanlens.validation.summary import summary
    from wlanlens.validation.validate import validate

    if out is not None:
        _check_out(out)
    if clocks and config is not None:
        raise click.UsageError("--clocks runs no detectors: --config has no effect")
    thresholds = settings_of_detectors.given(config)
    if thresholds and out is not None and out.suffix == ".md":
        raise click.UsageError(
            f"-o {out}: a page holds scores of the default thresholds; expected FILE.json with --config"
        )
    given = pairs("--set", settings)
    if count is None and any(of_cluster.values()):
        raise click.UsageError("--scheduler and --tls-... are options of --random")
    if pairs_wanted is not None:
        if count is not None or clocks or together or given or scenarios or detectors:
            raise click.UsageError(
                "--counterfactual draws its own worlds: of the other options --seed, --config, -j, -o and --json apply"
            )
        return counterfactual.run(pairs_wanted, 1 if seed is None else seed, thresholds, jobs, out, as_json, quiet)
    if count is not None:
        if clocks or together:
            raise click.UsageError("--random judges captures alone and together, without --clocks or --together")
        options = {
            "detectors": detectors,
            "scenarios": scenarios,
            "settings": given,
            "thresholds": thresholds,
            "workers": jobs,
        }
        return _random(count, 1 if seed is None else seed, {**options, **_cluster(**of_cluster)}, out, as_json, quiet)
    if seed is not None:
        raise click.UsageError(
            "--seed is the first world of --random and --counterfactual; --seeds sets those of scenarios"
        )
    numbers = _seeds(seeds)
    if clocks:
        if given:
            raise click.UsageError("--set cannot be used with --clocks")
        return _clocks(scenarios, numbers, jobs, out, as_json, quiet)
    meter = Meter(quiet=quiet)
    judged = validate(
        scenarios,
        detectors,
        seeds=numbers,
        workers=jobs,
        together=together,
        settings=given,
        thresholds=thresholds,
        progress=meter,
    )
    runs = collected(judged, meter, "runs", lambda some: _print(summary(some, detectors), out, as_json, quiet))
    result = summary(runs, detectors)
    _print(result, out, as_json, quiet)
    # JSON and the file hold the scores of the detectors only.
    off = _clocks(scenarios, numbers, jobs, None, False, quiet or as_json) if together else 0
    return 1 if result.faults() else off


def _seeds(text: str) -> list[int]:
    """ "20" is 1 to 20; otherwise as in `simulate --seeds`."""
    from wlanlens.simulation import parameter_sweep

    if text.isdecimal():
        if not 1 <= int(text) <= SEEDS_MOST:
            raise click.UsageError(f"--seeds {text}: expected 1 to {SEEDS_MOST}")
        return list(range(1, int(text) + 1))
    return parameter_sweep.seeds(text)


def _cluster(scheduler: str | None, tls_ca: str | None, tls_cert: str | None, tls_key: str | None) -> dict[str, Any]:
    """What `validate_random` needs to use a cluster; nothing without one."""
    security = cluster.security(tls_ca, tls_cert, tls_key)
    if scheduler is None:
        if security is not None:
            raise click.UsageError("certificates are for --scheduler")
        return {}
    cluster.warn_of_open(scheduler)
    return {"scheduler": scheduler, "security": security}


def _random(
    count: int,
    first: int,
    options: dict[str, Any],
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Judge random worlds; return the exit status."""
    from wlanlens.validation import random_page
    from wlanlens.validation.random_validation import WorldScore, validate_random

    meter = Meter(quiet=quiet)
    detectors = options["detectors"]

    def show(worlds: list[WorldScore]) -> RandomValidation:
        result = random_page.summary(worlds, first, count, detectors)
        _print_random(result, out, as_json, quiet)
        return result

    result = show(collected(validate_random(count, first, progress=meter, **options), meter, "worlds", show))
    return 1 if result.faults() else 0


def _print_random(result: RandomValidation, out: Path | None, as_json: bool, quiet: bool) -> None:
    from wlanlens.validation import random_page

    if out is not None:
        whole = (
            _page(out, random_page.markdown(result))
            if out.suffix == ".md"
            else json_output.text(random_page.to_dict(result))
        )
        put(out, whole)
    if as_json:
        click.echo(json_output.text(random_page.to_dict(result)), nl=False)
    elif not quiet:
        click.echo(random_page.plain(result), nl=False)
    for fault in result.faults():
        click.echo(f"wlanlens: fails: {fault}", err=True)


def _page(out: Path, part: str) -> str:
    """The page with one of its parts replaced: scenarios, or random worlds."""
    from wlanlens.validation.random_page import merged

    return merged(out.read_text(encoding="utf-8") if out.exists() else "", part)


def _clocks(
    scenarios: tuple[str, ...], seeds: list[int], jobs: int | None, out: Path | None, as_json: bool, quiet: bool
) -> int:
    """Run the clock trials; return the exit status."""
    from wlanlens.validation.clock_page import faults
    from wlanlens.validation.clock_validation import trials

    meter = Meter(quiet=quiet)

    def show(scores: list[TrialScore]) -> None:
        _print_clocks(scores, out, as_json, quiet)

    scores = collected(trials(scenarios, seeds=seeds, workers=jobs, progress=meter), meter, "runs", show)
    show(scores)
    return 1 if faults(scores) else 0


def _print_clocks(scores: list[TrialScore], out: Path | None, as_json: bool, quiet: bool) -> None:
    from wlanlens.validation import clock_page

    if out is not None:
        put(out, clock_page.markdown(scores) if out.suffix == ".md" else json_output.text(clock_page.to_dict(scores)))
    if as_json:
        click.echo(json_output.text(clock_page.to_dict(scores)), nl=False)
    elif not quiet:
        click.echo(clock_page.plain(scores), nl=False)
    for fault in clock_page.faults(scores):
        click.echo(f"wlanlens: fails: {fault}", err=True)


def _check_out(out: Path) -> None:
    if out.suffix not in (".md", ".json"):
        raise click.UsageError(f"-o {out}: expected FILE.md or FILE.json")
    if not out.parent.is_dir():
        raise click.UsageError(f"-o {out}: there is no directory {out.parent}")


def _print(result: Validation, out: Path | None, as_json: bool, quiet: bool) -> None:
    from wlanlens.validation.page import markdown, plain, to_dict

    if out is not None:
        put(out, _page(out, markdown(result)) if out.suffix == ".md" else json_output.text(to_dict(result)))
    if as_json:
        click.echo(json_output.text(to_dict(result)), nl=False)
    elif not quiet:
        click.echo(plain(result), nl=False)
    for fault in result.faults():
        click.echo(f"wlanlens: fails: {fault}", err=True)
