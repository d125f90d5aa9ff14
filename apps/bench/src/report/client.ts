import type { Point, Ratio, ReportData, Roof } from "./data.ts";
import { coloursOf, historyPlot, memoryPlot, peersPlots, rooflinePlot, sweepPlot } from "./plots.ts";

/** The page's script: draws the chosen machine's figures, again when the page's width changes. */

const data = JSON.parse(document.getElementById("data")!.textContent) as ReportData;
const select = document.getElementById("machine") as HTMLSelectElement;
const main = document.querySelector("main")!;

interface Section {
  readonly title: string;
  readonly text: string;
  /** Figures: the name and the plots of each. */
  draw(all: Measured, width: number): readonly (readonly [name: string, plots: readonly Element[]])[];
  /** Left out where there is nothing to draw. */
  readonly isOptional?: boolean;
}

/** One machine's data: the newest of each row, and all of them. */
interface Measured {
  readonly newest: readonly Point[];
  readonly history: readonly Point[];
  readonly ratios: readonly Ratio[];
  readonly roofs: readonly Roof[];
}

const colours = coloursOf([...data.points.filter(({ isOurs }) => isOurs), ...data.points].map(({ subject }) => subject));

const sections: readonly Section[] = [
  {
    title: "Roofline",
    text: "Rate over arithmetic intensity. The lines are what this machine can do: multiply-adds across, memory along the slope; on a GPU, the driver's copies within the device's memory. Data in a cache may lie above the slope; native peers have wider SIMD than WebAssembly.",
    draw: ({ newest, roofs }, width) => {
      const points = newest.filter(({ gflops }) => gflops !== undefined);
      return points.length === 0 ? [] : [["roofline", [rooflinePlot(points, roofs, width, colours)]]];
    },
  },
  {
    title: "Size sweep",
    text: "Square f32 matrix products by their size.",
    draw: ({ newest }, width) => {
      const points = newest.filter(({ suite, row }) => suite === "matmul" && /^(\d+)×\1×\1(?: \[gpu\])?$/.test(row));
      return points.length === 0 ? [] : [["sweep", [sweepPlot(points, width, colours)]]];
    },
  },
  {
    title: "Against the peers",
    text: "How many times as fast as each peer: right of 1 is faster, left of it slower. An interval that touches 1 is a tie.",
    draw: ({ ratios }, width) =>
      [...new Set(ratios.map(({ suite }) => suite))].map((suite) => {
        const own = ratios.filter((ratio) => ratio.suite === suite);
        return [`peers-${suite}`, peersPlots(suite, own, width, colours)] as const;
      }),
  },
  {
    title: "Memory and loading",
    text: "Peak resident memory of a process that loads a model and computes one token.",
    draw: ({ newest }, width) => {
      const points = newest.filter(({ metric }) => metric === "MiB");
      return points.length === 0 ? [] : [["memory", [memoryPlot(points, width, colours)]]];
    },
  },
  {
    title: "History",
    text: "Rates of this project's backends over the days that they were measured on, relative to the first.",
    draw: ({ history }, width) => {
      const points = history.filter(({ isOurs, metric }) => isOurs && metric !== "MiB");
      const again = points.filter((point) => points.some((other) => other.date !== point.date && seriesOf(other) === seriesOf(point)));
      return again.length === 0 ? [] : [["history", [historyPlot(again, width)]]];
    },
    isOptional: true,
  },
];

/** Rows with more than one measurement. */
function seriesOf({ suite, row, subject }: Point): string {
  return `${suite}/${row}/${subject}`;
}

function measuredOn(machine: string): Measured {
  const on = <T extends { readonly machine: string }>(list: readonly T[]): readonly T[] => list.filter((item) => item.machine === machine);
  return {
    newest: newestBy(on(data.points), seriesOf),
    history: on(data.points),
    ratios: newestBy(on(data.ratios), ({ suite, row, backend, peer }) => `${suite}/${row}/${backend}/${peer}`),
    roofs: newestBy(on(data.roofs), ({ kind, on: where }) => `${kind}/${where}`),
  };
}

/** Receipts come oldest first. */
function newestBy<T>(list: readonly T[], key: (item: T) => string): readonly T[] {
  return [...new Map(list.map((item) => [key(item), item])).values()];
}

function draw(): void {
  const measured = measuredOn(select.value);
  const width = Math.min(main.clientWidth - 26, 940);
  main.replaceChildren(
    ...sections.flatMap(({ title, text, draw: plots, isOptional = false }) => {
      const figures = plots(measured, width).map(([name, drawn]) => {
        const figure = element("figure", "");
        figure.dataset.plot = name;
        figure.append(...drawn);
        return figure;
      });
      if (isOptional && figures.length === 0) return [];
      const empty = element("p", "Nothing was measured on this machine yet.");
      empty.className = "empty";
      return [element("h2", title), element("p", text), ...(figures.length === 0 ? [empty] : figures)];
    }),
  );
}

function element(name: "h2" | "p" | "figure" | "option", text: string): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

for (const [slug, name] of Object.entries(data.machines)) {
  const option = element("option", name) as HTMLOptionElement;
  option.value = slug;
  select.append(option);
}
// Starts with the machine that was measured last.
select.value = data.points.at(-1)?.machine ?? "";
select.addEventListener("change", draw);
let lastWidth = 0;
new ResizeObserver(() => {
  if (main.clientWidth === lastWidth) return;
  lastWidth = main.clientWidth;
  draw();
}).observe(main);
