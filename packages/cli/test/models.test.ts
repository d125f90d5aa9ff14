import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatProgress, formatSize } from "../src/progress.ts";
import { centella, expectOneLine, tiny } from "./centella.ts";

const folder = mkdtempSync(join(tmpdir(), "centella-models-"));
const bytes = readFileSync(tiny);
const digest = createHash("sha256").update(bytes).digest("hex");
let hub: Server;
let requests: string[] = [];
let env: Record<string, string> = {};

// A hub with one model, as Hugging Face answers.
beforeAll(async () => {
  hub = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`);
    if (request.url!.startsWith("/api/models/o/tiny/")) {
      response.end(
        JSON.stringify([{ type: "file", path: "tiny-Q8_0.gguf", size: bytes.length, lfs: { oid: digest, size: bytes.length } }]),
      );
    } else if (request.url === "/o/tiny/resolve/main/tiny-Q8_0.gguf" || request.url === "/direct.gguf") {
      const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
      const [start, end] = match === null ? [0, bytes.length] : [Number(match[1]), match[2] === "" ? bytes.length : Number(match[2]) + 1];
      response.writeHead(match === null ? 200 : 206, { "Content-Range": `bytes ${start}-${end - 1}/${bytes.length}` });
      response.end(request.method === "HEAD" ? undefined : bytes.subarray(start, end));
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => hub.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
  env = { XDG_CACHE_HOME: join(folder, "cache"), HF_ENDPOINT: endpoint, HF_TOKEN: "hf_secret" };
});

afterAll(async () => {
  hub.closeAllConnections();
  await new Promise((resolve) => hub.close(resolve));
  rmSync(folder, { recursive: true });
});

describe("pull, models, run, rm", () => {
  test("a model is pulled, listed, run by its name without a request, and removed", async () => {
    expect((await centella(["models"], { env })).stdout).toMatch(/^no models in .*centella\/models/);
    const pulled = JSON.parse((await centella(["pull", "hf:o/tiny:Q8_0", "--json"], { env })).stdout);
    expect(pulled.files[0]).toMatchObject({ sha256: digest, isVerified: true });
    expect(readFileSync(pulled.path).equals(bytes)).toBe(true);
    expect(requests.every((line) => line.endsWith("Bearer hf_secret"))).toBe(true);
    requests = [];
    const { models } = JSON.parse((await centella(["models", "--json"], { env })).stdout);
    expect(models).toMatchObject([{ source: "hf:o/tiny:Q8_0", bytes: bytes.length }]);
    expect((await centella(["models"], { env })).stdout).toMatch(/^ +2\.5 MB {2}hf:o\/tiny:Q8_0/);
    for (const name of ["hf:o/tiny:Q8_0", models[0].name]) {
      const args = ["run", name, "-p", "Once", "--raw", "-n", "2", "--json", "--backend", "wasm"];
      expect(JSON.parse((await centella(args, { env })).stdout).ids).toHaveLength(2);
    }
    expect(requests).toEqual([]);
    expect((await centella(["rm", "hf:o/tiny:Q8_0"], { env })).stdout).toMatch(/^removed .*, 2\.5 MB/);
    expect(readdirSync(join(folder, "cache/centella/models"))).toEqual([]);
    expectOneLine(await centella(["rm", "hf:o/tiny:Q8_0"], { env }), /expected a stored model/);
  });

  test("a URL without a digest is told so; inspect fetches its header alone", async () => {
    const url = `${env.HF_ENDPOINT}/direct.gguf`;
    const { stdout, stderr } = await centella(["pull", url], { env });
    expect(readFileSync(stdout.trim()).equals(bytes)).toBe(true);
    expect(stderr).toMatch(/no SHA-256/);
    requests = [];
    expect(JSON.parse((await centella(["inspect", url, "--json"], { env })).stdout).architecture).toBe("llama");
    expect(requests.length).toBeLessThanOrEqual(3);
  });

  test("inspect and tokenize read the header of a model on a hub without storing it", async () => {
    requests = [];
    expect(JSON.parse((await centella(["show", "-hf", "o/tiny:Q8_0", "--json"], { env })).stdout).architecture).toBe("llama");
    expect((await centella(["tokenize", "hf:o/tiny:Q8_0", "Once"], { env })).stdout).toBe(
      (await centella(["tokenize", tiny, "Once"])).stdout,
    );
    expect(requests.length).toBeGreaterThan(0);
    expect(JSON.parse((await centella(["models", "--json"], { env })).stdout).models).toHaveLength(1);
  });

  test("failures are one line without the token", async () => {
    const result = await centella(["pull", "hf:o/none:Q8_0"], { env });
    expectOneLine(result, /HTTP status 404/);
    expect(result.stderr).not.toContain("hf_secret");
    expectOneLine(await centella(["pull", "nothing"], { env }), /hf:owner\/repo:QUANT/);
    expectOneLine(await centella(["pull"], { env }), /expected MODEL, got no arguments/, 2);
  });
});

describe("split and merge", () => {
  test("a file split and merged is the file that it was", async () => {
    const { files } = JSON.parse((await centella(["split", tiny, join(folder, "part"), "--max-tensors", "5", "--json"])).stdout);
    expect(files.length).toBeGreaterThan(2);
    expect(files[0]).toBe(join(folder, `part-00001-of-0000${files.length}.gguf`));
    const inspected = JSON.parse((await centella(["inspect", files[0], "--json"])).stdout);
    expect(inspected.parts).toBe(files.length);
    const ids = async (file: string): Promise<unknown> =>
      JSON.parse((await centella(["run", file, "-p", "Once", "--raw", "-n", "3", "--seed", "1", "--json", "--backend", "wasm"])).stdout)
        .ids;
    expect(await ids(files[0])).toEqual(await ids(tiny));
    const tokens = async (file: string): Promise<string> => (await centella(["tokenize", file, "Once upon a time"])).stdout;
    expect(await tokens(files[0])).toBe(await tokens(tiny));
    const out = join(folder, "split.f32");
    expect((await centella(["logits", files[0], "--ids", "1,2", "--out", out, "--backend", "wasm"])).code).toBe(0);
    expect(readFileSync(out).length).toBe(2 * 4096 * 4);
    const merged = join(folder, "merged.gguf");
    expect((await centella(["merge", files[0], merged])).stdout.trim()).toBe(merged);
    expect(readFileSync(merged).equals(bytes)).toBe(true);
    expectOneLine(await centella(["merge", files[0], merged]), /expected a new file, got .*merged\.gguf', which exists/, 2);
    rmSync(files[1]);
    const missing = join(folder, "missing.gguf");
    expectOneLine(await centella(["merge", files[0], missing]), /00002-of-.*no such file/);
    expect(existsSync(missing) || existsSync(`${missing}.partial`)).toBe(false);
  });

  test.each([
    [["split", tiny], /FILE and PREFIX/],
    [["split", tiny, "p", "--max-size", "1k"], /--max-size: expected a size such as 500M or 2G, got 1k/],
    [["split", tiny, "p", "--max-size", "1M", "--max-tensors", "2"], /got both/],
    [["merge", tiny], /FIRST and OUT/],
  ])("%j is a usage error", async (args, message) => {
    expectOneLine(await centella(args), message, 2);
  });
});

describe("inspect", () => {
  test("reports the memory on every backend, for the usual and the trained context or a given one", async () => {
    const { memory } = JSON.parse((await centella(["inspect", tiny, "--json"])).stdout);
    expect(new Set(memory.map(({ backend }: { backend: string }) => backend))).toEqual(new Set(["cuda", "webgpu", "wasm", "reference"]));
    for (const { weightBytes, cacheBytes, totalBytes } of memory) {
      expect(weightBytes).toBeGreaterThan(2_000_000);
      expect(totalBytes).toBe(weightBytes + cacheBytes);
    }
    const given = JSON.parse((await centella(["inspect", tiny, "--json", "--context", "100"])).stdout).memory;
    expect(given.map(({ contextLength }: { contextLength: number }) => contextLength)).toEqual([100, 100, 100, 100]);
    expect((await centella(["inspect", tiny, "--context", "100"])).stdout).toMatch(
      /weights +100 tokens\n {2}cuda .*\n(.*\n)* {2}reference +[\d.]+ MB/,
    );
  });
});

describe("quantize", () => {
  test("makes a smaller file that runs; a quantised one only when told to", async () => {
    const out = join(folder, "small.gguf");
    expectOneLine(await centella(["quantize", tiny, out, "Q4_K_M"]), /in f32, f16 or bf16, got q8_0; quantise the original file/);
    expect(existsSync(out)).toBe(false);
    const { stdout, stderr, code } = await centella(["quantize", tiny, out, "q4_0", "--allow-requantize", "--threads", "2", "--json"]);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({ file: out, recipe: "Q4_0", threads: 2, bytes: readFileSync(out).length });
    expect(report.bytes).toBeLessThan(bytes.length);
    expect(report.tensors.find(({ name }: { name: string }) => name === "blk.0.attn_q.weight")).toMatchObject({ from: "q8_0", to: "q4_0" });
    const run = await centella(["run", out, "-p", "Once", "--raw", "-n", "3", "--seed", "1", "--json", "--backend", "wasm"]);
    expect(JSON.parse(run.stdout)).toMatchObject({ quantization: "Q4_0" });
    expectOneLine(await centella(["quantize", tiny, out, "Q8_0"]), /which exists/, 2);
  });

  test("--dry-run prints the types of the tensors and writes nothing", async () => {
    const out = join(folder, "dry.gguf");
    const { stdout } = await centella(["quantize", tiny, out, "Q4_K_M", "--allow-requantize", "--dry-run"]);
    expect(stdout).toMatch(/^q8_0 → q\w+ {2}token_embd\.weight$/m);
    expect(existsSync(out)).toBe(false);
  });
});

test("progress is shown in units of 1000", () => {
  expect(formatProgress(500_000_000, 2_000_000_000, 55_000_000)).toBe("[######                  ]  25 %  500 MB of 2.0 GB  55 MB/s");
  expect(formatProgress(1500, undefined, 10)).toBe("1.5 kB  10 bytes/s");
  expect(formatSize(999_600)).toBe("1.0 MB");
});
