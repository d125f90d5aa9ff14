import { describe, expect, test, vi } from "vitest";
import { DisposedError, GgufError, isNumericArray, type Metadata, readGguf, StringTable } from "../src/index.ts";
import { everything, writeGguf } from "./writer.ts";

function thrown(run: () => unknown): GgufError {
  try {
    run();
  } catch (error) {
    if (error instanceof GgufError) return error;
    throw error;
  }
  return expect.fail("nothing was thrown");
}

describe.each([2, 3])("version %i", (version) => {
  test("reads every value type", async () => {
    const { metadata } = await readGguf(writeGguf({ ...everything, version }));
    expect(metadata.size).toBe(everything.metadata!.length);
    expect([...metadata.keys()]).toEqual(everything.metadata!.map(([key]) => key));
    const scalars = everything.metadata!.filter(([, type]) => type !== "array");
    for (const [key, type] of scalars) expect(metadata.entry(key)?.type).toBe(type);
    expect(metadata.get("a.u8")).toBe(255);
    expect(metadata.get("a.i8")).toBe(-128);
    expect(metadata.get("a.u16")).toBe(65535);
    expect(metadata.get("a.i16")).toBe(-32768);
    expect(metadata.get("a.u32")).toBe(4294967295);
    expect(metadata.get("a.i32")).toBe(-2147483648);
    expect(metadata.get("a.f32")).toBe(0.5);
    expect(metadata.get("a.f64")).toBe(Math.PI);
    expect(metadata.get("a.bool")).toBe(true);
    expect(metadata.get("a.u64")).toBe(Number.MAX_SAFE_INTEGER);
    expect(metadata.get("a.u64.large")).toBe(18446744073709551615n);
    expect(metadata.get("a.i64")).toBe(-9223372036854775808n);
    expect(metadata.get("general.name")).toBe("Día ☀ 😀");
    expect(metadata.get("scores")).toEqual(Float32Array.of(0, -1.5, Number.NaN));
    expect(metadata.get("types")).toEqual(Int32Array.of(1, -2, 3));
    expect(metadata.get("bytes")).toEqual(Uint8Array.of(1, 2, 255));
    expect(metadata.get("longs")).toEqual(BigUint64Array.of(1n, 9007199254740993n));
    expect(metadata.get("flags")).toEqual([true, false]);
    expect(metadata.get("empty")).toEqual(new Uint32Array(0));
    const [shorts, arrays] = metadata.get("nested") as unknown[];
    expect(shorts).toEqual(Int16Array.of(1, 2));
    expect((arrays as StringTable[])[0]!.toArray()).toEqual(["deep"]);
  });

  test("reads tensor infos and data", async () => {
    const file = await readGguf(writeGguf({ ...everything, version }));
    expect(file.version).toBe(version);
    expect(file.dataOffset % 32).toBe(0);
    expect(file.tensors.map(({ name, type, shape, elements, bytes }) => ({ name, type, shape, elements, bytes }))).toEqual([
      { name: "vector", type: "f32", shape: [5], elements: 5, bytes: 20 },
      { name: "matrix", type: "q8_0", shape: [3, 64], elements: 192, bytes: 204 },
      { name: "cube", type: "f16", shape: [2, 3, 4], elements: 24, bytes: 48 },
      { name: "scalar", type: "i32", shape: [], elements: 1, bytes: 4 },
      { name: "empty", type: "f32", shape: [0, 4], elements: 0, bytes: 0 },
    ]);
    expect(file.tensor("matrix").offset).toBe(file.dataOffset + 32);
    const counting = (n: number): Uint8Array => Uint8Array.from({ length: n }, (_, i) => i);
    expect(await file.readTensor("matrix")).toEqual(counting(204));
    expect(await file.readTensor(file.tensor("cube"), { offset: 40 })).toEqual(counting(48).subarray(40));
    expect(await file.readTensor("cube", { offset: 2, length: 3 })).toEqual(Uint8Array.of(2, 3, 4));
    expect(await file.readTensor("empty")).toEqual(new Uint8Array(0));
    expect(file.hasTensor("cube")).toBe(true);
    expect(file.optionalTensor("cubes")).toBeUndefined();
  });
});

test("strings keep their bytes, a leading U+FEFF too", async () => {
  const { metadata } = await readGguf(writeGguf(everything));
  const tokens = metadata.strings("tokens");
  expect(tokens.length).toBe(5);
  expect(tokens.toArray()).toEqual(["", "a", "\ufeff", "ñandú", "日本"]);
  expect(tokens.bytes(2)).toEqual(Uint8Array.of(0xef, 0xbb, 0xbf));
  expect(tokens.bytes(0)).toEqual(new Uint8Array(0));
  expect([tokens.at(5), tokens.at(-1), tokens.bytes(5)]).toEqual([undefined, undefined, undefined]);
  expect([tokens.indexOf("日本"), tokens.indexOf(""), tokens.indexOf("b")]).toEqual([4, 0, -1]);
});

test("strings that are decoded together are those that are decoded one by one", () => {
  // The end of the first text and the length of the second one would be a character.
  const broken = [Uint8Array.of(0x61, 0xc3), new Uint8Array(0xa9).fill(0x62), Uint8Array.of(0x80, 0xff)];
  const plain = Array.from({ length: 600 }, (_, i) => new TextEncoder().encode(["", "Ġthe", "日本", "😀", "\ufeff", "ñ", `t${i}`][i % 7]));
  const far = [new TextEncoder().encode("é".repeat(100)), new TextEncoder().encode("\ufffd")];
  const texts = [...broken, ...plain, ...far, ...plain];
  const starts = new Uint32Array(texts.length + 1);
  texts.forEach((text, i) => {
    starts[i + 1] = (starts[i] || 8) + text.length + 8;
  });
  starts[0] = 8;
  const bytes = new Uint8Array(starts.at(-1)!);
  texts.forEach((text, i) => {
    new DataView(bytes.buffer).setBigUint64(starts[i]! - 8, BigInt(text.length), true);
    bytes.set(text, starts[i]);
  });
  const table = new StringTable(bytes, starts);
  expect(table.toArray()).toEqual(texts.map((_, i) => table.at(i)));
});

test("chunks are whole blocks and make up the tensor", async () => {
  const file = await readGguf(writeGguf(everything));
  const offsets: number[] = [];
  const parts: number[] = [];
  for await (const { offset, bytes } of file.readTensorChunks("matrix", { chunkBytes: 100 })) {
    offsets.push(offset);
    expect(bytes.length % 34).toBe(0);
    expect(bytes.length).toBeLessThanOrEqual(100);
    parts.push(...bytes);
  }
  expect(offsets).toEqual([0, 68, 136]);
  expect(Uint8Array.from(parts)).toEqual(await file.readTensor("matrix"));
  expect(await file.readTensorF32("matrix", { chunkBytes: 1 })).toEqual(await file.readTensorF32("matrix"));
  await expect(file.readTensorChunks("matrix", { chunkBytes: 0 }).next()).rejects.toMatchObject({ code: "argument" });
});

test("dequantises by the tensor's type", async () => {
  const data = Uint8Array.from([0x00, 0x3c, 0x00, 0xc0, 0x00, 0x38]);
  const file = await readGguf(
    writeGguf({
      tensors: [
        { name: "h", type: "f16", shape: [3], data },
        { name: "i", type: "i32", shape: [1] },
        { name: "c", type: "f64", shape: [1] },
      ],
    }),
  );
  expect(await file.readTensorF32("h")).toEqual(Float32Array.of(1, -2, 0.5));
  await expect(file.readTensorF32("i")).rejects.toMatchObject({ code: "unsupported-type" });
  await expect(file.readTensorF32("c")).rejects.toThrow(/'c' .*f64/);
});

describe("metadata getters", () => {
  const read = async (): Promise<Metadata> => (await readGguf(writeGguf(everything))).metadata;

  test("give values of their type", async () => {
    const metadata = await read();
    expect(metadata.string("general.architecture")).toBe("test");
    expect(metadata.number("a.f32")).toBe(0.5);
    expect(metadata.number("a.i8")).toBe(-128);
    expect(metadata.count("a.u16")).toBe(65535);
    expect(metadata.bool("a.bool")).toBe(true);
    expect(metadata.bools("flags")).toEqual([true, false]);
    expect([...metadata.numbers("types")]).toEqual([1, -2, 3]);
    expect(metadata.strings("tokens")).toBeInstanceOf(StringTable);
    expect(isNumericArray(metadata.get("longs")!)).toBe(true);
  });

  test("optional ones give undefined for a missing key only", async () => {
    const metadata = await read();
    expect(metadata.optionalString("no")).toBeUndefined();
    expect(metadata.optionalNumber("no")).toBeUndefined();
    expect(metadata.optionalCount("no")).toBeUndefined();
    expect(metadata.optionalBool("no")).toBeUndefined();
    expect(metadata.optionalStrings("no")).toBeUndefined();
    expect(metadata.optionalNumbers("no")).toBeUndefined();
    expect(metadata.optionalBools("no")).toBeUndefined();
    expect(thrown(() => metadata.optionalString("a.u8")).code).toBe("wrong-type");
  });

  test("errors name the key and the type found", async () => {
    const metadata = await read();
    expect(thrown(() => metadata.string("no.such")).message).toMatch(/a string for key 'no.such', got no such key/);
    expect(thrown(() => metadata.string("a.u8")).message).toBe("gguf: expected a string for key 'a.u8', got u8 255");
    expect(thrown(() => metadata.number("tokens")).message).toMatch(/'tokens', got array of 5 string/);
    expect(thrown(() => metadata.number("a.u64.large")).message).toMatch(/below 2\^53.*18446744073709551615/);
    expect(thrown(() => metadata.count("a.i8")).message).toMatch(/>= 0.*i8 -128/);
    expect(thrown(() => metadata.count("a.f32")).code).toBe("wrong-type");
    expect(thrown(() => metadata.strings("scores")).message).toMatch(/array of 3 f32/);
    expect(thrown(() => metadata.numbers("longs")).code).toBe("wrong-type");
    expect(thrown(() => metadata.bools("nested")).message).toMatch(/array of 2 array/);
    expect(thrown(() => metadata.bool("a.u8")).code).toBe("wrong-type");
  });
});

test("tensor look-ups and ranges that do not exist are errors", async () => {
  const file = await readGguf(writeGguf(everything));
  expect(thrown(() => file.tensor("nope")).message).toMatch(/'nope', got none among 5/);
  await expect(file.readTensor("nope")).rejects.toMatchObject({ code: "missing" });
  for (const options of [{ offset: 205 }, { offset: -1 }, { length: 205 }, { offset: 4, length: 201 }, { offset: 0.5 }]) {
    await expect(file.readTensor("matrix", options)).rejects.toMatchObject({ code: "range" });
  }
});

test("another alignment is followed", async () => {
  const tensors = [
    { name: "a", type: "f32", shape: [1] },
    { name: "b", type: "f32", shape: [1] },
  ] as const;
  const file = await readGguf(writeGguf({ metadata: [["general.alignment", "u32", 256]], tensors, alignment: 256 }));
  expect(file.alignment).toBe(256);
  expect(file.dataOffset % 256).toBe(0);
  expect(file.tensor("b").offset - file.tensor("a").offset).toBe(256);
});

test("a vocabulary of 256K tokens is read without decoding it", async () => {
  const count = 262144;
  const values = Array.from({ length: count }, (_, i) => `token${i}`);
  const bytes = writeGguf({ metadata: [["tokens", "array", { of: "string", values }]] });
  const decode = vi.spyOn(TextDecoder.prototype, "decode");
  const { metadata } = await readGguf(bytes);
  const decoded = decode.mock.calls.length;
  decode.mockRestore();
  expect(decoded).toBeLessThan(10);
  expect(metadata.strings("tokens").at(count - 1)).toBe(`token${count - 1}`);
});

test("a closed file cannot be read, regardless of what it was opened from", async () => {
  const file = await readGguf(writeGguf(everything));
  await file.close();
  await expect(file.readTensor("matrix")).rejects.toBeInstanceOf(DisposedError);
  await expect(file.readTensorF32("matrix")).rejects.toThrow("file: used after close(); keep the handle alive until its last use");
});
