import { and, automaton, bytes, choice, empty, never, not, optional, repeat, sequence, text } from "../expression/builders.ts";
import type { AutomatonState, Regular } from "../expression/types.ts";
import { complementOf, intersectionOf, Language } from "./language.ts";

/*
 * The texts of numbers that are generated: plain decimals (`-12.5`), and scientific notation with one digit before the point (`1.5e-7`).
 * They include all that `JSON.stringify` writes; negative zero is left out. `printable` bounds their digits so that each is finite and has
 * the intended sign when it is parsed. The remaining languages do not: counting digits would only slow down decisions about them.
 */

/** A positive number `d.ddd · 10^exponent`, with the digits `dddd` of its mantissa. */
interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

const maximumDigits = 308;
/** Exponent from which `JSON.stringify` writes scientific notation. */
const scientificFrom = 21;
/** Digits after the point of a mantissa with all significant digits of a double. */
const mantissaDigits = 16;
/** States that the automaton for `multipleOf` may have. */
const maximumStates = 4096;

/** Digits that a double keeps whatever they are. */
const safeDigits = 15;

const digit = digits(0, 9);
const digitOrPoint = bytes([
  [0x2e, 0x2e],
  [0x30, 0x39],
]);
const nonZero = digits(1, 9);
const anyDigits = repeat(digit, 0, Infinity);
const fraction = sequence([".", repeat(digit, 1, Infinity)]);
const zeroFraction = sequence([".", repeat("0", 1, Infinity)]);
const whole = choice(["0", sequence([nonZero, anyDigits])]);
const plain = sequence([whole, optional(fraction)]);
const zero = sequence(["0", optional(zeroFraction)]);
const exponentMark = bytes([
  [0x45, 0x45],
  [0x65, 0x65],
]);

const smallest = text("5e-324");
const largest = sequence([mantissaAtMost(decimalOf(Number.MAX_VALUE).digits), exponents(maximumDigits, maximumDigits)]);

/** Numbers with up to 308 digits on either side of the point. */
export const printable: Regular = sequence([
  optional("-"),
  repeat(digit, 1, maximumDigits),
  optional(sequence([".", repeat(digit, 1, maximumDigits)])),
  optional(
    sequence([
      exponentMark,
      optional(
        bytes([
          [0x2b, 0x2b],
          [0x2d, 0x2d],
        ]),
      ),
      repeat(digit, 1, 4),
    ]),
  ),
]);

/** Every text of a number. */
export const anyNumber: Regular = between(-Infinity, Infinity);

const largeIntegers = sequence([
  nonZero,
  optional(sequence([".", repeat(digit, 1, mantissaDigits)])),
  exponents(scientificFrom, maximumDigits - 1),
]);

/** Texts of integers: `narrow` without fractions, `wide` also those that may be rounded to an integer when they are parsed. */
export const integers: Language = new Language(
  () => signed(choice([whole, largeIntegers])),
  () =>
    signed(
      choice([
        sequence([whole, optional(zeroFraction)]),
        nearlyWhole(),
        sequence([nonZero, optional(fraction), exponents(-1, maximumDigits)]),
      ]),
    ),
);

/** Decimals that may be rounded to an integer: their fraction begins with many zeros or nines. */
function nearlyWhole(): Regular {
  const equalDigits = choice([repeat("0", 0, Infinity), repeat("9", 0, Infinity)]);
  return sequence([and([sequence([whole, ".", equalDigits]), repeat(digitOrPoint, safeDigits, Infinity)]), anyDigits]);
}

/**
 * Texts of the numbers from `minimum` to `maximum`, which are included: `wide` also those that may be rounded to such a number when they
 * are parsed.
 */
export function range(minimum: number, maximum: number): Language {
  const outside = () => [
    ...(minimum === -Infinity ? [] : [between(-Infinity, -nextUp(-minimum))]),
    ...(maximum === Infinity ? [] : [between(nextUp(maximum), Infinity)]),
  ];
  return new Language(
    () => between(minimum, maximum),
    () =>
      intersectionOf(
        outside().map((part) => complementOf(part, anyNumber)),
        anyNumber,
      ),
  );
}

/** Texts of the numbers from `minimum` to `maximum`, which are included. */
export function between(minimum: number, maximum: number): Regular {
  const positive = maximum < 0 ? never : magnitudes(Math.max(minimum, 0), Math.min(maximum, Number.MAX_VALUE));
  const negative = minimum >= 0 ? never : magnitudes(Math.max(-maximum, Number.MIN_VALUE), Math.min(-minimum, Number.MAX_VALUE));
  return choice([positive, sequence(["-", negative])]);
}

/** The double after `value`. */
export function nextUp(value: number): number {
  if (value === 0) return Number.MIN_VALUE;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? 1n : -1n));
  return bits.getFloat64(0);
}

/** Texts of the number `value`: `narrow` as `JSON.stringify` writes it, `wide` every text that may be read as it. */
export function exactly(value: number): Language {
  return new Language(
    () => text(JSON.stringify(value)),
    () => range(value, value).wide,
  );
}

/**
 * Texts of the multiples of `divisor` (positive), or undefined if that takes too many states. `narrow` has numbers with few enough digits
 * not to be rounded when they are parsed, `wide` all that may be multiples.
 */
export function multiples(divisor: number): Language | undefined {
  const { digits: significant, exponent } = decimalOf(divisor);
  const scale = significant.length - 1 - exponent;
  const places = Math.max(scale, 0);
  const modulus = Number(significant) * 10 ** Math.max(-scale, 0);
  if (modulus * (places + 2) > maximumStates) return undefined;
  const decimals = signed(and([plain, automaton(remainders(modulus, places)), repeat(digitOrPoint, 1, safeDigits)]));
  // Large integers are multiples of 10^5 as texts, and of 2^5 when they are rounded.
  const isLargeMultiple = (32 * 10 ** Math.min(places, 12)) % modulus === 0;
  const narrow = isLargeMultiple ? choice([decimals, signed(largeIntegers)]) : decimals;
  const long = signed(and([plain, repeat(digitOrPoint, safeDigits + 1, Infinity)]));
  return new Language(
    () => narrow,
    () => choice([decimals, long, signed(scientific(-nextUp(-divisor), Number.MAX_VALUE))]),
  );
}

/** The states after the digits of a plain decimal: its remainder, and how many of the `places` after the point have been read. */
function remainders(modulus: number, places: number): AutomatonState[] {
  const states: AutomatonState[] = [];
  const start = 0;
  const zeroWhole = 1;
  const wholeAt = (remainder: number) => 2 + remainder;
  const fractionAt = (remainder: number, place: number) => 2 + modulus * (1 + place) + remainder;
  const isMultiple = (remainder: number, place: number) => (remainder * 10 ** (places - place)) % modulus === 0;
  const point = (remainder: number): [number, number, number] => [0x2e, 0x2e, fractionAt(remainder, 0)];
  const steps = (remainder: number, to: (next: number) => number, from = 0): [number, number, number][] =>
    Array.from({ length: 10 - from }, (_, i) => [0x30 + from + i, 0x30 + from + i, to((remainder * 10 + from + i) % modulus)]);

  states[start] = { isAccepting: false, next: [[0x30, 0x30, zeroWhole], ...steps(0, wholeAt, 1)] };
  states[zeroWhole] = { isAccepting: true, next: [point(0)] };
  for (let remainder = 0; remainder < modulus; remainder++) {
    states[wholeAt(remainder)] = { isAccepting: isMultiple(remainder, 0), next: [...steps(remainder, wholeAt), point(remainder)] };
    for (let place = 0; place <= places; place++) {
      const isLast = place === places;
      const trailing: [number, number, number][] = remainder === 0 ? [[0x30, 0x30, 2 + modulus * (places + 2)]] : [];
      const next = isLast ? trailing : steps(remainder, (to) => fractionAt(to, place + 1));
      states[fractionAt(remainder, place)] = { isAccepting: place > 0 && isMultiple(remainder, place), next };
    }
  }
  states.push({ isAccepting: true, next: [[0x30, 0x30, states.length]] });
  return states;
}

/** Texts of the numbers from `least` (at least 0) to `most` without their sign. */
function magnitudes(least: number, most: number): Regular {
  if (least > most) return never;
  const parts = [plain];
  if (least === Number.MIN_VALUE) parts.push(not(zero));
  else if (least > 0) parts.push(atLeast(least));
  if (most < Number.MAX_VALUE) parts.push(atMost(most));
  return choice([and(parts), scientific(Math.max(least, Number.MIN_VALUE), most)]);
}

/** Texts in scientific notation of the numbers from `least` to `most`, both positive. */
function scientific(least: number, most: number): Regular {
  if (least > most) return never;
  const [low, high] = [decimalOf(least), decimalOf(most)];
  if (low.exponent === high.exponent) {
    return sequence([and([mantissaAtLeast(low.digits), mantissaAtMost(high.digits)]), exponents(low.exponent, low.exponent)]);
  }
  return choice([
    least === Number.MIN_VALUE ? smallest : sequence([mantissaAtLeast(low.digits), exponents(low.exponent, low.exponent)]),
    sequence([nonZero, optional(fraction), exponents(low.exponent + 1, high.exponent - 1)]),
    most === Number.MAX_VALUE ? largest : sequence([mantissaAtMost(high.digits), exponents(high.exponent, high.exponent)]),
  ]);
}

/** Exponents from `first` to `last`, with one leading zero at most. */
function exponents(first: number, last: number): Regular {
  const positive = last < 0 ? never : sequence([optional("+"), optional("0"), wholes(Math.max(first, 0), last)]);
  const negative = first >= 0 ? never : sequence(["-", optional("0"), wholes(Math.max(-last, 1), -first)]);
  return sequence([exponentMark, choice([positive, negative])]);
}

function wholes(first: number, last: number): Regular {
  return first > last ? never : and([wholeAtLeast(String(first), empty, empty), wholeAtMost(String(last), empty, empty)]);
}

function atLeast(bound: number): Regular {
  const { whole, fraction: digits } = pointed(decimalOf(bound));
  return wholeAtLeast(whole, optional(fraction), digits === "" ? optional(fraction) : sequence([".", digitsAtLeast(digits)]));
}

function atMost(bound: number): Regular {
  if (bound === 0) return zero;
  const { whole, fraction: digits } = pointed(decimalOf(bound));
  return wholeAtMost(whole, optional(fraction), digits === "" ? optional(zeroFraction) : optional(sequence([".", digitsAtMost(digits)])));
}

/** Whole parts of at least `bound`: `equal` follows where they are equal, `rest` where they are greater. */
function wholeAtLeast(bound: string, rest: Regular, equal: Regular): Regular {
  let result = equal;
  for (let i = bound.length - 1; i >= 0; i--) {
    const tail = repeat(digit, bound.length - 1 - i, bound.length - 1 - i);
    result = choice([sequence([digits(Number(bound[i]) + 1, 9), tail, rest]), sequence([bound.charAt(i), result])]);
  }
  return choice([result, sequence([nonZero, repeat(digit, bound.length, Infinity), rest])]);
}

/** Whole parts of at most `bound`: `equal` follows where they are equal, `rest` where they are less. */
function wholeAtMost(bound: string, rest: Regular, equal: Regular): Regular {
  let result = equal;
  for (let i = bound.length - 1; i >= 0; i--) {
    const tail = repeat(digit, bound.length - 1 - i, bound.length - 1 - i);
    const least = i === 0 && bound.length > 1 ? 1 : 0;
    result = choice([sequence([digits(least, Number(bound[i]) - 1), tail, rest]), sequence([bound.charAt(i), result])]);
  }
  if (bound.length === 1) return result;
  return choice([result, sequence(["0", rest]), sequence([nonZero, repeat(digit, 0, bound.length - 2), rest])]);
}

/** Digits after a point whose value is at least that of `bound`. */
function digitsAtLeast(bound: string): Regular {
  let result = anyDigits;
  for (let i = bound.length - 1; i >= 0; i--) {
    result = choice([sequence([digits(Number(bound[i]) + 1, 9), anyDigits]), sequence([bound.charAt(i), result])]);
  }
  return result;
}

/** Digits after a point, one at least, whose value is at most that of `bound`. */
function digitsAtMost(bound: string): Regular {
  let result: Regular = repeat("0", 0, Infinity);
  for (let i = bound.length - 1; i >= 0; i--) {
    const isShorter = i > 0 ? [empty] : [];
    result = choice([sequence([digits(0, Number(bound[i]) - 1), anyDigits]), sequence([bound.charAt(i), result]), ...isShorter]);
  }
  return result;
}

function mantissaAtLeast(bound: string): Regular {
  const equal = bound.length === 1 ? optional(fraction) : sequence([".", digitsAtLeast(bound.slice(1))]);
  return choice([sequence([digits(Number(bound[0]) + 1, 9), optional(fraction)]), sequence([bound.charAt(0), equal])]);
}

function mantissaAtMost(bound: string): Regular {
  const equal = bound.length === 1 ? optional(zeroFraction) : optional(sequence([".", digitsAtMost(bound.slice(1))]));
  return choice([sequence([digits(1, Number(bound[0]) - 1), optional(fraction)]), sequence([bound.charAt(0), equal])]);
}

function signed(magnitude: Regular): Regular {
  return choice([magnitude, sequence(["-", and([magnitude, not(zero)])])]);
}

/** One digit from `first` to `last`; no text if there is none. */
function digits(first: number, last: number): Regular {
  return first > last ? never : bytes([[0x30 + first, 0x30 + last]]);
}

/** The shortest decimal that parses to `value`, which is positive. */
function decimalOf(value: number): Decimal {
  const spelled = value.toExponential();
  const end = spelled.indexOf("e");
  const significant = spelled
    .slice(0, end)
    .replace(".", "")
    .replace(/(?<=.)0+$/, "");
  return { digits: significant, exponent: Number(spelled.slice(end + 1)) };
}

/** The digits of a decimal before and after its point. */
function pointed({ digits, exponent }: Decimal): { whole: string; fraction: string } {
  if (exponent < 0) return { whole: "0", fraction: "0".repeat(-exponent - 1) + digits };
  return { whole: digits.slice(0, exponent + 1).padEnd(exponent + 1, "0"), fraction: digits.slice(exponent + 1) };
}
