import { describe, expect, test } from "vitest";
import { checkLooks, fill, modelReady, shareProfile } from "../pages.ts";
import type { Setting } from "../setting.ts";

export function describeBench(setting: () => Setting): void {
  describe("Bench", () => {
    test("measures the model and kernels, as a table to copy", async () => {
      await using profile = shareProfile(setting().context, setting().url);
      const page = await profile.open("bench");
      await modelReady(page);
      expect(await page.getByLabel("webgpu").isChecked(), "an emulated GPU is measured on request").toBe(false);
      await fill(page.getByLabel("Prompt tokens"), "32");
      await fill(page.getByLabel("Generated tokens"), "8");
      await fill(page.getByLabel("Repetitions"), "2");
      await page.getByRole("button", { name: "Measure" }).click();
      await page.getByRole("button", { name: "Copy as Markdown" }).click();
      const copied = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
      await expect
        .poll(copied)
        .toMatch(/\| wasm \| .+ \| pp32 \| [\d.]+ ± [\d.]+ tokens\/s \|\n\| wasm \| .+ \| tg8 \| [\d.]+ ± [\d.]+ tokens\/s \|/);
      expect(await copied()).toMatch(/\| wasm \| .+ \| matmul f32 .+ \| [\d.]+ GFLOP\/s \|/);
      await checkLooks(page, "bench");
      expect(profile.problems).toEqual([]);
    });
  });
}
