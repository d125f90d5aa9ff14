import { expose } from "../benchPage.ts";

/** The part of wllama that is used here. */
interface Wllama {
  loadModelFromUrl(url: string, options: Readonly<Record<string, number | boolean>>): Promise<void>;
  createCompletion(options: Readonly<Record<string, string | number | boolean>>): Promise<{ readonly timings: Timings }>;
}

/** Times of llama.cpp's own clock, in ms. */
interface Timings {
  readonly prompt_n: number;
  readonly prompt_ms: number;
  readonly predicted_n: number;
  readonly predicted_ms: number;
}

interface WllamaModule {
  readonly Wllama: new (paths: { readonly default: string }, options: { readonly suppressNativeLog: boolean }) => Wllama;
}

// A name that the bundler does not follow, since the package is optional.
const library: string = "/library.js";
const { Wllama } = (await import(library)) as WllamaModule;
const wllama = new Wllama({ default: "/wllama.wasm" }, { suppressNativeLog: true });

/** Prompt as text, since wllama takes no ids: a word of three letters (about two tokens) per second id. Rates use its token count. */
function textOf(ids: readonly number[]): string {
  const word = (id: number): string => String.fromCharCode(...[id, id / 26, id / 676].map((digit) => 97 + (Math.floor(digit) % 26)));
  return ids
    .filter((_, i) => i % 2 === 0)
    .map(word)
    .join(" ");
}

async function complete(ids: readonly number[], tokens: number): Promise<Timings> {
  const options = { prompt: textOf(ids), max_tokens: tokens, temperature: 0, temp: 0, ignore_eos: true };
  return (await wllama.createCompletion(options)).timings;
}

let runs = 0;
/** A new first word keeps it from using its cached prompt. */
const fresh = (ids: readonly number[]): readonly number[] => [1000 + runs++, ...ids.slice(1)];

expose({
  async load(contextLength, threads) {
    const start = performance.now();
    const options = { n_ctx: contextLength, n_threads: threads, n_batch: 512, n_gpu_layers: 0, warmup: false };
    await wllama.loadModelFromUrl(new URL("/model.gguf", location.href).href, options);
    return (performance.now() - start) / 1e3;
  },
  async firstToken(prompt) {
    const start = performance.now();
    await complete(fresh(prompt), 1);
    return (performance.now() - start) / 1e3;
  },
  async prefill(ids) {
    const { prompt_n, prompt_ms } = await complete(fresh(ids), 1);
    return (prompt_ms / prompt_n / 1e3) * ids.length;
  },
  async decode(prompt, tokens) {
    const { predicted_n, predicted_ms } = await complete(prompt, tokens);
    return (predicted_ms / predicted_n / 1e3) * tokens;
  },
});
