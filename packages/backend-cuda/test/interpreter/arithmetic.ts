const comparisons: Readonly<Record<string, string>> = { eq: "===", ne: "!==", neu: "!==", lt: "<", le: "<=", gt: ">", ge: ">=" };

/** Arithmetic with pairs of f16: sums and products are exact as f64. */
const pairOperations: Readonly<Record<string, string>> = { add: "(a, b) => a + b", mul: "(a, b) => a * b", fma: "$oddFma" };

/** An instruction's result from its operands as JavaScript, or undefined for an unknown instruction. `parts` are those of its name. */
export function expression(name: string, parts: readonly string[], a: string, b: string, c: string): string | undefined {
  const type = parts.at(-1)!;
  const wrap = (value: string): string => {
    if (type === "u32") return `((${value}) >>> 0)`;
    if (type === "s32") return `((${value}) | 0)`;
    return type === "f32" ? `Math.fround(${value})` : `(${value})`;
  };
  const isRounded = parts[1] === "rn";
  const isFloat = type === "f32" || type === "f64";
  if (type === "f16x2" && isRounded && pairOperations[parts[0]!] !== undefined)
    return `$ofPairs(${pairOperations[parts[0]!]}, ${a}, ${b}, ${c})`;
  switch (parts[0]) {
    case "add":
    case "sub":
      return isFloat === isRounded ? wrap(`${a} ${parts[0] === "add" ? "+" : "-"} ${b}`) : undefined;
    case "mul":
      if (parts[1] === "lo") return wrap(`Math.imul(${a}, ${b})`);
      if (name === "mul.hi.u32") return `Number((BigInt(${a}) * BigInt(${b})) >> 32n)`;
      return isRounded ? wrap(`${a} * ${b}`) : undefined;
    case "div":
      return isRounded ? wrap(`${a} / ${b}`) : type === "u32" ? `(${b} === 0 ? 4294967295 : Math.floor(${a} / ${b}))` : undefined;
    case "rem":
      return type === "u32" ? `(${b} === 0 ? ${a} : ${a} % ${b})` : undefined;
    case "fma":
      return isRounded ? wrap(`${a} * ${b} + ${c}`) : undefined;
    case "mad":
      if (name === "mad.lo.u32") return wrap(`Math.imul(${a}, ${b}) + ${c}`);
      return name === "mad.wide.u32" ? `(${a} * ${b} + ${c})` : undefined;
    case "min":
    case "max":
      return isFloat === (parts[1] === "NaN") ? `Math.${parts[0]}(${a}, ${b})` : undefined;
    case "dp4a":
      return name === "dp4a.s32.s32" ? `$dotBytes(${a}, ${b}, ${c})` : undefined;
    case "neg":
      return type === "s32" ? `(-${a} | 0)` : `(-${a})`;
    case "abs":
      return `Math.abs(${a})`;
    case "sqrt":
      return name === "sqrt.rn.f32" ? wrap(`Math.sqrt(${a})`) : undefined;
    case "ex2":
      return name === "ex2.approx.ftz.f32" ? wrap(`2 ** ${a}`) : undefined;
    case "lg2":
      return name === "lg2.approx.f32" ? wrap(`Math.log2(${a})`) : undefined;
    case "and":
    case "or": {
      const sign = parts[0] === "and" ? "&" : "|";
      if (type === "pred") return `(${a} ${sign}${sign} ${b})`;
      return type === "b32" ? `((${a} ${sign} ${b}) >>> 0)` : undefined;
    }
    case "xor":
      return type === "b32" ? `((${a} ^ ${b}) >>> 0)` : undefined;
    case "not":
      return type === "pred" ? `(!${a})` : undefined;
    case "shl":
      return `(${b} > 31 ? 0 : (${a} << ${b}) >>> 0)`;
    case "shr":
      return type === "s32" ? `(${a} >> Math.min(${b}, 31))` : `(${b} > 31 ? 0 : ${a} >>> ${b})`;
    case "selp":
      return `(${c} ? ${a} : ${b})`;
    case "setp":
      if (parts[1] === "nan") return `Number.isNaN(${a})`;
      return comparisons[parts[1]!] === undefined ? undefined : `(${a} ${comparisons[parts[1]!]} ${b})`;
    case "cvta":
      return a;
    case "prmt":
      return name === "prmt.b32" ? `$pickBytes(${a}, ${b}, ${c})` : undefined;
    case "cvt":
      if (name === "cvt.rn.f16x2.f32") return `(($toF16(${a}) << 16 | $toF16(${b})) >>> 0)`;
      if (name === "cvt.rn.bf16x2.f32") return `(($toBf16(${a}) << 16 | $toBf16(${b})) >>> 0)`;
      return conversion(name, a);
    default:
      return undefined;
  }
}

function conversion(name: string, a: string): string | undefined {
  switch (name) {
    case "cvt.rni.f32.f32":
      return `$even(${a})`;
    case "cvt.rmi.f32.f32":
    case "cvt.rmi.f64.f64":
      return `Math.floor(${a})`;
    case "cvt.rpi.f32.f32":
      return `Math.ceil(${a})`;
    case "cvt.rzi.f32.f32":
      return `Math.trunc(${a})`;
    case "cvt.rzi.s32.f32":
      return `$clampS32(Math.trunc(${a}))`;
    case "cvt.rzi.u32.f32":
    case "cvt.rzi.u32.f64":
      return `$clampU32(Math.trunc(${a}))`;
    case "cvt.rn.f32.u32":
    case "cvt.rn.f32.s32":
      return `Math.fround(${a})`;
    case "cvt.rn.f64.u32":
    case "cvt.f64.f32":
    case "cvt.u32.u16":
      return a;
    case "cvt.u16.u32":
      return `(${a} & 65535)`;
    case "cvt.s32.u32":
      return `(${a} | 0)`;
    case "cvt.u32.s32":
    case "cvt.u32.u64":
      return `(${a} >>> 0)`;
    case "cvt.f32.f16":
      return `$f16(${a})`;
    case "cvt.rn.f16.f32":
      return `$toF16(${a})`;
    case "cvt.rna.tf32.f32":
      return `$toTf32(${a})`;
    default:
      return undefined;
  }
}
