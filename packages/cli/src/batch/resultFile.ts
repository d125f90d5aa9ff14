import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Output } from "../output.ts";
import { UsageError } from "../usageError.ts";
import { AnsweredLines } from "./answeredLines.ts";
import type { BatchRequest } from "./batchRequest.ts";
import { linesOf } from "./lines.ts";

/** The answer to a request, as in OpenAI's and vLLM's results. It has no response if its line is no request. */
export interface BatchResult {
  /** `batch-7` for line 7 of the input. */
  readonly id: string;
  readonly custom_id: string;
  readonly response: { readonly status_code: number; readonly request_id: string; readonly body: unknown } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Where results are written: one whole line each, in the order in which they finish. */
export interface Results {
  /** Whether an earlier run has answered the request. @throws {UsageError} for the results of another input */
  has(request: Pick<BatchRequest, "line" | "customId">): boolean;
  append(result: BatchResult): Promise<void>;
  close(): Promise<void>;
}

/** Opens the file of the results. `-` is stdout. @throws {UsageError} if the file exists and is not resumed */
export async function openResults(path: string, isResumed: boolean, output: Output): Promise<Results> {
  if (path !== "-") return isResumed ? resumed(path) : new ResultFile(await created(path), new AnsweredLines());
  if (isResumed) throw new UsageError("--resume: expected a file of results, got - (stdout)");
  return { has: () => false, append: (result) => output.writeWhole(`${JSON.stringify(result)}\n`), close: async () => undefined };
}

class ResultFile implements Results {
  readonly #file: FileHandle;
  readonly #answered: AnsweredLines;
  /** Lines of the next write. Writes are few, because each one wakes another thread, which may take the model's processor. */
  #unwritten = "";
  /** The next write, until it begins. */
  #next: Promise<void> | undefined;
  /** The last write that was asked for. Writes follow one another. */
  #last: Promise<void> = Promise.resolve();

  constructor(file: FileHandle, answered: AnsweredLines) {
    this.#file = file;
    this.#answered = answered;
  }

  has(request: Pick<BatchRequest, "line" | "customId">): boolean {
    return this.#answered.has(request);
  }

  append(result: BatchResult): Promise<void> {
    this.#unwritten += `${JSON.stringify(result)}\n`;
    this.#next ??= this.#last.then(() => this.#write());
    this.#last = this.#next;
    return this.#next;
  }

  async close(): Promise<void> {
    // A failed line was reported by its `append`.
    await this.#last.catch(() => undefined);
    await this.#file.sync().finally(() => this.#file.close());
  }

  #write(): Promise<void> {
    const lines = this.#unwritten;
    this.#unwritten = "";
    this.#next = undefined;
    return this.#file.appendFile(lines);
  }
}

async function created(path: string): Promise<FileHandle> {
  try {
    return await open(path, "ax");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new UsageError(`--output: expected a new file, got ${path}, which exists; pass --resume to continue it`);
  }
}

/** Opens the results of an earlier run, without a last line that was cut off. */
async function resumed(path: string): Promise<Results> {
  const file = await open(path, "a+");
  try {
    const answered = new AnsweredLines();
    await file.truncate(await wholeLinesEnd(file));
    for await (const { number, text } of linesOf(createReadStream(path), Number.POSITIVE_INFINITY)) {
      const { line, customId } = answerIn(text!) ?? {};
      if (line === undefined || customId === undefined)
        throw new UsageError(
          `--resume: expected results of this command in ${path}, got another text in line ${number}; write to a new file`,
        );
      answered.add(line, customId);
    }
    return new ResultFile(file, answered);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Offset of the end of the last line that ends with a line feed. */
async function wholeLinesEnd(file: FileHandle): Promise<number> {
  const chunk = Buffer.alloc(64 * 1024);
  let { size: end } = await file.stat();
  while (end > 0) {
    const start = Math.max(0, end - chunk.length);
    const { bytesRead } = await file.read(chunk, 0, end - start, start);
    const at = chunk.subarray(0, bytesRead).lastIndexOf("\n");
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}

function answerIn(text: string): { readonly line: number; readonly customId: string } | undefined {
  try {
    const { id, custom_id: customId } = JSON.parse(text) as Partial<BatchResult>;
    const [, line] = /^batch-(\d+)$/.exec(id ?? "") ?? [];
    return line === undefined || typeof customId !== "string" ? undefined : { line: Number(line), customId };
  } catch {
    return undefined;
  }
}
