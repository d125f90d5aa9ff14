import { expect, test } from "vitest";
import { runExample } from "./runExample.ts";

// The TypeScript compiler itself does not read components.
test.each([
  ["vue", ["vue-tsc"]],
  ["svelte", ["svelte-check", "--fail-on-warnings"]],
] as const)("types and templates of %s hold", async (name, command) => {
  await expect(runExample(name, command)).resolves.toBeTypeOf("string");
});
