import { wasm } from "@centella/backend-wasm";
import { CentellaError, createRuntime, type Runtime } from "@centella/core";
import { estimateMemory, formatInspect, GgufError, type GgufFile, inspect, Metadata, type MetadataEntry, readGguf } from "@centella/gguf";
import { randomFrom } from "../../gguf/test/faultyHub.ts";
import { writeGguf } from "../../gguf/test/writer.ts";
import { type LoadModelOptions, loadModel, type Model } from "../src/index.ts";
import { describeArchitecture } from "../src/models/index.ts";
import { modelSampling } from "../src/sampling/modelSampling.ts";
import { loadTokenizer } from "../src/tokenizer/loadTokenizer.ts";
import {
  type FamilyGolden,
  familyFile,
  familyGoldens,
  readFamilyGolden,
  vocabularyKinds,
  withVocabulary,
  withWritersDefaults,
} from "./familyFixture.ts";
import { type Below, type ModelFile, mutatedModel } from "./mutatedModel.ts";

/** A golden's file, and the metadata keys that loading it looks up. */
interface Original {
  readonly file: ModelFile;
  readonly keys: readonly string[];
}

/** The forms in which a golden's file is mutated. */
const forms: readonly ((golden: FamilyGolden) => FamilyGolden)[] = [
  (golden) => golden,
  withWritersDefaults,
  ...vocabularyKinds.map((kind) => (golden: FamilyGolden) => withVocabulary(golden, kind)),
];

/** Longest message of an error: names and texts of the file are cut in it. */
const longestMessage = 4_000;

/** Mutates the small models of all families and does with each what one does with a file from the internet. */
export class ModelFuzzer {
  readonly #runtimes: readonly Runtime[];
  readonly #originals = new Map<string, Promise<Original>>();

  constructor(runtimes: readonly Runtime[]) {
    this.#runtimes = runtimes;
  }

  static async open(): Promise<ModelFuzzer> {
    return new ModelFuzzer([
      await createRuntime({ backends: [] }),
      await createRuntime({ backends: [wasm({ threads: 2 })], policy: { force: "wasm" } }),
    ]);
  }

  /**
   * Inspects, estimates, loads and runs the file of a seed: each either works or fails with an error of the library whose message is
   * safe to print. Returns the outcome: "loaded", or the error's name.
   * @throws {Error} for anything else
   */
  async run(seed: number): Promise<string> {
    const random = randomFrom(seed);
    const below: Below = (n) => Math.floor(random() * n);
    const name = familyGoldens[below(familyGoldens.length)]!;
    const { file, keys } = await this.#original(name, below(forms.length));
    const bytes = writeGguf(mutatedModel(file, keys, below));
    const runtime = this.#runtimes[below(this.#runtimes.length)]!;
    const contextLength = ([undefined, "auto", 1, 48] as const)[below(4)];
    return (
      (await refusal(name, async () => {
        await using header = await readGguf(bytes);
        checkReport(header);
      })) ??
      (await refusal(name, async () => {
        const options: LoadModelOptions = { runtime, contextLength, memoryLimit: 2 ** 26, sequences: 1 + below(2) };
        await using model = await loadModel(bytes, options);
        await use(model);
      })) ??
      "loaded"
    );
  }

  async dispose(): Promise<void> {
    for (const runtime of this.#runtimes) await runtime.dispose();
  }

  #original(name: string, form: number): Promise<Original> {
    const key = `${name} ${form}`;
    const known = this.#originals.get(key) ?? readOriginal(readFamilyGolden(name), form);
    this.#originals.set(key, known);
    return known;
  }
}

async function readOriginal(golden: FamilyGolden, form: number): Promise<Original> {
  const file = familyFile(forms[form]!(golden));
  await using header = await readGguf(writeGguf(file));
  return { file, keys: [...new Set([...header.metadata.keys(), ...(await lookedUp(header))])] };
}

/** The keys that loading a model looks up, also those that its file lacks. So a new family's keys are mutated, too. */
async function lookedUp({ metadata, tensors }: GgufFile): Promise<readonly string[]> {
  const keys = new Set<string>();
  const entry = (key: string): MetadataEntry | undefined => {
    keys.add(key);
    return metadata.entry(key);
  };
  const lookup = {
    size: metadata.size,
    has: (key: string) => entry(key) !== undefined,
    get: entry,
    keys: () => metadata.keys(),
    values: () => [...metadata].values(),
  };
  const observed = new Metadata(lookup);
  await describeArchitecture({ metadata: observed, tensors });
  modelSampling(observed);
  // Not every small model has a vocabulary.
  await loadTokenizer(observed).catch(() => undefined);
  return [...keys, "tokenizer.chat_template"];
}

/** Reads the header as `centella inspect` does. */
function checkReport(file: GgufFile): void {
  const report = inspect(file);
  JSON.stringify(report);
  checkPrintable(formatInspect(report).replaceAll("\n", ""), Number.POSITIVE_INFINITY);
  try {
    const { cacheBytes, totalBytes } = estimateMemory(file);
    if (!Number.isSafeInteger(totalBytes) || cacheBytes < 0) throw new Error(`an estimate of ${totalBytes} bytes`);
  } catch (error) {
    if (!(error instanceof GgufError)) throw error;
    checkPrintable(error.message);
  }
}

async function use(model: Model): Promise<void> {
  const ids = [1, 2, 3, 4, 5].slice(0, model.info.contextLength);
  await model.embed([{ ids }]);
  if (model.info.architecture.includes("bert")) return;
  await model.logits(ids);
  await model.createSession().complete("a", { maxTokens: 3, temperature: 0 });
}

/** The name of the library's error that an action ends in, or undefined if it succeeds. */
async function refusal(name: string, action: () => Promise<void>): Promise<string | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    if (!(error instanceof CentellaError)) throw new Error(`${name}: ${String(error)}`, { cause: error });
    checkPrintable(error.message);
    if (/this is a bug/.test(error.message)) throw new Error(`${name}: ${error.message}`, { cause: error });
    return error.name;
  }
}

function checkPrintable(message: string, longest: number = longestMessage): void {
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(message)) throw new Error(`a message that acts on a terminal: ${JSON.stringify(message)}`);
  if (message.length > longest) throw new Error(`a message of ${message.length} characters: ${message.slice(0, 200)}`);
}
