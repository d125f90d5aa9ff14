import { open } from "node:fs/promises";
import { addAbortSignal } from "node:stream";
import { fable } from "@centella/model-fable";
import type { Engine } from "@centella/server";
import { BatchProgress, type BatchSummary } from "../batch/batchProgress.ts";
import { type BadRequest, type BatchRequest, readRequest } from "../batch/batchRequest.ts";
import { linesOf } from "../batch/lines.ts";
import { type BatchResult, openResults, type Results } from "../batch/resultFile.ts";
import { runBatch } from "../batch/runBatch.ts";
import { type Command, type Context, command } from "../command.ts";
import { withModel } from "../loading.ts";
import { modelSource, withFile } from "../modelFile.ts";
import { loadOptions, type ModelValues, modelOptions } from "../modelOptions.ts";
import { flag, grouped, number, text } from "../options.ts";
import type { Output } from "../output.ts";
import { ProgressBar } from "../progress.ts";
import { defaultOptions, readDefaults } from "../serve/defaultOptions.ts";
import { type DeviceValues, devicesOption, openDevices } from "../serve/devices.ts";
import { nameOf } from "../serve/servedModels.ts";
import { UsageError } from "../usageError.ts";

/** Requests that the model computes at the same time. */
const defaultSequences = 8;
/** Largest line of the input, in bytes. */
const maxLine = 16 * 2 ** 20;
/** The longest time of a timer, in milliseconds. */
const noTimeout = 2 ** 31 - 1;
/** Limits of a handler whose only caller waits for each answer. */
const unbounded = {
  maxBody: maxLine,
  maxQueue: Number.MAX_SAFE_INTEGER,
  maxQueuedTokens: Number.MAX_VALUE,
  queueTimeoutMs: noTimeout,
  requestTimeoutMs: noTimeout,
};

/** `centella batch -i FILE -o FILE [MODEL]`: answers a file of requests. */
export const batch: Command = command({
  name: "batch",
  aliases: ["run-batch"],
  arguments: "-i FILE -o FILE [MODEL]",
  summary: "answer a file of requests in OpenAI's batch format",
  details:
    "Each line of the input has custom_id, url (such as /v1/chat/completions) and body. Each answer is a line of the output, written as soon as it is there.",
  options: {
    ...grouped("Batch", {
      input: text("FILE", "requests, - for stdin", { short: "i", aliases: ["--input-file"] }),
      output: text("FILE", "a new file for the results, - for stdout", { short: "o", aliases: ["--output-file"] }),
      resume: flag("continue the results of a run that did not end"),
      sequences: number("N", `requests computed at the same time (default: ${defaultSequences})`, {
        min: 1,
        integer: true,
        aliases: ["--parallel", "-np"],
      }),
      devices: devicesOption,
      alias: text("NAME", "name of the model in requests that have one (default: the file's name)", {
        short: "a",
        aliases: ["--served-model-name"],
      }),
      json: flag("print the summary as a JSON object"),
    }),
    ...modelOptions,
    ...defaultOptions,
  },
  async run(values, positionals, context) {
    const { input, output: results, json } = values;
    if (input === undefined || results === undefined)
      throw new UsageError("batch: expected -i FILE with requests and -o FILE for results, got only one of them or none");
    if (json && results === "-") throw new UsageError("--json: expected a file for the results, got - (stdout)");
    const { signal, output } = context;
    const [file, ...rest] = withFile(values, positionals);
    if (rest.length > 0) throw new UsageError(`batch: expected one MODEL, got ${rest.length + 1}`);
    const { sequences = defaultSequences, alias = file === undefined ? "fable" : nameOf(file) } = values;
    const { createHandler } = await import("@centella/server");
    const bytes = addAbortSignal(signal, input === "-" ? process.stdin : (await open(input)).createReadStream());
    const written = await openResults(results, values.resume === true, output);
    let summary: BatchSummary | undefined;
    try {
      await withEngine(file, { ...values, sequences }, context, async (engine) => {
        const handler = createHandler({ models: { [alias]: engine }, defaults: readDefaults(values), ...unbounded });
        const progress = new BatchProgress(output);
        const name = input === "-" ? "stdin" : input;
        const take = async (result: BatchResult): Promise<void> => {
          await written.append(result);
          progress.answer(result);
        };
        await runBatch(requestsIn({ name, bytes }, { written, progress, output, take }), {
          handler,
          // The next requests wait in the handler's queue, so that no sequence is idle between two of them.
          inFlight: 2 * engine.info.sequences,
          signal,
          take,
        }).finally(() => handler.close());
        summary = progress.end();
      });
    } finally {
      await written.close();
    }
    const { failed, badLines } = summary!;
    if (json) output.print(JSON.stringify(summary));
    if (failed + badLines > 0) throw new Error(`batch: expected an answer to every line, got ${failed} errors and ${badLines} bad lines`);
  },
});

/** Loads the model, in this thread or on several devices, calls `use`, and frees everything. */
async function withEngine(
  file: string | undefined,
  values: ModelValues & DeviceValues & { readonly sequences: number },
  context: Context,
  use: (engine: Engine) => Promise<void>,
): Promise<void> {
  const { sequences } = values;
  if (values.devices === undefined) return withModel(file, values, context, ({ model }) => use(model), { sequences });
  const devices = openDevices(values);
  try {
    const bar = new ProgressBar("loading", context.output);
    const source = file === undefined ? fable : await modelSource(file);
    const loading = { signal: context.signal, onProgress: (done: number, total: number) => bar.update(done, total) };
    const engine = await devices.load(source, { sequences, ...(await loadOptions(values)) }, loading).finally(() => bar.end());
    await use(engine).finally(() => engine.dispose());
  } finally {
    await devices.close();
  }
}

interface Input {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Where lines go that need no answer of the model. */
interface Bypass {
  readonly written: Results;
  readonly progress: BatchProgress;
  readonly output: Output;
  readonly take: (result: BatchResult) => Promise<void>;
}

/**
 * The requests of the input that have no answer yet. A bad line gets a result with an error, or is reported on stderr if its `custom_id`
 * cannot be read.
 */
async function* requestsIn(
  { name, bytes }: Input,
  { written, progress, output, take }: Bypass,
): AsyncGenerator<BatchRequest, void, undefined> {
  for await (const line of linesOf(bytes, maxLine)) {
    const request = readRequest(line, maxLine);
    if (request === undefined) continue;
    if (!("customId" in request)) {
      progress.badLine();
      output.error(`centella: ${name}:${request.line}: ${request.problem}`);
    } else if (written.has(request)) progress.skip();
    else if ("problem" in request) await take(refusal(request));
    else yield request;
  }
}

function refusal({ line, customId, problem }: BadRequest): BatchResult {
  return { id: `batch-${line}`, custom_id: customId, response: null, error: { code: "invalid_value", message: problem } };
}
