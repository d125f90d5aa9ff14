import { Environment, Interpreter, parse, tokenize } from "@huggingface/jinja";
import { ChatTemplateError } from "./errors.ts";

/** Most numbers that one rendering may ask of `range`, so that a hostile template cannot fill the memory. */
const maxRange = 1_000_000;

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/** A parsed template. */
export type Template = ReturnType<typeof parse>;

/** @throws {ChatTemplateError} with the line where it can be told */
export function parseTemplate(source: string): Template {
  try {
    return parseBlocks(source);
  } catch (error) {
    const message = messageOf(error);
    // The parser runs off the end of its tokens where a block is never closed.
    if (error instanceof TypeError)
      throw new ChatTemplateError("chat template: expected an end of every block, got the end of the template", undefined, {
        cause: error,
      });
    const line = lineOfParseError(source, message);
    throw new ChatTemplateError(`chat template: ${atLine(line)}cannot be parsed: ${message}`, line, { cause: error });
  }
}

/** As transformers sets Jinja up. The library's class does the same, but brings a formatter of templates along. */
function parseBlocks(source: string): Template {
  return parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
}

/**
 * Renders a template with the functions that chat templates expect: `raise_exception`, `range`, `strftime_now`.
 * @throws {ChatTemplateError} if the template raises an exception or cannot be evaluated
 */
export function renderTemplate(template: Template, source: string, variables: Readonly<Record<string, unknown>>, now: Date): string {
  const environment = new Environment();
  const globals: Record<string, unknown> = {
    true: true,
    True: true,
    false: false,
    False: false,
    none: null,
    None: null,
    raise_exception: (message: unknown) => {
      const line = lineOfException(source, String(message));
      throw new ChatTemplateError(`chat template: ${atLine(line)}rejected the messages: ${message}`, line);
    },
    range: limitedRange(),
    strftime_now: (format: string) => formatTime(format, now),
    ...variables,
  };
  try {
    for (const [name, value] of Object.entries(globals)) environment.set(name, value);
    const rendered = new Interpreter(environment).run(template).value;
    if (typeof rendered !== "string") throw new TypeError(`expected text, got ${typeof rendered}`);
    return rendered;
  } catch (error) {
    if (error instanceof ChatTemplateError) throw error;
    throw new ChatTemplateError(`chat template: cannot be rendered: ${messageOf(error)}`, undefined, { cause: error });
  }
}

function limitedRange(): (...args: unknown[]) => number[] {
  let budget = maxRange;
  return (...args) => {
    const numbers = args.filter((arg) => typeof arg === "number");
    const [start, stop, step = 1] = numbers.length === 1 ? [0, numbers[0]!] : numbers;
    if (start === undefined || stop === undefined || !numbers.every(Number.isInteger) || step === 0) {
      throw new Error(`range: expected one to three whole numbers and a step other than 0, got ${args.map(String).join(", ")}`);
    }
    const count = Math.max(0, Math.ceil((stop - start) / step));
    budget -= count;
    if (budget < 0) throw new Error(`range: expected at most ${maxRange} numbers in all, got more`);
    return Array.from({ length: count }, (_, i) => start + i * step);
  };
}

/** The directives of C's strftime that templates use to state the date; others are left as they are. */
function formatTime(format: string, now: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = days[now.getDay()]!;
  const month = months[now.getMonth()]!;
  const values: Readonly<Record<string, string>> = {
    a: day.slice(0, 3),
    A: day,
    b: month.slice(0, 3),
    B: month,
    d: two(now.getDate()),
    e: String(now.getDate()).padStart(2),
    H: two(now.getHours()),
    I: two(now.getHours() % 12 || 12),
    m: two(now.getMonth() + 1),
    M: two(now.getMinutes()),
    p: now.getHours() < 12 ? "AM" : "PM",
    S: two(now.getSeconds()),
    y: two(now.getFullYear() % 100),
    Y: String(now.getFullYear()),
    "%": "%",
  };
  return String(format).replace(/%([a-zA-Z%])/g, (directive, letter: string) => values[letter] ?? directive);
}

/** The parser does not tell where it failed: the first line up to which the template fails in the same way. */
function lineOfParseError(source: string, message: string): number | undefined {
  const lines = source.split("\n");
  // Trying every line takes quadratic time; no real template comes near.
  if (lines.length > 2000) return undefined;
  for (let line = 1; line <= lines.length; line++) {
    try {
      parseBlocks(lines.slice(0, line).join("\n"));
    } catch (error) {
      if (messageOf(error) === message) return line;
    }
  }
  return undefined;
}

/** The line whose `raise_exception` call begins with the message's words. */
function lineOfException(source: string, message: string): number | undefined {
  const index = source.split("\n").findIndex((line) => {
    const literal = /raise_exception\(\s*(["'])(.*?)\1/.exec(line)?.[2];
    return literal !== undefined && literal !== "" && message.startsWith(literal);
  });
  return index < 0 ? undefined : index + 1;
}

function atLine(line: number | undefined): string {
  return line === undefined ? "" : `line ${line} `;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
