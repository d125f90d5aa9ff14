import { isRequired, launchChromium } from "@centella/test-devices";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { runExample, startExample } from "./runExample.ts";

let browser: Awaited<ReturnType<typeof launchChromium>>;

beforeAll(async () => {
  browser = await launchChromium();
});

afterAll(async () => {
  if (typeof browser !== "string") await browser.close();
});

beforeEach(({ skip }) => {
  if (typeof browser !== "string") return;
  if (isRequired("webgpu")) throw new Error(browser);
  skip(browser);
});

describe.each(["vite-react", "vue", "svelte"])("%s", (name) => {
  test("is built and tells a story in the page", async () => {
    // Warnings of what users install are in fresh.test.ts.
    await runExample(name, ["vite", "build", "--logLevel", "error"]);
    await using server = await startExample(name, ["vite", "preview", "--port", "0"]);
    if (typeof browser === "string") throw new Error(browser);
    const page = await browser.newPage();
    const errors: unknown[] = [];
    page.on("pageerror", (error) => errors.push(error));
    await page.goto(server.url);
    await page.getByLabel("A story about").fill("an owl");
    await page.getByRole("button", { name: "Tell" }).click();
    await page
      .getByRole("status")
      .filter({ hasText: /^\s*ready\s+on wasm\s+\d+ tokens\/s\s*$/ })
      .waitFor();
    expect((await page.locator("article").textContent())!.length).toBeGreaterThan(100);
    expect(await page.evaluate("crossOriginIsolated")).toBe(true);
    expect(errors).toEqual([]);
    await page.close();
  });
});

test("a page without configuration computes on WebGPU, and keeps how", async () => {
  const folder = "../test/plainPage";
  await runExample("vite-react", ["vite", "build", folder, "--logLevel", "error"]);
  await using server = await startExample("vite-react", ["vite", "preview", folder, "--port", "0"]);
  if (typeof browser === "string") throw new Error(browser);
  const page = await browser.newPage();
  const errors: unknown[] = [];
  page.on("pageerror", (error) => errors.push(error));
  /** The results, and what the page has stored. */
  const shown = async () => {
    await page.goto(server.url);
    const text = await page.locator("output").filter({ hasText: /\d/ }).textContent();
    return { results: text!.split(" ").map(Number), stored: await page.evaluate(() => Object.entries(localStorage)) };
  };
  const first = await shown();
  expect(first.results).toEqual(Array.from({ length: 24 }, (_, i) => 32 * (i - 10)));
  expect(first.stored).toEqual([[expect.stringMatching(/1 row of 64 by f32 of 24/), expect.stringMatching(/\d+ lanes/)]]);
  // The second visit reads the choice.
  expect(await shown()).toEqual(first);
  expect(errors).toEqual([]);
  await page.close();
});
