"""The trend: for each suite a picture with a panel a benchmark, nights from left to right."""

import datetime
import math

import matplotlib

matplotlib.use("Agg")
from matplotlib import dates, pyplot as plt  # noqa: E402

NIGHTS = 120  # the latest ones
COLUMNS = 4
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def draw_suite(path, suite, lines):
    """Draws the history's `lines` of one suite, all of one kind of machine, into a PNG. A filled dot is that night's commit, a ring
    the last good commit measured beside it: where both move, the machine did. Red: a regression."""
    series = {}
    for line in lines:
        if line["current_seconds"] is not None:
            series.setdefault(line["benchmark"], []).append(line)
    if not series:
        return False
    columns = min(COLUMNS, len(series))
    rows = math.ceil(len(series) / columns)
    figure, panels = plt.subplots(rows, columns, figsize=(4.2 * columns, 2.4 * rows + 0.5), squeeze=False, layout="constrained")
    meaning = "dot: the night's commit (red: a regression); ring: the last good one, measured beside it"
    figure.suptitle(f"{suite}: median time of an iteration; {meaning}", fontsize=9)
    for panel, (name, nights) in zip(panels.flat, series.items()):
        _draw_benchmark(panel, name, nights[-NIGHTS:])
    for panel in panels.flat[len(series):]:
        panel.set_axis_off()
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)
    return True


def _draw_benchmark(panel, name, nights):
    when = [datetime.datetime.strptime(line["night"], "%Y-%m-%dT%H:%M:%SZ") for line in nights]
    current = [line["current_seconds"] for line in nights]
    baseline = [line["baseline_seconds"] for line in nights]
    scale, unit = next(((s, u) for s, u in UNITS if max(current) >= s), UNITS[-1])
    red = [line["verdict"] == "regression" for line in nights]
    panel.plot(when, [b / scale for b in baseline], "o", color="0.6", markerfacecolor="none", markersize=4)
    panel.plot(when, [c / scale for c in current], "-", color="tab:blue", linewidth=1)
    panel.scatter(when, [c / scale for c in current], s=12, color=["tab:red" if r else "tab:blue" for r in red], zorder=3)
    panel.set_ylim(0.85 * min(current + baseline) / scale, 1.1 * max(current + baseline) / scale)
    panel.set_title(name if len(name) <= 48 else name[:47] + "…", fontsize=7)
    panel.set_ylabel(unit, fontsize=7)
    panel.tick_params(labelsize=6)
    # At least a week across: Matplotlib finds no ticks for one night alone.
    middle, half = when[0] + (when[-1] - when[0]) / 2, max((when[-1] - when[0]) * 0.55, datetime.timedelta(days=3.5))
    panel.set_xlim(middle - half, middle + half)
    locator = dates.AutoDateLocator(minticks=3, maxticks=8)
    panel.xaxis.set_major_locator(locator)
    panel.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    panel.xaxis.get_offset_text().set_size(6)
