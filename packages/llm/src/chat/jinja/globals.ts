import type { Budget } from "./budget.ts";
import { textArgument, wholeArgument } from "./calls.ts";
import { EvaluationError, RaisedException } from "./errors.ts";
import { Text } from "./text.ts";
import { toText } from "./toText.ts";
import { type Arguments, Callable, Dict, elementsOf, List, Namespace, type Value } from "./values.ts";

const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/** The functions that chat templates may call. */
export function globals(now: Date): ReadonlyMap<string, Value> {
  return new Map<string, Value>([
    ["range", new Callable(range)],
    ["namespace", new Callable((args, budget) => new Namespace(new Map(namedValues(args, budget))))],
    ["dict", new Callable(dict)],
    ["raise_exception", new Callable(raise)],
    ["strftime_now", new Callable(({ positional: [format] }) => Text.of(formatTime(textArgument("strftime_now", format).value, now), "c"))],
  ]);
}

function raise({ positional: [message] }: Arguments, budget: Budget): never {
  throw new RaisedException(toText(message, budget).value);
}

function range({ positional }: Arguments, budget: Budget): List {
  const numbers = positional.map((value) => wholeArgument("range", value, 0));
  const [start, stop, step = 1] = numbers.length === 1 ? [0, ...numbers] : numbers;
  if (start === undefined || stop === undefined || step === 0)
    throw new EvaluationError("range: expected one to three whole numbers and a step other than 0");
  const length = Math.max(0, Math.ceil((stop - start) / step));
  budget.spendOnElements(length);
  return new List(Array.from({ length }, (_, i) => start + i * step));
}

function dict(args: Arguments, budget: Budget): Dict {
  const created = new Dict();
  for (const [key, value] of namedValues(args, budget)) created.set(Text.of(key, "t"), value);
  return created;
}

/** Implements `dict()`: entries of a mapping or of pairs, if given, then the named arguments. */
function namedValues({ positional: [source], named }: Arguments, budget: Budget): [string, Value][] {
  budget.spendOnElements(named.size);
  const pairs = source instanceof Dict ? source.items() : elementsOf(source, budget);
  return [
    ...pairs.map((pair): [string, Value] => {
      const [key, value] = elementsOf(pair, budget);
      return [toText(key, budget).value, value];
    }),
    ...named,
  ];
}

/** Implements the directives of C's strftime that templates use. Other directives stay unchanged. */
function formatTime(format: string, now: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = days[now.getDay()] ?? "";
  const month = months[now.getMonth()] ?? "";
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
  return format.replace(/%([a-zA-Z%])/g, (directive, letter: string) => values[letter] ?? directive);
}
