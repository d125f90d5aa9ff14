import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const script = fileURLToPath(new URL("../scripts/checkDevice.mjs", import.meta.url));

test("the check of a device writes distances to llama.cpp that the parity page takes in", async () => {
  const folder = await mkdtemp(join(tmpdir(), "centella-"));
  try {
    const families = ["--only-families", "--family", "falcon", "--family", "bert-rank", "--family", "mamba"];
    const args = ["--conditions=@centella/source", script, "wasm", ...families, "--distances", folder];
    await promisify(execFile)(process.execPath, args, { env: { ...process.env, CENTELLA_COMMIT: "0123abcd" } });
    const { backend, device, date, commit, distances } = JSON.parse(await readFile(join(folder, "wasm.json"), "utf8"));
    expect({ backend, commit, models: Object.keys(distances) }).toEqual({
      backend: "wasm",
      commit: "0123abcd",
      models: ["falcon", "mamba"],
    });
    expect(device).not.toBe("");
    expect(date).toMatch(/^\d{4}-\d\d-\d\d$/);
    for (const distance of Object.values(distances)) expect(distance).toBeLessThan(1e-4);
  } finally {
    await rm(folder, { recursive: true });
  }
});
