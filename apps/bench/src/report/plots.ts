import * as Plot from "@observablehq/plot";
import type { Point, Ratio, Roof } from "./data.ts";

type Drawn = HTMLElement | SVGSVGElement;

/** What all plots share: transparent, in the page's colours. */
function frame(width: number, height: number): Plot.PlotOptions {
  return { width, height, style: { background: "transparent", fontSize: "12px" }, color: { legend: true, scheme: "observable10" } };
}

/** Rate over intensity under the roofs of the machine: one line per number of threads or per GPU backend. */
export function rooflinePlot(points: readonly Point[], roofs: readonly Roof[], width: number): Drawn {
  const intensities = points.map(({ intensity }) => intensity!);
  const [from, to] = [Math.min(...intensities) / 1.5, Math.max(...intensities) * 1.5];
  const peaks = roofs.filter(({ kind }) => kind === "flops");
  const lines = peaks.flatMap(({ on, value: peak }) => {
    const memory = roofs.find((roof) => roof.kind === "read" && roof.on === on)?.value;
    if (memory === undefined) return [];
    const ridge = Math.min(Math.max(peak / memory, from), to);
    return [from, ridge, to].map((x) => ({ on, x, y: Math.min(peak, memory * x) }));
  });
  const copies = roofs
    .filter(({ kind, on }) => kind === "copy" && !peaks.some((peak) => peak.on === on))
    .flatMap(({ on, value }) => [from, to].map((x) => ({ on, x, y: value * x })));
  const dot = {
    x: "intensity",
    y: "gflops",
    title: ({ row, subject, gflops }: Point) => `${subject}: ${row}, ${gflops!.toPrecision(3)} GFLOP/s`,
    tip: true,
  };
  return Plot.plot({
    ...frame(width, 380),
    grid: true,
    marginLeft: 56,
    x: { type: "log", label: "flops per byte" },
    y: { type: "log", label: "GFLOP/s" },
    marks: [
      Plot.line([...lines, ...copies], { x: "x", y: "y", z: "on", stroke: "currentColor", strokeOpacity: 0.6, strokeDasharray: "5 4" }),
      Plot.text(lines.concat(copies), Plot.selectLast({ x: "x", y: "y", z: "on", text: "on", dy: -8, textAnchor: "end" })),
      Plot.dot(
        points.filter(({ isOurs }) => isOurs),
        { ...dot, fill: "subject", r: 5 },
      ),
      Plot.dot(
        points.filter(({ isOurs }) => !isOurs),
        { ...dot, stroke: "subject", symbol: "times", r: 4 },
      ),
    ],
  });
}

/** Squares by size. */
export function sweepPlot(points: readonly Point[], width: number): Drawn {
  const sized = points.map((point) => ({ ...point, size: Number.parseInt(point.row, 10) }));
  return Plot.plot({
    ...frame(width, 340),
    grid: true,
    marginLeft: 56,
    x: { type: "log", base: 2, label: "n of n×n×n", ticks: [...new Set(sized.map(({ size }) => size))], tickFormat: "d" },
    y: { type: "log", label: points[0]!.metric },
    marks: [
      Plot.ruleX(sized, { x: "size", y1: "low", y2: "high", stroke: "subject", strokeOpacity: 0.5 }),
      Plot.line(sized, { x: "size", y: "value", stroke: "subject", strokeWidth: 2, sort: "size" }),
      Plot.dot(sized, { x: "size", y: "value", fill: "subject", r: 3.5, tip: true }),
    ],
  });
}

/** Ratios with their intervals; one facet row per row of the suite. */
export function peersPlot(suite: string, ratios: readonly Ratio[], width: number): Drawn {
  const rows = [...new Set(ratios.map(({ row }) => row))];
  const isNarrow = width < 520;
  const named = ratios.map((ratio) => ({ ...ratio, against: `${ratio.backend} / ${ratio.peer}` }));
  return Plot.plot({
    ...frame(width, 60 + 26 * rows.length + 14 * ratios.length),
    title: suite,
    marginLeft: isNarrow ? 8 : 190,
    marginTop: 28,
    x: { type: "log", label: "times as fast", grid: true, tickFormat: "~g", clamp: true, domain: ratioDomain(ratios) },
    y: { axis: null, domain: [...new Set(named.map(({ against }) => against))] },
    fy: { label: null, padding: 0.25, domain: rows, axis: isNarrow ? null : "left" },
    marks: [
      Plot.ruleX([1], { stroke: "currentColor", strokeWidth: 1.5 }),
      Plot.ruleY(named, { fy: "row", y: "against", x1: "low", x2: "high", stroke: "peer", strokeWidth: 3, strokeOpacity: 0.5 }),
      Plot.dot(named, {
        fy: "row",
        y: "against",
        x: "value",
        fill: "peer",
        r: 4,
        title: ({ against, row, value }: (typeof named)[number]) => `${row}: ${against} ${value.toPrecision(3)}×`,
        tip: true,
      }),
      // Beside the plot there is no room for names on a phone: they stand above their facets.
      ...(isNarrow
        ? [Plot.text(rows, { fy: (row: string) => row, text: (row: string) => row, frameAnchor: "top-left", dy: -10, fontWeight: 600 })]
        : []),
    ],
  }) as Drawn;
}

function ratioDomain(ratios: readonly Ratio[]): [number, number] {
  const values = ratios.flatMap(({ low, high }) => [low, high]);
  return [Math.max(0.01, Math.min(0.5, ...values)), Math.min(100, Math.max(2, ...values))];
}

/** Peak memory by subject and model. */
export function memoryPlot(points: readonly Point[], width: number): Drawn {
  return Plot.plot({
    ...frame(width, 60 + 34 * points.length),
    marginLeft: Math.min(140, width / 3),
    x: { label: "MiB", grid: true },
    y: { label: null },
    fy: { label: null, axis: width < 520 ? null : "right" },
    marginRight: width < 520 ? 16 : 160,
    marks: [
      Plot.barX(points, { fy: "row", y: "subject", x: "value", fill: "subject", tip: true }),
      Plot.ruleX([0]),
      Plot.text(points, { fy: "row", y: "subject", x: "value", text: ({ value }: Point) => value.toFixed(0), dx: 4, textAnchor: "start" }),
    ],
  });
}

/** Rates relative to the first measurement of the same row: above 1 is faster than then. */
export function historyPlot(points: readonly Point[], width: number): Drawn {
  const key = ({ suite, row, subject }: Point): string => `${suite} ${row} ${subject}`;
  const first = new Map<string, number>();
  const relative = points.map((point) => {
    if (!first.has(key(point))) first.set(key(point), point.value);
    const change = point.value / first.get(key(point))!;
    const isRate = point.metric.endsWith("/s");
    return { ...point, series: key(point), day: new Date(point.date), change: isRate ? change : 1 / change };
  });
  return Plot.plot({
    ...frame(width, 300),
    grid: true,
    marginLeft: 48,
    x: { type: "utc", label: null, ticks: Math.max(2, Math.min(8, width / 110)) },
    y: { type: "log", label: "times as fast as at first", tickFormat: "~g" },
    marks: [
      Plot.ruleY([1], { stroke: "currentColor", strokeOpacity: 0.4 }),
      Plot.line(relative, { x: "day", y: "change", z: "series", stroke: "suite", strokeOpacity: 0.7 }),
      Plot.dot(relative, {
        x: "day",
        y: "change",
        fill: "suite",
        r: 3,
        title: ({ series, change, commit }: (typeof relative)[number]) => `${series}: ${change.toPrecision(3)}× at ${commit}`,
        tip: true,
      }),
    ],
  });
}
