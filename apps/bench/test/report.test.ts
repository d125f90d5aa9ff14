import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isRequired, launchChromium } from "@centella/test-devices";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isOfReceipts, reportFile } from "../src/cli/report.ts";
import { machineSlug } from "../src/machine.ts";
import type { Receipt } from "../src/receipts/receipt.ts";
import { storedReceipts } from "../src/receipts/store.ts";
import { reportData } from "../src/report/data.ts";
import { reportPage } from "../src/report/page.ts";
import { coloursOf } from "../src/report/plots.ts";

const receipts = storedReceipts().map(({ receipt }) => receipt);

test("the committed page is that of the committed receipts", () => {
  expect(isOfReceipts(reportFile), "run pnpm bench report").toBe(true);
});

test("the data has every measured subject and every ratio once, in the rows' metrics", () => {
  const { points, ratios, roofs, machines } = reportData(receipts);
  const subjects = receipts.flatMap(({ rows }) => rows.flatMap((row) => row.subjects)).filter(({ time }) => time !== undefined);
  expect(points).toHaveLength(subjects.length);
  expect(ratios).toHaveLength(subjects.reduce((sum, { ratios: own = {} }) => sum + Object.keys(own).length, 0));
  expect(roofs).toHaveLength(receipts.reduce((sum, { ceilings }) => sum + ceilings.length, 0));
  expect(Object.keys(machines).length).toBeGreaterThan(0);
  for (const { value, low, high } of points) expect(low <= value && value <= high).toBe(true);
});

test("text from receipts cannot leave its place in the page", async () => {
  const [first] = receipts;
  const hostile: Receipt = { ...first!, machine: { ...first!.machine, cpu: "</script><script>alert(1)</script>" } };
  const page = await reportPage(reportData([hostile]));
  expect(page.match(/<\/script/g)).toHaveLength(2);
});

test("a subject has one colour in all charts, and no two subjects share a colour", () => {
  const { points } = reportData(receipts);
  const names = [...new Set(points.map(({ subject }) => subject))];
  const colours = coloursOf(points.map(({ subject }) => subject));
  expect(new Set(names.map(colours)).size).toBe(names.length);
});

describe("in a browser", () => {
  const folder = mkdtempSync(join(tmpdir(), "centella-report-"));
  const file = join(folder, "report.html");
  let browser: Awaited<ReturnType<typeof launchChromium>>;
  beforeAll(async () => {
    writeFileSync(file, await reportPage(reportData(receipts)));
    browser = await launchChromium();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    if (typeof browser !== "string") await browser?.close();
  });

  test.for([
    { width: 1000, colorScheme: "light" },
    { width: 390, colorScheme: "dark" },
  ] as const)("at $width pixels, $colorScheme, every plot is drawn and nothing sticks out", async ({ width, colorScheme }, { skip }) => {
    if (typeof browser === "string") {
      if (isRequired("webgpu")) throw new Error(browser);
      return skip(browser);
    }
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(pathToFileURL(file).href);
    await page.waitForSelector("figure[data-plot] svg");
    const machines = (await page.evaluate("[...document.getElementById('machine').options].map(({ value }) => value)")) as string[];
    expect(machines).toEqual(Object.keys(reportData(receipts).machines));
    for (const machine of machines) {
      await page.selectOption("#machine", machine);
      const drawn = (await page.evaluate(`[...document.querySelectorAll("figure[data-plot]")].map((figure) => {
        const svg = [...figure.querySelectorAll("svg")].at(-1);
        const box = svg.getBoundingClientRect();
        const cut = [...figure.querySelectorAll("svg text")].filter((text) => {
          const { left, right, top, bottom } = text.ownerSVGElement.getBoundingClientRect();
          const inner = text.getBoundingClientRect();
          return inner.width > 0 && (inner.left < left || inner.right > right || inner.top < top || inner.bottom > bottom);
        }).map((text) => text.textContent);
        return { name: figure.dataset.plot, cut, marks: svg.querySelectorAll("circle, rect, [aria-label=dot] path").length, width: box.width, height: box.height };
      })`)) as readonly {
        readonly name: string;
        readonly cut: readonly string[];
        readonly marks: number;
        readonly width: number;
        readonly height: number;
      }[];
      // Some machines have receipts of pages alone.
      const suites = receipts.filter((receipt) => machineSlug(receipt.machine) === machine).map(({ suite }) => suite);
      const wanted = suites.includes("matmul") ? ["roofline", "sweep", "memory"] : suites.map((suite) => `peers-${suite}`);
      expect(drawn.map(({ name }) => name)).toEqual(expect.arrayContaining(wanted));
      for (const plot of drawn) {
        expect(plot.marks, `${machine} ${plot.name}`).toBeGreaterThan(0);
        expect(plot.cut, `${machine} ${plot.name}`).toEqual([]);
        // The axis is in view wherever one reads.
        expect(plot.height, `${machine} ${plot.name}`).toBeLessThan(900);
        expect(plot.width).toBeLessThanOrEqual(width);
        expect(plot.height).toBeGreaterThan(50);
      }
    }
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    const background = (await page.evaluate("getComputedStyle(document.body).backgroundColor")) as string;
    const [red] = background.match(/\d+/g)!.map(Number);
    expect(red! < 128).toBe(colorScheme === "dark");
    expect(errors).toEqual([]);
    await page.close();
  });
});
