/**
 * Just enough of ONNX's protobuf to write one-op and chained graphs. Field numbers: `onnx.proto` of onnx 1.17.
 */

/** A tensor that is part of the model. */
export interface Initializer {
  readonly name: string;
  readonly type: "f32" | "u8";
  readonly shape: readonly number[];
  readonly data: Uint8Array;
}

export interface OnnxNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly output: string;
  /** Attributes: whole numbers and texts. */
  readonly attributes?: Readonly<Record<string, number | string>>;
  /** Empty for ONNX's own ops. */
  readonly domain?: string;
}

export interface OnnxGraph {
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  readonly outputs: Readonly<Record<string, readonly number[]>>;
  readonly initializers: readonly Initializer[];
  readonly nodes: readonly OnnxNode[];
}

const elementTypes = { f32: 1, u8: 2 } as const;

/** The model in binary form: opset 20, and opset 1 of `com.microsoft`. */
export function onnxModel({ inputs, outputs, initializers, nodes }: OnnxGraph): Uint8Array {
  const graph = join([
    ...nodes.map((node) => field(1, nodeBytes(node))),
    field(2, utf8("bench")),
    ...initializers.map((initializer) => field(5, initializerBytes(initializer))),
    ...Object.entries(inputs).map(([name, shape]) => field(11, valueBytes(name, shape))),
    ...Object.entries(outputs).map(([name, shape]) => field(12, valueBytes(name, shape))),
  ]);
  return join([
    number(1, 9),
    field(8, join([field(1, utf8("")), number(2, 20)])),
    field(8, join([field(1, utf8("com.microsoft")), number(2, 1)])),
    field(7, graph),
  ]);
}

function nodeBytes({ op, inputs, output, attributes = {}, domain = "" }: OnnxNode): Uint8Array {
  return join([
    ...inputs.map((name) => field(1, utf8(name))),
    field(2, utf8(output)),
    field(4, utf8(op)),
    ...Object.entries(attributes).map(([name, value]) =>
      field(
        5,
        join([
          field(1, utf8(name)),
          ...(typeof value === "number" ? [number(3, value), number(20, 2)] : [field(4, utf8(value)), number(20, 3)]),
        ]),
      ),
    ),
    field(7, utf8(domain)),
  ]);
}

function initializerBytes({ name, type, shape, data }: Initializer): Uint8Array {
  return join([...shape.map((extent) => number(1, extent)), number(2, elementTypes[type]), field(8, utf8(name)), field(9, data)]);
}

function valueBytes(name: string, shape: readonly number[]): Uint8Array {
  const dims = join(shape.map((extent) => field(1, number(1, extent))));
  return join([field(1, utf8(name)), field(2, field(1, join([number(1, elementTypes.f32), field(2, dims)])))]);
}

/** A length-delimited field. */
function field(id: number, content: Uint8Array): Uint8Array {
  return join([varint(id * 8 + 2), varint(content.length), content]);
}

function number(id: number, value: number): Uint8Array {
  return join([varint(id * 8), varint(value)]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Uint8Array.from([...bytes, rest]);
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
