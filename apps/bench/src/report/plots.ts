import { elementAt, entryOf } from "@centella/quant/checks";
import * as Plot from "@observablehq/plot";
import type { Point, Ratio, Roof } from "./data.ts";

type Drawn = HTMLElement | SVGSVGElement;

/** Colours that differ clearly on light and dark backgrounds: ten for the first subjects, then ten more. */
const palette = [
  ...["#4269d0", "#efb118", "#ff725c", "#3ca951", "#6cc5b0", "#ff8ab7", "#a463f2", "#97bbf5", "#9c6b4e", "#9498a0"],
  ...["#d6336c", "#12a5b8", "#b5bd00", "#e8590c", "#5f3dc4", "#2b8a3e", "#c2a383", "#1098ad", "#868e96", "#e599f7"],
];

/** The colour of each subject, the same in all plots. */
export type Colours = (subject: string) => string;

/** Colours by the order in which the names are given. */
export function coloursOf(names: readonly string[]): Colours {
  const all = [...new Set(names)];
  return (subject) => elementAt(palette, all.indexOf(subject) % palette.length);
}

/** Options of all plots: transparent, in the page's colours, with room for the titles of axes below the ticks. */
function frame(width: number, height: number): Plot.PlotOptions {
  return { width, height, marginTop: 30, marginBottom: 46, style: { background: "transparent", fontSize: "12px" } };
}

/** Names and their colours, with a legend. */
function coloured(names: readonly string[], colours: Colours, legend = true): Plot.ScaleOptions {
  const domain = [...new Set(names)];
  return { legend, domain, range: domain.map(colours) };
}

/** The range of these values, from one number that axes label to another: 1, 2 or 5 times a power of ten. */
function labelledDomain(values: readonly number[]): [number, number] {
  const near = (value: number): readonly number[] => [1, 2, 5, 10].map((step) => step * 10 ** Math.floor(Math.log10(value)));
  const [from, to] = [Math.min(...values), Math.max(...values)];
  return [near(from).findLast((bound) => bound <= from)!, near(to).find((bound) => bound >= to)!];
}

/** Keeps text legible on lines. */
const halo = { fill: "currentColor", stroke: "var(--card)", strokeWidth: 4 } as const;

/** Pixels that the longest of these texts takes beside an axis. */
function widthOf(texts: readonly string[]): number {
  return 20 + 7.5 * Math.max(...texts.map((text) => text.length));
}

/** Number of ticks that leaves room between their labels. */
function ticksOn(width: number): number {
  return Math.max(3, Math.floor(width / 90));
}

/** A point of a roofline: its rate and its intensity are known. */
type RatedPoint = Point & { readonly intensity: number; readonly gflops: number };

/** A corner of a roof. */
interface Corner {
  readonly on: string;
  readonly x: number;
  readonly y: number;
}

/** The roofs between two intensities: bent ones where the peak rate is known, and slopes where only the memory's is. */
function roofCorners(
  roofs: readonly Roof[],
  from: number,
  to: number,
): { readonly bent: readonly Corner[]; readonly slopes: readonly Corner[] } {
  const peaks = roofs.filter(({ kind }) => kind === "flops");
  const bent = peaks.flatMap(({ on, value: peak }) => {
    const memory = roofs.find((roof) => roof.kind === "read" && roof.on === on)?.value;
    if (memory === undefined) return [];
    const ridge = Math.min(Math.max(peak / memory, from), to);
    return [from, ridge, to].map((x) => ({ on, x, y: Math.min(peak, memory * x) }));
  });
  const slopes = roofs
    .filter(({ kind, on }) => kind === "copy" && !peaks.some((peak) => peak.on === on))
    .flatMap(({ on, value }) => [from, to].map((x) => ({ on, x, y: value * x })));
  return { bent, slopes };
}

/** Marks of the points: ours are filled, peers are crosses. */
function ratedMarks(points: readonly RatedPoint[]): readonly Plot.Markish[] {
  const title = ({ row, subject, gflops }: RatedPoint) => `${subject}: ${row}, ${gflops.toPrecision(3)} GFLOP/s`;
  const dot = { x: "intensity", y: "gflops", title, tip: true };
  return [
    Plot.dot(
      points.filter(({ isOurs }) => isOurs),
      { ...dot, fill: "subject", r: 5 },
    ),
    Plot.dot(
      points.filter(({ isOurs }) => !isOurs),
      { ...dot, stroke: "subject", symbol: "times", r: 4 },
    ),
  ];
}

/** Rate over intensity under the roofs of the machine: one line per number of threads or per GPU backend. */
export function rooflinePlot(all: readonly Point[], roofs: readonly Roof[], width: number, colours: Colours): Drawn {
  const points = all.flatMap((point): RatedPoint[] => {
    const { intensity, gflops } = point;
    return intensity === undefined || gflops === undefined ? [] : [{ ...point, intensity, gflops }];
  });
  const intensities = points.map(({ intensity }) => intensity);
  const { bent, slopes } = roofCorners(roofs, Math.min(...intensities) / 1.5, Math.max(...intensities) * 1.5);
  const corners = [...bent, ...slopes];
  return Plot.plot({
    ...frame(width, 380),
    grid: true,
    marginLeft: 56,
    color: coloured(
      points.map(({ subject }) => subject),
      colours,
    ),
    x: { type: "log", label: "flops per byte", labelOffset: 40, ticks: ticksOn(width), tickFormat: "~g" },
    y: {
      type: "log",
      label: "GFLOP/s",
      domain: labelledDomain([...points.map(({ gflops }) => gflops), ...bent.map(({ y }) => y)]),
      ticks: 6,
      tickFormat: "~g",
    },
    marks: [
      Plot.line(corners, { x: "x", y: "y", z: "on", stroke: "currentColor", strokeOpacity: 0.6, strokeDasharray: "5 4" }),
      Plot.text(
        corners,
        Plot.selectFirst({
          x: "x",
          y: "y",
          z: "on",
          text: ({ on }: { readonly on: string }) => limitOf(on),
          dx: 8,
          dy: 10,
          textAnchor: "start",
          ...halo,
        }),
      ),
      ...ratedMarks(points),
    ],
  });
}

/** Label of a roof; "2T" means two threads. */
function limitOf(on: string): string {
  const [, count] = /^(\d+)T$/.exec(on) ?? [];
  return count === undefined ? `limit of ${on}` : `limit of ${count} ${count === "1" ? "thread" : "threads"}`;
}

/** Squares by size. */
export function sweepPlot(points: readonly Point[], width: number, colours: Colours): Drawn {
  const sized = points.map((point) => ({ ...point, size: Number.parseInt(point.row, 10) }));
  return Plot.plot({
    ...frame(width, 340),
    grid: true,
    marginLeft: 56,
    color: coloured(
      points.map(({ subject }) => subject),
      colours,
    ),
    x: { type: "log", base: 2, label: "n of n×n×n", labelOffset: 40, ticks: [...new Set(sized.map(({ size }) => size))], tickFormat: "d" },
    y: {
      type: "log",
      label: elementAt(points, 0).metric,
      domain: labelledDomain(points.flatMap(({ low, high }) => [low, high])),
      ticks: 6,
      tickFormat: "~g",
    },
    marks: [
      Plot.ruleX(sized, { x: "size", y1: "low", y2: "high", stroke: "subject", strokeOpacity: 0.5 }),
      Plot.line(sized, { x: "size", y: "value", stroke: "subject", strokeWidth: 2, sort: "size" }),
      Plot.dot(sized, { x: "size", y: "value", fill: "subject", r: 3.5, tip: true }),
    ],
  });
}

/** Rows of a plot that is read with its axis in view. */
const rowsWithAxis = 7;

/** Ratios with their intervals, one facet row per row of the suite. Long suites are several plots on one scale, each with its axis. */
export function peersPlots(suite: string, ratios: readonly Ratio[], width: number, colours: Colours): readonly Drawn[] {
  const rows = [...new Set(ratios.map(({ row }) => row))];
  const named = ratios.map((ratio) => ({ ...ratio, against: `${ratio.backend} / ${ratio.peer}` }));
  const count = Math.ceil(rows.length / rowsWithAxis);
  const isNarrow = width < 520;
  const marginLeft = isNarrow ? 20 : widthOf(rows);
  const peers = coloured(
    ratios.map(({ peer }) => peer),
    colours,
  );
  return Array.from({ length: count }, (_, i) => {
    const own = rows.slice(Math.floor((i * rows.length) / count), Math.floor(((i + 1) * rows.length) / count));
    const shown = named.filter(({ row }) => own.includes(row));
    const subjects = [...new Set(shown.map(({ against }) => against))];
    return Plot.plot({
      ...frame(width, 76 + own.length * (isNarrow ? 40 + 10 * subjects.length : 26 + 9 * subjects.length)),
      ...(i === 0 && { title: suite }),
      marginLeft,
      marginRight: 24,
      color: { ...peers, legend: i === 0 },
      x: {
        type: "log",
        label: "times as fast",
        labelOffset: 40,
        grid: true,
        ticks: ticksOn(width - marginLeft),
        tickFormat: "~g",
        clamp: true,
        domain: ratioDomain(ratios),
      },
      y: { axis: null, domain: subjects },
      fy: { label: null, padding: isNarrow ? 0.4 : 0.25, domain: own, axis: isNarrow ? null : "left" },
      marks: [
        Plot.ruleX([1], { stroke: "currentColor", strokeWidth: 1.5 }),
        Plot.ruleY(shown, { fy: "row", y: "against", x1: "low", x2: "high", stroke: "peer", strokeWidth: 3, strokeOpacity: 0.5 }),
        Plot.dot(shown, {
          fy: "row",
          y: "against",
          x: "value",
          fill: "peer",
          r: 4,
          title: ({ against, row, value }: (typeof named)[number]) => `${row}: ${against} ${value.toPrecision(3)}×`,
          tip: true,
        }),
        ...(isNarrow ? [facetNames(own, width - marginLeft)] : []),
      ],
    }) as Drawn;
  });
}

/** Names of facets above them, where there is no room at their side. Longer ones than `width` pixels lose their middle. */
function facetNames(rows: readonly string[], width: number): Plot.Markish {
  return Plot.text(rows, {
    fy: (row: string) => row,
    text: (row: string) => row,
    frameAnchor: "top-left",
    dy: -12,
    fontWeight: 600,
    // In ems of normal text: bold is wider.
    lineWidth: width / 16,
    textOverflow: "ellipsis-middle",
    ...halo,
  });
}

function ratioDomain(ratios: readonly Ratio[]): [number, number] {
  const values = ratios.flatMap(({ low, high }) => [low, high]);
  return [Math.max(0.01, Math.min(0.5, ...values)), Math.min(100, Math.max(2, ...values))];
}

/** Peak memory by subject and model. */
export function memoryPlot(points: readonly Point[], width: number, colours: Colours): Drawn {
  const subjects = points.map(({ subject }) => subject);
  const rows = [...new Set(points.map(({ row }) => row))];
  return Plot.plot({
    ...frame(width, 76 + 26 * rows.length + 34 * points.length),
    marginLeft: widthOf(subjects),
    marginRight: 44,
    color: coloured(subjects, colours, false),
    x: { label: "MiB", labelOffset: 40, grid: true, ticks: ticksOn(width - widthOf(subjects)) },
    y: { label: null },
    fy: { label: null, axis: null, padding: 0.25 },
    marks: [
      Plot.barX(points, { fy: "row", y: "subject", x: "value", fill: "subject", tip: true }),
      Plot.ruleX([0]),
      Plot.text(points, { fy: "row", y: "subject", x: "value", text: ({ value }: Point) => value.toFixed(0), dx: 4, textAnchor: "start" }),
      facetNames(rows, width - widthOf(subjects)),
    ],
  });
}

/** Rates relative to the first measurement of the same row: above 1 is faster. */
export function historyPlot(points: readonly Point[], width: number): Drawn {
  const key = ({ suite, row, subject }: Point): string => `${suite} ${row} ${subject}`;
  const first = new Map<string, number>();
  const relative = points.map((point) => {
    if (!first.has(key(point))) first.set(key(point), point.value);
    const change = point.value / entryOf(first, key(point));
    const isRate = point.metric.endsWith("/s");
    return { ...point, series: key(point), day: new Date(point.date), change: isRate ? change : 1 / change };
  });
  return Plot.plot({
    ...frame(width, 300),
    color: { legend: true, scheme: "observable10" },
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
