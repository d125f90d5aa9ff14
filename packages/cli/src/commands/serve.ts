import type { Handler, ModelLoader, ServerEvent } from "@centella/server";
import { type Command, command } from "../command.ts";
import { withFile } from "../modelFile.ts";
import { loadOptions } from "../modelOptions.ts";
import type { Output } from "../output.ts";
import { openDevices } from "../serve/devices.ts";
import { hubLibrary } from "../serve/hubLibrary.ts";
import { refusedOptions } from "../serve/refusedOptions.ts";
import { type Loading, servedModels } from "../serve/servedModels.ts";
import { readHandler, readListener, readMetrics, serveOptions } from "../serve/serveOptions.ts";
import { UsageError } from "../usageError.ts";

/** `centella serve [MODEL…]`: answers HTTP requests until it is told to stop. */
export const serve: Command = command({
  name: "serve",
  arguments: "[MODEL]…",
  summary: "serve models over HTTP: OpenAI's, Anthropic's and Ollama's APIs",
  details:
    "MODEL is a FILE or NAME=FILE; requests name the model. Prints the URL and listens before models are loaded: /health says when they are.",
  options: serveOptions,
  refused: refusedOptions,
  async run(values, positionals, { signal, output }) {
    const { "idle-timeout": idle, lora = [], ...others } = values;
    const named = {
      files: withFile(values, positionals),
      folder: values["models-dir"],
      alias: values.alias,
      isLazy: values.lazy === true,
      adapters: lora.filter(({ name }) => name !== undefined),
    };
    const handlerOptions = readHandler(values, process.env.CENTELLA_API_KEYS);
    const [names, listening] = [readMetrics(values), readListener(values)];
    // Other commands do without this code.
    const [{ createHandler }, node] = await Promise.all([import("@centella/server"), import("@centella/server/node")]);
    const { host = "127.0.0.1", "no-auth": isOpen, socket, "slot-save-path": slotFolder } = values;
    if (socket === undefined && !node.isLoopback(host) && handlerOptions.keys === undefined && !isOpen)
      throw new UsageError(`--host: expected --api-key with a host that others can reach, got ${host}; pass keys, or --no-auth`);
    const devices = openDevices(values);
    const loading: Loading = {
      options: { ...(await loadOptions(others)), ...(values.sequences !== undefined && { sequences: values.sequences }) },
      load: devices.load,
      idleMs: idle && idle * 1000,
      everywhere: lora.filter(({ name }) => name === undefined),
    };
    const models = servedModels(named, loading);
    try {
      const handler = createHandler({
        ...handlerOptions,
        models,
        ...(values["allow-pull"] && { library: hubLibrary(loading) }),
        ...(slotFolder !== undefined && { slotStore: node.slotFiles(slotFolder) }),
        ...(names !== undefined && { metrics: node.prometheusMetrics({ names }) }),
      });
      if (values.log || values["log-prompts"]) handler.events.subscribe((event) => log(event, output));
      const end = endOf(handler, models, signal);
      // It may fail while the listener opens.
      end.catch(() => undefined);
      const listener = await node.serve(handler, listening);
      output.print(values.json ? JSON.stringify({ url: listener.url }) : `listening on ${listener.url}`);
      try {
        await end;
      } finally {
        const { "drain-timeout": drain = 30 } = values;
        await listener.close({ drainMs: drain * 1000 });
      }
    } finally {
      await devices.close();
    }
  },
});

/** Waits for the end of the command. @throws the error of a model that cannot be loaded at the start */
function endOf(handler: Handler, models: Readonly<Record<string, ModelLoader>>, signal: AbortSignal): Promise<void> {
  const starting = new Set(Object.keys(models).filter((name) => !models[name]!.isLazy));
  return new Promise((resolve, reject) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
    handler.events.subscribe((event) => {
      if (event.type !== "model") return;
      if (event.state === "failed" && starting.has(event.name)) reject(event.error);
      if (event.state === "loaded") starting.delete(event.name);
    });
  });
}

/** Prints an event as a line of JSON. */
function log(event: ServerEvent, output: Output): void {
  const messageOf = (_: string, value: unknown): unknown => (value instanceof Error ? value.message : value);
  output.error(JSON.stringify({ time: new Date().toISOString(), ...event }, messageOf));
}
