import { fileURLToPath } from "node:url";
import { wasm } from "@centella/backend-wasm";
import { createRuntime, type Runtime } from "@centella/core";
import { type LoadModelOptions, loadModel, type Model } from "@centella/llm";
import { afterAll } from "vitest";
import { createHandler, type Handler, type HandlerOptions } from "../src/index.ts";

/** The embedded model with two million parameters. */
export const tiny: string = fileURLToPath(new URL("../../model-fable/models/fable-tiny-q8_0.gguf", import.meta.url));

/** A loaded model, and handlers that serve it. */
export class TestModel implements AsyncDisposable {
  readonly runtime: Runtime;
  readonly model: Model;
  readonly #handlers: Handler[] = [];

  private constructor(runtime: Runtime, model: Model) {
    this.runtime = runtime;
    this.model = model;
  }

  /** Loads the model for all tests of a file, and closes it after them. */
  static async forFile(options: Omit<LoadModelOptions, "runtime"> = {}): Promise<TestModel> {
    const served = await TestModel.load(options);
    afterAll(() => served[Symbol.asyncDispose]());
    return served;
  }

  static async load(options: Omit<LoadModelOptions, "runtime"> = {}): Promise<TestModel> {
    const runtime = await createRuntime({ backends: [wasm({ threads: 1 })] });
    return new TestModel(runtime, await loadModel(tiny, { runtime, contextLength: 512, sequences: 4, ...options }));
  }

  /** A handler that serves the model as `fable`. */
  handler(options: Omit<HandlerOptions, "models"> = {}): Handler {
    const handler = createHandler({ models: { fable: this.model }, ...options });
    this.#handlers.push(handler);
    return handler;
  }

  /** Closes the handlers that are open, and frees the model. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const handler of this.#handlers) await handler.close();
    await this.model.dispose();
    await this.runtime.dispose();
  }
}

/** A function like `fetch` that asks a handler, without a socket. */
export function fetchFrom({ fetch }: Handler): typeof globalThis.fetch {
  return (input, init) => fetch(new Request(input as string, init));
}

/** Posts JSON to a handler. */
export function post({ fetch }: Handler, path: string, body: object | string, init: RequestInit = {}): Promise<Response> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(
    new Request(`http://localhost${path}`, {
      method: "POST",
      body: text,
      ...init,
      headers: { "content-type": "application/json", ...init.headers },
    }),
  );
}

/** Gets a path of a handler. */
export function get({ fetch }: Handler, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(new Request(`http://localhost${path}`, init));
}

/** The data of a stream of server-sent events. */
export async function eventsOf(response: Response): Promise<readonly string[]> {
  const text = await response.text();
  return text.split("\n\n").flatMap((event) => {
    const data = event.split("\n").find((line) => line.startsWith("data: "));
    return data === undefined ? [] : [data.slice("data: ".length)];
  });
}
