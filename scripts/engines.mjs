// Runs a smoke test of the WASM backend in every JavaScript engine that is found: 16 tokens of the embedded model, the same in all, and a
// sample of the conformance suite. Build first. Engines are looked for on the PATH, and in the folders that are given as arguments:
//   npm install --prefix /tmp/engines bun deno && node scripts/engines.mjs /tmp/engines/node_modules/.bin
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(import.meta.url);

/**
 * The test. Its source is sent to pages too, so it uses nothing of this file. The text is computed without relaxed SIMD, whose sums engines
 * round differently.
 */
async function smoke({ createRuntime }, { conformanceSample, runConformance }, { wasm }, { loadModel }, source, threads) {
  const runtime = await createRuntime({ backends: [wasm({ threads, relaxed: false })] });
  const model = await loadModel(source, { runtime });
  const { text } = await model.createSession().complete("Once upon a time", { temperature: 0, maxTokens: 16 });
  await model.dispose();
  const backend = await wasm({ threads }).open();
  const sample = conformanceSample();
  const [failed, counts] = [[], { passed: 0, skipped: 0, failed: 0 }];
  for await (const { id, status, message } of runConformance(backend, { filter: (name) => sample.has(name) })) {
    counts[status]++;
    if (status === "failed") failed.push(`${id}: ${message}`);
  }
  const device = backend.device.name;
  await backend.dispose();
  return JSON.stringify({ device, text, ...counts, failures: failed.slice(0, 5) });
}

/** The test in this process. */
async function smokeHere() {
  const load = (path) => import(new URL(`../packages/${path}`, import.meta.url).href);
  const names = ["core/dist/index.js", "conformance/dist/headless.js", "backend-wasm/dist/index.js", "llm/dist/index.js"];
  const modules = await Promise.all(names.map(load));
  return smoke(...modules, fileURLToPath(new URL("../packages/model-fable/models/fable-q4_k_m.gguf", import.meta.url)), 2);
}

/** What a program prints, or undefined where there is none. */
function output(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], timeout: 300_000, ...options });
    let text = "";
    child.stdout.on("data", (part) => {
      text += part;
    });
    child.on("error", (error) => (error.code === "ENOENT" ? resolve(undefined) : reject(error)));
    child.on("close", (code) => (code === 0 ? resolve(text) : reject(new Error(`${command} ended with ${code}`))));
  });
}

/** Where pages find the packages, built. */
const imports = {
  "@centella/core": "/packages/core/dist/index.js",
  "@centella/conformance/headless": "/packages/conformance/dist/headless.js",
  "@centella/core/references": "/packages/core/dist/references.js",
  "@centella/quant": "/packages/quant/dist/index.js",
  "@centella/quant/checks": "/packages/quant/dist/checks.js",
  "@centella/gguf": "/packages/gguf/dist/index.js",
  "@centella/llm": "/packages/llm/dist/index.js",
  "@centella/backend-wasm": "/packages/backend-wasm/dist/index.js",
};

/** Serves them to a cross-origin isolated page. */
async function serve() {
  const page = `<!doctype html><script type="importmap">${JSON.stringify({ imports })}</script>`;
  const server = createServer(async ({ url }, response) => {
    const headers = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };
    const { pathname } = new URL(url, "http://localhost");
    if (pathname === "/") {
      response.writeHead(200, { ...headers, "content-type": "text/html" }).end(page);
      return;
    }
    const isOurs = pathname.startsWith("/packages/") && !pathname.includes("..");
    const body = isOurs ? await readFile(new URL(`..${pathname}`, import.meta.url)).catch(() => undefined) : undefined;
    const type = pathname.endsWith(".js") ? "text/javascript" : "application/octet-stream";
    response.writeHead(body === undefined ? 404 : 200, { ...headers, "content-type": type }).end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

/** The test in a page of Firefox; undefined where there is none. */
async function firefox() {
  const server = await serve();
  const profile = mkdtempSync(join(tmpdir(), "firefox-"));
  const browser = spawn("firefox-esr", ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, HOME: profile },
  });
  const ended = new Promise((resolve) => browser.on("close", resolve));
  try {
    const send = await connect(await debuggingAddress(browser));
    return await smokeInPage(send, `http://127.0.0.1:${server.address().port}/`);
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  } finally {
    browser.kill();
    await ended;
    server.close();
    server.closeAllConnections();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** Address at which a starting browser listens for commands of WebDriver BiDi. */
function debuggingAddress(browser) {
  return new Promise((resolve, reject) => {
    let text = "";
    browser.on("error", reject);
    browser.on("close", () => reject(new Error(`Firefox ended: ${text}`)));
    browser.stderr.on("data", (part) => {
      text += part;
      const [, found] = /WebDriver BiDi listening on (ws:\S+)/.exec(text) ?? [];
      if (found !== undefined) resolve(`${found}/session`);
    });
  });
}

/** Returns a function that sends a command to the browser and resolves with its result. */
async function connect(address) {
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`no answer from ${address}`));
  });
  let last = 0;
  const waiting = new Map();
  socket.onmessage = ({ data }) => {
    const { id, result, message } = JSON.parse(data);
    const { resolve, reject } = waiting.get(id) ?? {};
    if (result === undefined) reject?.(new Error(message));
    else resolve?.(result);
  };
  return (method, params) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject });
      socket.send(JSON.stringify({ id: last, method, params }));
    });
}

/** Opens the page, runs the test in it, and closes the browser. */
async function smokeInPage(send, url) {
  await send("session.new", { capabilities: {} });
  const { contexts } = await send("browsingContext.getTree", {});
  const { context } = contexts[0];
  await send("browsingContext.navigate", { context, url, wait: "complete" });
  const names = ["@centella/core", "@centella/conformance/headless", "@centella/backend-wasm", "@centella/llm"];
  const modules = names.map((name) => `await import(${JSON.stringify(name)})`).join(", ");
  const model = `${url}packages/model-fable/models/fable-q4_k_m.gguf`;
  // The suite's own tests free tensors by `using`, for which Firefox has the symbol from 141 on.
  const expression = `(async () => { Symbol.dispose ??= Symbol("dispose"); return (${smoke})(${modules}, new URL(${JSON.stringify(model)}), 2); })()`;
  const { type, result, exceptionDetails } = await send("script.evaluate", { expression, target: { context }, awaitPromise: true });
  if (type !== "success") throw new Error(`${exceptionDetails.text} ${JSON.stringify(exceptionDetails.stackTrace)}`);
  await send("browser.close", {}).catch(() => undefined);
  return result.value;
}

async function main(folders) {
  const env = { ...process.env, PATH: [...folders, process.env.PATH].join(":") };
  const read = (command) => output(command, ["--version"], { env });
  const engines = [
    { name: "Node", version: () => read(process.execPath), run: () => output(process.execPath, [here, "--here"]) },
    { name: "Bun", version: () => read("bun"), run: () => output("bun", [here, "--here"], { env }) },
    { name: "Deno", version: () => read("deno"), run: () => output("deno", ["run", "--allow-all", "--no-lock", here, "--here"], { env }) },
    { name: "Firefox", version: () => read("firefox-esr"), run: firefox },
  ];
  let expected;
  for (const { name, version, run } of engines) {
    const found = await version();
    if (found === undefined) {
      console.log(`${name}: skipped, it is not installed`);
      continue;
    }
    const [line] = found.trim().split("\n");
    try {
      const report = JSON.parse(await run());
      expected ??= report.text;
      const isGood = report.failed === 0 && report.passed > 200 && report.text === expected;
      if (!isGood) process.exitCode = 1;
      const details = isGood ? "" : ` ${JSON.stringify({ text: report.text, expected, failures: report.failures })}`;
      console.log(
        `${name} (${line}): ${isGood ? "works" : "FAILED"}, ${report.passed} passed, ${report.failed} failed, ${report.device}${details}`,
      );
    } catch (error) {
      process.exitCode = 1;
      console.log(`${name} (${line}): FAILED, ${error}`);
    }
  }
}

if (process.argv.includes("--here")) console.log(await smokeHere());
else await main(process.argv.slice(2));
