/** Adds whole blocks of 64 bytes to the eight words of a hash. */
export type Compress = (hash: Int32Array, blocks: Uint8Array) => void;

/** Instructions, nested as they are put together. */
type Code = readonly (number | Code)[];

// Memory: the hash, the next 16 words of the schedule plus their constants, all 64 constants, and blocks.
const scheduleAt = 64;
const constantsAt = 256;
const blocksAt = 512;
const pageBytes = 65_536;
const memoryPages = 2;
const mostBytes = pageBytes;

// Locals: the two parameters, the eight words of the state, four vectors of words, and a vector for what is between them.
const [from, end] = [0, 1];
const stateLocal = 2;
const vectorLocal = 10;
const between = 14;

const [loop, onEmpty, branchIf, endOfBlock] = [0x03, 0x40, 0x0d, 0x0b];
const [add, and, xor, below] = [0x6a, 0x71, 0x73, 0x49];
const get = (local: number): Code => [0x20, local];
const set = (local: number): Code => [0x21, local];
const constant = (value: number): Code => [0x41, signedLeb(value)];
const load = (address: number): Code => [constant(0), 0x28, 2, leb(address)];
const store = (address: number, value: Code): Code => [constant(0), value, 0x36, 2, leb(address)];
const rotated = (word: Code, bits: number): Code => [word, constant(bits), 0x78];

const vectorOp = (number: number): Code => [0xfd, leb(number)];
const [addVectors, xorVectors, shiftLeft, shiftRight] = [vectorOp(0xae), vectorOp(0x51), vectorOp(0xab), vectorOp(0xad)];
const loadVector = (address: Code, offset: number): Code => [address, vectorOp(0x00), 4, leb(offset)];
const storeVector = (address: number, value: Code): Code => [constant(0), value, vectorOp(0x0b), 4, leb(address)];
const zeros: Code = [vectorOp(0x0c), Array<number>(16).fill(0)];
/** Bytes of two vectors by their numbers. */
const bytesOf = (a: Code, b: Code, numbers: readonly number[]): Code => [a, b, vectorOp(0x0d), numbers];
/** Words of two vectors by their numbers. */
const wordsOf = (a: Code, b: Code, numbers: readonly number[]): Code =>
  bytesOf(
    a,
    b,
    numbers.flatMap((word) => [0, 1, 2, 3].map((byte) => 4 * word + byte)),
  );

/** `ROTR(x) ^ ROTR(x) ^ SHR(x)` of four words. */
function smallSigma(x: Code, [first, second, shift]: readonly [number, number, number]): Code {
  const turned = (bits: number): Code => [x, constant(bits), shiftRight, x, constant(32 - bits), shiftLeft, xorVectors];
  return [turned(first), turned(second), xorVectors, x, constant(shift), shiftRight, xorVectors];
}

function largeSigma(x: Code, [first, second, third]: readonly [number, number, number]): Code {
  return [rotated(x, first), rotated(x, second), xor, rotated(x, third), xor];
}

/** The vector of the schedule that has the words of four rounds. */
const words = (fourRounds: number): number => vectorLocal + (fourRounds % 4);

/** Stores the words of four rounds plus their constants, where the rounds read them. */
function storeWords(fourRounds: number): Code {
  const sum = [get(words(fourRounds)), loadVector(constant(0), constantsAt + 16 * fourRounds), addVectors];
  return storeVector(scheduleAt + 16 * (fourRounds % 4), sum);
}

/** Words of four rounds from the 16 before them. The last two of the four depend on the first two. */
function nextWords(fourRounds: number): Code {
  const after = (four: number): Code => get(words(fourRounds + four));
  const [w0, w2, w3] = [after(0), after(2), after(3)];
  const sum = words(fourRounds);
  const addSigma = (of: Code, added: Code): Code => [of, set(between), w0, added, addVectors, set(sum)];
  const sigma1 = smallSigma(get(between), [17, 19, 10]);
  return [
    [wordsOf(w0, after(1), [1, 2, 3, 4]), set(between)],
    [w0, smallSigma(get(between), [7, 18, 3]), addVectors, wordsOf(w2, w3, [1, 2, 3, 4]), addVectors, set(sum)],
    addSigma(wordsOf(w3, w3, [2, 3, 2, 3]), wordsOf(sigma1, zeros, [0, 1, 4, 5])),
    addSigma(wordsOf(w0, w0, [0, 1, 0, 1]), wordsOf(zeros, sigma1, [0, 1, 4, 5])),
  ];
}

function round(number: number): Code {
  // In place of moving the words of the state, their names move.
  const local = (name: number): number => stateLocal + ((name - number) & 7);
  const word = (name: number): Code => get(local(name));
  const [a, b, c, d] = [word(0), word(1), word(2), word(3)];
  const [e, f, g, h] = [word(4), word(5), word(6), word(7)];
  const choice = [g, e, f, g, xor, and, xor];
  const majority = [a, b, and, c, a, b, xor, and, xor];
  return [
    [h, load(scheduleAt + 4 * (number % 16)), add, choice, add, largeSigma(e, [6, 11, 25]), add, set(local(7))],
    [d, h, add, set(local(3))],
    [h, largeSigma(a, [2, 13, 22]), add, majority, add, set(local(7))],
  ];
}

/** Code of `hash(from, end)`, which hashes the blocks at these addresses. At least one. */
function hashCode(): Code {
  const state = [0, 1, 2, 3, 4, 5, 6, 7];
  const bigEndian = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];
  const block = [0, 1, 2, 3].map((four) => [
    [loadVector(get(from), 16 * four), set(between), bytesOf(get(between), get(between), bigEndian), set(words(four))],
    storeWords(four),
  ]);
  const rounds = Array.from({ length: 64 }, (_, number) => {
    const isFourth = number % 4 === 3 && number < 48;
    const four = (number - 3) / 4;
    return [round(number), isFourth ? [nextWords(four), storeWords(four + 4)] : []];
  });
  return [
    state.map((i) => [load(4 * i), set(stateLocal + i)]),
    [loop, onEmpty, block, rounds],
    state.map((i) => [load(4 * i), get(stateLocal + i), add, set(stateLocal + i), store(4 * i, get(stateLocal + i))]),
    [get(from), constant(64), add, set(from), get(from), get(end), below, branchIf, 0, endOfBlock, endOfBlock],
  ];
}

/** A module with the function `hash` and the memory `memory`. */
function moduleBytes(): Uint8Array<ArrayBuffer> {
  const [i32, v128, functionType] = [0x7f, 0x7b, 0x60];
  const sized = (code: Code): Code => [leb(flat(code).length), code];
  const section = (number: number, ...entries: readonly Code[]): Code => [number, sized([entries.length, entries])];
  const name = (text: string): Code => sized([...new TextEncoder().encode(text)]);
  const body = [2, [8, i32], [5, v128], hashCode()];
  return Uint8Array.from(
    flat([
      [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      section(1, [functionType, 2, i32, i32, 0]),
      section(3, [0]),
      section(5, [0, memoryPages]),
      section(7, [name("memory"), 2, 0], [name("hash"), 0, 0]),
      section(10, sized(body)),
    ]),
  );
}

const flat = (code: Code): number[] => code.flat(Number.POSITIVE_INFINITY as 20) as number[];

function leb(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, leb(value >>> 7)];
}

function signedLeb(value: number): Code {
  return value >= -0x40 && value < 0x40 ? [value & 0x7f] : [(value & 0x7f) | 0x80, signedLeb(value >> 7)];
}

/**
 * Compiles SHA-256 with four words of the message schedule at a time.
 * @throws {Error} where WebAssembly is missing, lacks SIMD, or is forbidden by a Content-Security-Policy
 */
export async function compileCompress(constants: Int32Array): Promise<Compress> {
  const { instance } = await WebAssembly.instantiate(moduleBytes());
  const { memory, hash } = instance.exports as { memory: WebAssembly.Memory; hash(from: number, end: number): void };
  const state = new Int32Array(memory.buffer, 0, 8);
  const blocks = new Uint8Array(memory.buffer, blocksAt, mostBytes);
  new Int32Array(memory.buffer, constantsAt, 64).set(constants);
  return (hashed, bytes) => {
    state.set(hashed);
    for (let at = 0; at < bytes.length; at += mostBytes) {
      const part = bytes.subarray(at, at + mostBytes);
      blocks.set(part);
      hash(blocksAt, blocksAt + part.length);
    }
    hashed.set(state);
  };
}
