import { seedOf } from "@centella/conformance";
import { CentellaError } from "@centella/core";
import { GrammarError } from "@centella/grammar";
import { expect } from "vitest";
import { CallersOwn, unwrapped, variants } from "./values.ts";

/** A valid call: its arguments, or what makes them. */
export type Call = readonly unknown[] | Excused | Sampled;

/** A function that is left out, and why. */
export interface Excused {
  readonly excuse: string;
}

/** A slow call, of which a limited number of variants is tried. */
export interface Sampled {
  readonly args: readonly unknown[];
  readonly tries: number;
}

export function excused(excuse: string): Excused {
  return { excuse };
}

export function sampled(tries: number, ...args: readonly unknown[]): Sampled {
  return { args, tries };
}

/** Valid calls by name of what is called. */
export type Calls = Readonly<Record<string, Call>>;

/** Longest time that a call with a wrong argument may take, in milliseconds. */
const patience = 300_000;

/** Calls every function and class that a module exports with wrong arguments. Error classes apart: only the library makes them. */
export async function callExports(where: string, module: Readonly<Record<string, unknown>>, calls: Calls): Promise<void> {
  const functions = Object.entries(module).filter(
    (entry): entry is [string, AnyFunction] => typeof entry[1] === "function" && !(entry[1].prototype instanceof Error),
  );
  await callAll(where, Object.fromEntries(functions.map(([name, each]) => [name, called(each)])), calls);
}

/** Calls every method of an object with wrong arguments. */
export async function callMethods(where: string, object: object, calls: Calls): Promise<void> {
  const methods = methodNames(object).map((name) => [
    name,
    (args: readonly unknown[]) => (object as Record<string, AnyFunction>)[name]!(...args),
  ]);
  await callAll(where, Object.fromEntries(methods), calls);
}

type AnyFunction = ((...args: readonly unknown[]) => unknown) & { readonly prototype?: unknown };

function called(each: AnyFunction): (args: readonly unknown[]) => unknown {
  const isClass = /^class\b/.test(Function.prototype.toString.call(each));
  return isClass ? (args) => Reflect.construct(each, args) : (args) => each(...args);
}

function methodNames(object: object): readonly string[] {
  const names = new Set<string>();
  for (let at: object = object; at !== Object.prototype && at !== null; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === "function" && name !== "constructor") names.add(name);
  }
  return [...names];
}

async function callAll(
  where: string,
  functions: Readonly<Record<string, (args: readonly unknown[]) => unknown>>,
  calls: Calls,
): Promise<void> {
  // A new export or method needs a valid call in the table, or the reason why there is none.
  expect(Object.keys(calls).sort(), where).toEqual(Object.keys(functions).sort());
  const complaints: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    if ("excuse" in call) continue;
    complaints.push(...(await complaintsOf(`${where}.${name}`, functions[name]!, call)));
  }
  expect(complaints).toEqual([]);
}

/** What is wrong with the answers of a function to wrong arguments. */
export async function complaintsOf(
  name: string,
  call: (args: readonly unknown[]) => unknown,
  valid: Sampled | readonly unknown[],
): Promise<readonly string[]> {
  const { args, tries } = "tries" in valid ? valid : { args: valid, tries: Number.POSITIVE_INFINITY };
  const found: string[] = [];
  const right = await outcome(call, unwrapped(args));
  if (right !== undefined) found.push(`${name}, a valid call: ${right}`);
  for (const { what, args: wrong } of variants(args, seedOf(name), tries)) {
    const complaint = await outcome(call, wrong);
    if (complaint !== undefined) found.push(`${name}, ${what}: ${complaint}`);
    if (found.length > 40) break;
  }
  return found;
}

/** What is wrong with the answer, or undefined: a result and an error of the library are right. */
async function outcome(call: (args: readonly unknown[]) => unknown, args: readonly unknown[]): Promise<string | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve("no answer"), patience);
  });
  try {
    return await Promise.race([settled(call(args), args), late]);
  } catch (error) {
    if ([CentellaError, GrammarError, CallersOwn].some((each) => error instanceof each)) return undefined;
    return error instanceof Error ? (error.stack ?? String(error)).split("\n").slice(0, 3).join(" ") : `threw ${typeof error}`;
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for what a call begins, takes the first values of what it iterates, and frees what it makes. */
async function settled(given: unknown, args: readonly unknown[]): Promise<undefined> {
  const result = (await given) as Partial<AsyncIterable<unknown> & Disposable & AsyncDisposable & { ready(): Promise<void> }> | null;
  if (typeof result !== "object" || result === null || args.includes(result)) return;
  if (result[Symbol.asyncIterator] !== undefined) {
    let count = 0;
    for await (const _ of result as AsyncIterable<unknown>) if (++count === 2) break;
  } else if (typeof result.ready === "function") await result.ready();
  await result[Symbol.asyncDispose]?.();
  result[Symbol.dispose]?.();
}
