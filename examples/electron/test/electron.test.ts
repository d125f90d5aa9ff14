import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { tellByEngine } from "../../test/tellByEngine.ts";

test("the engine's process tells a story to the port of a window", async () => {
  const { statuses } = await tellByEngine(fileURLToPath(new URL("../src/engine.js", import.meta.url)));
  expect(statuses.slice(0, 2)).toEqual(["idle", "checking"]);
});
