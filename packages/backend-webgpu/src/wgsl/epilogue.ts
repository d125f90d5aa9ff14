import type { DimValues } from "@centella/core";
import type { Epilogue } from "@centella/gpu-kernels";
import type { Binding, Field } from "../kernels/shared/kernel.ts";
import { WgslEmitter } from "./emitter.ts";
import { bindingsOf, dtypesOf, Uniforms } from "./gpuKernel.ts";

/** An epilogue as a function of WGSL, for kernels that are written as text. */
export interface EpilogueText {
  readonly bindings: readonly Binding[];
  readonly uniforms: Readonly<Record<string, Field["type"]>>;
  /** Functions, block by block. */
  readonly declarations: readonly string[];
  values(dims: DimValues): Record<string, number>;
}

/**
 * `fn <name>(i: u32, <parameters>: f32, …) -> f32`. `results` are expressions of the op's results at element i, by default the
 * parameters. The name also keeps uniforms of several epilogues apart.
 */
export function epilogueText(
  epilogue: Epilogue,
  {
    name,
    parameters,
    results = parameters,
  }: { readonly name: string; readonly parameters: readonly string[]; readonly results?: readonly string[] },
): EpilogueText {
  const k = new WgslEmitter(dtypesOf(epilogue.args));
  const scope = new Uniforms(k, `${name}_`);
  const index = k.define("u32", "i");
  const values = results.map((result) => k.define("f32", result));
  const result = epilogue.apply(scope, index, values);
  const head = `fn ${name}(i: u32, ${parameters.map((parameter) => `${parameter}: f32`).join(", ")}) -> f32`;
  return {
    bindings: bindingsOf(epilogue.args, k),
    uniforms: scope.types,
    declarations: [...k.declarations, `${head} {\n${k.lines.join("\n")}\nreturn ${result};\n}`],
    values: (dims) => scope.values(dims),
  };
}

interface StoreOptions {
  /** Expressions of the op's results at element i. Default: the values. */
  readonly results?: readonly string[];
  /** Number of values that are stored as one element. Default: 1. */
  readonly values?: number;
  /** Last part of the names `store`, `y` and `epilogue`. Default: none. */
  readonly suffix?: string;
}

/** `fn store(i: u32, value: f32)`, which writes element i of `y` after the epilogue; of several values, `value0`, `value1`, …. */
export function storeText(epilogue: Epilogue | undefined, { results, values = 1, suffix = "" }: StoreOptions = {}): EpilogueText {
  const store = (parameters: string, value: string): string => `fn store${suffix}(i: u32, ${parameters}) { y${suffix}[i] = ${value}; }`;
  if (epilogue === undefined) return { bindings: [], uniforms: {}, declarations: [store("value: f32", "value")], values: () => ({}) };
  const numbers = values === 1 ? [""] : Array.from({ length: values }, (_, n) => `${n}`);
  const name = `epilogue${suffix}`;
  const text = epilogueText(epilogue, { name, parameters: numbers.map((n) => `result${n}`), ...(results && { results }) });
  const given = numbers.map((n) => `value${n}`);
  const stored = store(given.map((value) => `${value}: f32`).join(", "), `${name}(i, ${given.join(", ")})`);
  return { ...text, declarations: [...text.declarations, stored] };
}
