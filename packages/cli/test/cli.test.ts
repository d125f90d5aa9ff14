import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { loadCommands } from "../src/commands/index.ts";
import { centella, expectOneLine, tiny } from "./centella.ts";

const commands = await loadCommands();

const shared = resolve(fileURLToPath(new URL("../../..", import.meta.url)), process.env.CENTELLA_SHARED ?? "../shared");
const folder = mkdtempSync(join(tmpdir(), "centella-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a file and returns its path. */
function newFile(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("perplexity", () => {
  const text = join(folder, "text.txt");
  writeFileSync(text, "Once upon a time there was a fox who lived in the wood. ".repeat(30));

  test("is told with its error and where it was computed", async () => {
    const { code, stdout } = await centella(["perplexity", tiny, "-f", text, "-c", "64", "--chunks", "3", "--backend", "wasm"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^perplexity \d+\.\d{4} ± \d+\.\d{4} \(3 chunks of 64 tokens, on wasm\)\n$/);
  });

  test("--json is one object", async () => {
    const { stdout } = await centella(["perplexity", tiny, "-f", text, "-c", "64", "--json", "--backend", "wasm"]);
    expect(JSON.parse(stdout)).toMatchObject({ contextLength: 64, quantization: "Q8_0", backend: "wasm", tokens: expect.any(Number) });
  });

  test("without a text, or one that is too short", async () => {
    expectOneLine(await centella(["perplexity", tiny]), /expected -f TEXT.txt, got none/, 2);
    expectOneLine(await centella(["perplexity", tiny, "-f", text]), /a text of at least 512 tokens, got \d+/, 2);
  });
});

describe("grammar check", () => {
  test("tells what a schema costs, and what has no effect", async () => {
    const file = newFile("schema.json", '{"type":"object","properties":{"a":{"type":"string"}},"colour":"red"}');
    const { stdout } = await centella(["grammar", "check", file, "--vocabulary", tiny]);
    expect(stdout).toMatch(/^schema of \d+ rules can be enforced\nwarning: colour at "": .*\nread +[\d.]+ ms\ncompile/);
    expect(stdout).toMatch(/vocabulary +4096 tokens/);
    const gbnf = newFile("yes.txt", 'root ::= "yes" | "no"');
    const report = JSON.parse((await centella(["grammar", "check", gbnf, "--kind", "gbnf", "--json"])).stdout);
    expect(report).toMatchObject({ kind: "gbnf", vocabulary: 257, firstTokens: 2, warnings: [] });
  });

  test("fails with the reason where a grammar cannot be enforced, or is none", async () => {
    expectOneLine(await centella(["grammar", "check", newFile("a.regex", "(?=a)b")]), /lookahead/, 2);
    expectOneLine(
      await centella(["grammar", "check", newFile("b.json", '{"type":"array","uniqueItems":true,"minItems":3}')]),
      /uniqueItems/,
      2,
    );
    expectOneLine(await centella(["grammar", "check", newFile("c.txt", "a")]), /expected --kind/, 2);
    expectOneLine(await centella(["grammar", "print", newFile("d.json", "{}")]), /expected check, got print/, 2);
  });
});

describe("run", () => {
  test("answers match a format, and formats that cannot be enforced are refused", async () => {
    const args = ["run", tiny, "-p", "Once", "--temp", "2", "--seed", "4", "--backend", "wasm"];
    expect((await centella([...args, "--choice", "a red fox", "--choice", "an owl"])).stdout).toMatch(/^(a red fox|an owl)\n$/);
    const schema = '{"type":"object","properties":{"n":{"enum":[1,22]}},"required":["n"],"additionalProperties":false}';
    const { complete, value, text } = JSON.parse((await centella([...args, "--json", "--schema", schema])).stdout);
    expect([1, 22]).toContain(value.n);
    expect({ complete, value }).toEqual({ complete: true, value: JSON.parse(text) });
    const cut = await centella([...args, "-n", "1", "--regex", "[a-z]{40,50}"]);
    expect(cut.stderr).toMatch(/cut short and does not match the format/);
    const refused = await centella([...args, "--regex", "(?=a)b"]);
    expectOneLine(refused, /lookahead/, 2);
    const chat = await centella(["chat", tiny, "--choice", "an owl", "--backend", "wasm"], { input: "Hello.\n" });
    expect(chat.stdout).toMatch(/an owl/);
  });

  test("calls of tools are printed", async () => {
    const tools =
      '[{"name":"feed","inputSchema":{"type":"object","properties":{"animal":{"enum":["fox","owl"]}},"required":["animal"],"additionalProperties":false}}]';
    const args = ["run", tiny, "-p", "Feed it", "--temp", "0", "-n", "120", "--backend", "wasm", "--tools", tools, "--tool-choice", "feed"];
    const { toolCalls } = JSON.parse((await centella([...args, "--json"])).stdout);
    expect(toolCalls[0]).toMatchObject({ name: "feed", arguments: { animal: expect.stringMatching(/fox|owl/) } });
    expect((await centella(args)).stdout).toMatch(/^\nfeed \{\s*"animal"/);
    expectOneLine(await centella([...args.slice(0, -1), "x"]), /toolChoice: expected a tool of the list, got "x"/, 2);
  });

  const story = ["run", tiny, "-p", "Tell me a story about a cat.", "-n", "24", "--seed", "3", "--backend", "wasm"];

  test("writes the text alone, and with --verbose to stderr what ran where and how fast", async () => {
    const [plain, verbose, quiet] = [await centella(story), await centella([...story, "-v"]), await centella([...story, "-v", "-q"])];
    expect(plain).toMatchObject({ code: 0, stderr: "" });
    const { text } = JSON.parse((await centella([...story, "--json"])).stdout);
    expect(plain.stdout).toBe(`${text}\n`);
    expect(verbose.stdout).toBe(plain.stdout);
    expect(verbose.stderr).toMatch(/Q8_0 · wasm \(forced\)/);
    expect(verbose.stderr).toMatch(
      /prompt \d+ tokens, [\d.]+ tokens\/s · decode 24 tokens, [\d.]+ tokens\/s · first token after \d+ ms · peak memory \d+ MiB · seed 3/,
    );
    expect(quiet).toEqual(plain);
  });

  test("the prompt may be an argument, a file, or have escapes, and FILE an option", async () => {
    const ids = async (...args: string[]) => JSON.parse((await centella(["run", "--raw", "-n", "1", "--json", ...args])).stdout).promptIds;
    const path = join(folder, "prompt.txt");
    writeFileSync(path, "Once\nupon");
    const wanted = await ids(tiny, "Once\nupon");
    expect(await ids("-m", tiny, "-p", "Once\nupon")).toEqual(wanted);
    expect(await ids("--model", tiny, "-f", path)).toEqual(wanted);
    expect(await ids("-m", tiny, "-e", "-p", "Once\\nupon")).toEqual(wanted);
    expect(await ids(tiny, "Once\\nupon")).not.toEqual(wanted);
  });

  test("temperature 0 is greedy: the same ids without a seed", async () => {
    const run = async () => JSON.parse((await centella(["run", tiny, "Once", "--temp", "0", "-n", "12", "--json"])).stdout).ids;
    expect(await run()).toEqual(await run());
  });

  test("-ngl 99 runs on a machine without a GPU, with a warning", async () => {
    const { code, stdout, stderr } = await centella([...story, "-ngl", "99"]);
    expect({ code, stdout: stdout.length > 10 }).toEqual({ code: 0, stdout: true });
    expect(stderr).toBe("warning: --layers-on-gpu is ignored because no GPU can be used; centella gpu says why\n");
  });

  test("--json is one object, repeatable by its seed, on one backend alone", async () => {
    const args = ["run", tiny, "-p", "Once upon a time", "--raw", "-n", "12", "--seed", "5", "--json", "--backend", "wasm"];
    const [first, second] = [await centella(args), await centella(args)].map(({ stdout }) => JSON.parse(stdout));
    expect(first.ids).toHaveLength(12);
    expect(second.ids).toEqual(first.ids);
    expect(first.promptIds[0]).toBe(0);
    expect(Object.keys(first.opsByBackend)).toEqual(["wasm"]);
    for (const key of ["text", "backend", "promptTokensPerSecond", "decodeTokensPerSecond", "timeToFirstTokenMs", "peakMemoryBytes"])
      expect(first).toHaveProperty(key);
  });

  test("the prompt can come from stdin", async () => {
    const { stdout } = await centella(["run", tiny, "--raw", "-n", "1", "--json"], { input: "Once upon a time" });
    expect(JSON.parse(stdout).promptIds).toHaveLength(5);
  });

  test("Ctrl-C ends it with one line", async () => {
    const endless = ["run", tiny, "-p", "Once", "--raw", "--overflow", "shift", "--logit-bias", "4:-inf", "--backend", "wasm"];
    const result = await centella(endless, { interruptAfter: /\w+/ });
    expectOneLine(result, /interrupted/, 130);
  });

  test("a prompt longer than the context", async () => {
    expectOneLine(await centella(["run", tiny, "-p", "once ".repeat(3000), "--raw"]), /context/);
  });

  test("an unknown backend, by option and by environment", async () => {
    expectOneLine(
      await centella(["run", tiny, "-p", "x", "--backend", "cuba"]),
      /--backend: expected one of cuda, webgpu, wasm, reference, got cuba/,
      2,
    );
    expectOneLine(
      await centella(["run", tiny, "-p", "x"], { env: { CENTELLA_BACKEND: "cuba" } }),
      /expected one of cuda, webgpu, wasm, reference, got cuba/,
      2,
    );
  });

  test("cuda without a driver says so", async () => {
    const result = await centella(["run", tiny, "-p", "x", "-n", "1", "--backend", "cuda"]);
    if (result.code !== 0) expectOneLine(result, /cuda: (no NVIDIA driver \(libcuda\.so\.1 not found\)|there is no addon for )/);
  });

  test.each([
    [["run", "a.gguf", "b", "c"], /at most FILE and PROMPT, got 3 arguments/],
    [["run", "a.gguf", "b", "-p", "c"], /one prompt, got an argument and an option/],
    [["run", "--chat", "--raw"], /--chat or --raw/],
    [["run", "--bogus"], /unknown option '--bogus'/],
    [["run", "--temprature", "1"], /unknown option '--temprature' \(Did you mean --temperature\?\)/],
    [["run", "--seed", "-1"], /--seed: expected a whole number in 0 … 2\^53 - 1, got -1/],
    [["run", "-ngx", "9"], /--tokens: expected a number, got gx/],
    [
      ["run", "Tell me a story"],
      /got "Tell me a story", which is not a file; write centella run FILE "Tell me a story", or centella run -p/,
    ],
    [["run", tiny], /expected a prompt, got an empty stdin/],
    [["runn"], /unknown command 'runn' \(Did you mean run\?\)/],
    [["sing"], /unknown command 'sing'/],
  ])("%j is a usage error", async (args, message) => {
    expectOneLine(await centella(args), message, 2);
  });
});

describe("broken files", () => {
  const bytes = readFileSync(tiny);
  const file = (name: string, content: Uint8Array): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };

  test("missing", async () => expectOneLine(await centella(["run", join(folder, "none.gguf"), "-p", "x"]), /no such file/));
  test("missing, of other kinds", async () => {
    const none = join(folder, "no folder", "file");
    expectOneLine(await centella(["perplexity", tiny, "-f", none]), `cannot open '${none}': no such file or directory; check the path`);
    expectOneLine(await centella(["logits", tiny, "--ids", "1", "--out", none]), `cannot write '${none}': no such file or directory`);
  });
  test("not a GGUF file", async () =>
    expectOneLine(await centella(["run", file("text.gguf", Buffer.from("hello, this is no model")), "-p", "x"]), /GGUF/));
  test("empty", async () => expectOneLine(await centella(["inspect", file("empty.gguf", new Uint8Array())]), /GGUF|gguf/));
  test("truncated", async () =>
    expectOneLine(await centella(["run", file("cut.gguf", bytes.subarray(0, 1_000_000)), "-p", "x"]), /truncated/));
  test("corrupted counts", async () => {
    const corrupt = Buffer.from(bytes);
    corrupt.fill(0xff, 8, 24);
    expectOneLine(await centella(["run", file("corrupt.gguf", corrupt), "-p", "x"]), /gguf: expected/);
  });
  test("an unknown architecture", async () => {
    const other = Buffer.from(bytes);
    other.write("llamb", other.indexOf("llama", other.indexOf("general.architecture")));
    expectOneLine(await centella(["run", file("other.gguf", other), "-p", "x"]), /llamb/);
  });
});

describe("inspect, tokenize, logits", () => {
  test("inspect prints text and JSON", async () => {
    const text = (await centella(["inspect", tiny])).stdout;
    expect(text).toContain("llama");
    expect(text).toMatch(/^family +verified: logits compared with llama\.cpp's$/m);
    const report = JSON.parse((await centella(["inspect", tiny, "--json"])).stdout);
    expect(report).toMatchObject({ architecture: "llama", family: "verified" });
    expect(report.tensors.length).toBeGreaterThan(10);
  });

  test("tokenize prints ids; --no-special adds no BOS", async () => {
    const prompt = "Tell me a story about the sea.";
    const ids = (await centella(["tokenize", tiny, prompt])).stdout.trim().split(" ").map(Number);
    expect(ids[0]).toBe(0);
    const { ids: plain, pieces } = JSON.parse((await centella(["tokenize", tiny, prompt, "--no-special", "--json"])).stdout);
    expect(plain).toEqual(ids.slice(1));
    expect(pieces.join("")).toBe(prompt);
  });

  test("tokenize reads stdin without a TEXT", async () => {
    const prompt = "Tell me a story\nabout the sea.";
    const given = await centella(["tokenize", tiny, prompt]);
    expect(await centella(["tokenize", tiny], { input: prompt })).toEqual(given);
    expect(await centella(["tokenize", "-m", tiny, "-p", prompt])).toEqual(given);
  });

  test.skipIf(!existsSync(join(shared, "models")))(
    "logits agree with llama.cpp's (needs the outside data in CENTELLA_SHARED)",
    async () => {
      const out = join(folder, "out.f32");
      const ids = "0,3025,640,263,539,446,1206,263,668,424,344,263";
      const { code } = await centella([
        "logits",
        tiny,
        "--ids",
        ids,
        "--out",
        out,
        "--backend",
        "wasm",
        "--cache-type",
        "f32",
        "--activations",
        "ggml",
      ]);
      expect(code).toBe(0);
      const floats = (path: string): Float32Array => new Float32Array(new Uint8Array(readFileSync(path)).buffer);
      const [ours, theirs] = [floats(out), floats(join(shared, "models/fable-tiny-q8_0.logits.f32"))];
      expect(ours.length).toBe(12 * 4096);
      const norm = (values: Float32Array): number => Math.hypot(...values);
      expect(norm(ours.map((value, i) => value - theirs[i]!)) / norm(theirs)).toBeLessThan(5e-3);
    },
  );

  test.each([
    [["logits", tiny, "--ids", "1,x", "--out", "o"], /token ids separated by commas, got 1,x/],
    [["logits", tiny, "--out", "o"], /expected --ids/],
    [["tokenize", tiny, "a", "b"], /FILE and TEXT, got 3/],
    [["tokenize"], /expected FILE, got no arguments/],
    [["inspect"], /expected FILE, got no arguments/],
    [["quantize", tiny, "o"], /IN, OUT and TYPE, got 2 arguments/],
    [["quantize", tiny, "o", "Q9"], /expected one of F32, .*, got 'Q9'/],
  ])("%j is a usage error", async (args, message) => {
    expectOneLine(await centella(args), message, 2);
  });
});

test("help and version", async () => {
  expect((await centella(["--help"])).stdout).toContain("models, list, ls");
  const help = (await centella(["run", "--help"])).stdout;
  expect(help).toContain("--temperature <T>");
  expect((await centella(["help", "run"])).stdout).toBe(help);
  expect((await centella(["--help", "run"])).stdout).toBe(help);
  expect((await centella(["help", "ls"])).stdout).toMatch(/^Usage: centella models\|list /);
  expectOneLine(await centella(["help", "rnu"]), /unknown command 'rnu' \(Did you mean run\?\)/, 2);
  for (const spelling of ["--version", "-V", "-v", "version"]) expect((await centella([spelling])).stdout).toMatch(/^\d+\.\d+\.\d+/);
  const nothing = await centella([]);
  expectOneLine(nothing, /expected a command, got none/, 2);
  expect(nothing.stdout).toContain("Usage: centella");
});

describe("what people know from other tools", () => {
  test("ps says that there is no server", async () => {
    expect((await centella(["ps"])).stdout).toMatch(/^no running models: centella has no server/);
    expect(JSON.parse((await centella(["ps", "--json"])).stdout)).toEqual({ models: [] });
  });

  test("gpu lists every backend with its device, or why it cannot be used", async () => {
    const { backends } = JSON.parse((await centella(["gpu", "--json"])).stdout);
    expect(backends.map(({ name }: { name: string }) => name)).toEqual(["cuda", "webgpu", "wasm", "reference"]);
    for (const { device, unavailable } of backends) expect([device, unavailable].filter((one) => one !== undefined)).toHaveLength(1);
    expect((await centella(["gpu"])).stdout).toMatch(/^wasm +cpu: WebAssembly/m);
  });

  test("list, ls and show are models and inspect", async () => {
    const env = { XDG_CACHE_HOME: folder };
    const models = await centella(["models"], { env });
    expect(await centella(["list"], { env })).toEqual(models);
    expect(await centella(["ls"], { env })).toEqual(models);
    expect(await centella(["show", tiny])).toEqual(await centella(["inspect", tiny]));
  });

  test("every command has --json, but chat and completion", () => {
    const without = commands.filter(({ options }) => !("json" in options)).map(({ name }) => name);
    expect(without).toEqual(["chat", "completion"]);
  });
});

describe("bench", () => {
  test("prints llama-bench's columns, then load time, memory and time to the first token", async () => {
    const { code, stdout } = await centella(["bench", tiny, "-p", "16", "-n", "4", "-d", "0,8", "-r", "2", "--backend", "wasm"]);
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^\| model +\| +size \| +params \| backend \| threads \| +test \| +t\/s \|$/);
    expect(lines.slice(2, 6).map((line) => line.split("|").at(-3)!.trim())).toEqual(["pp16", "tg4", "pp16 @ d8", "tg4 @ d8"]);
    expect(lines.at(-1)).toMatch(
      /^WebAssembly .* · loaded in \d+ ms · peak memory \d+ MiB · first token after pp16 \d+ ms, pp16 @ d8 \d+ ms$/,
    );
  });

  test("--json is one object with every repetition", async () => {
    const { stdout } = await centella(["bench", tiny, "-p", "16", "-n", "", "-r", "3", "--json", "--backend", "wasm"]);
    const { rows, loadMs, peakMemoryBytes, model } = JSON.parse(stdout);
    expect(rows).toHaveLength(1);
    expect(rows[0].tokensPerSecond).toHaveLength(3);
    expect([loadMs > 0, peakMemoryBytes > 2 ** 24, model.backend]).toEqual([true, true, "wasm"]);
  });

  test("lengths that are none are a wrong command line", async () => {
    expectOneLine(await centella(["bench", tiny, "-p", "12,x"]), /--prompt: expected whole numbers from 1, got 12,x/, 2);
    expectOneLine(await centella(["bench", tiny, "-p", "", "-n", ""]), /expected at least one test/, 2);
  });
});
