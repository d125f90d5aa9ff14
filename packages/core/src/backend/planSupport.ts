import { byteArray, check, describe } from "@centella/quant/checks";
import type { Lowered } from "../compiler/lowered.ts";
import { ProgramError, ShapeError } from "../errors.ts";
import { loadOptions, tensorSource } from "../kinds.ts";
import type { Persistent, ProgramGraph } from "../program/programGraph.ts";
import type { Counters, LoadOptions, TensorSource } from "./backend.ts";

/** Returns the persistent that `load` fills. @throws {ArgumentError | ProgramError} for wrong arguments */
export function requireLoadable(program: ProgramGraph, name: string, source: TensorSource, options: LoadOptions): Persistent {
  const persistent = requirePersistent(program, name);
  check(`load ${name}`, "source", source, tensorSource);
  loadOptions(options);
  return persistent;
}

/** Reads exactly `length` bytes of a persistent's source. @throws {ArgumentError | ShapeError} if the source returns anything else */
export async function readSource(
  name: string,
  source: TensorSource,
  offset: number,
  length: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const bytes = await source.read(offset, length, signal);
  check(`load ${name}`, "what the source reads", bytes, byteArray);
  if (bytes.length !== length)
    throw new ShapeError(`load ${name}`, `${length} bytes of the source from ${offset}`, `${bytes.length} bytes`, "read exactly as many");
  return bytes;
}

/** Runs work of a backend in the order of the calls. A failure reaches whoever awaits the result, not later work. */
export class WorkQueue {
  #tail: Promise<unknown> = Promise.resolve();
  #pending = 0;

  /** True while work is queued or under way. */
  get busy(): boolean {
    return this.#pending > 0;
  }

  enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    this.#pending++;
    const result = this.#tail.then(work).finally(() => {
      this.#pending--;
    });
    this.#tail = result.catch(() => undefined);
    return result;
  }

  async idle(): Promise<void> {
    await this.#tail;
  }
}

/** Zeroed counters for a new backend. */
export function createCounters(): Counters {
  return { uploads: 0, submits: 0, readbacks: 0, ops: {} };
}

/** Counts a step that was executed. */
export function countOp(counters: Counters, op: string): void {
  counters.ops[op] = (counters.ops[op] ?? 0) + 1;
}

/** @throws {ProgramError} if the program declares no such persistent */
export function requirePersistent(program: ProgramGraph, name: string): Persistent {
  const persistent = program.persistents.get(name);
  if (persistent === undefined)
    throw new ProgramError(
      `plan: expected a persistent of the program, got ${typeof name === "string" ? name : describe(name)}; declare it with persistent()`,
    );
  return persistent;
}

/** @throws {ProgramError} naming every weight that a step reads and that was not loaded */
export function requireLoaded({ persistents }: Lowered, isLoaded: (name: string) => boolean): void {
  const missing = persistents.filter(({ name, init }) => init === "load" && !isLoaded(name)).map(({ name }) => name);
  if (missing.length > 0)
    throw new ProgramError(`run: expected every weight to be loaded, got none for ${missing.join(", ")}; call plan.load() first`);
}
