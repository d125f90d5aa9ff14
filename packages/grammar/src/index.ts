export type { Budget } from "./budget.ts";
export { type CompileOptions, compile } from "./constraint/compile.ts";
export type { Constraint } from "./constraint/constraint.ts";
export type { Matcher } from "./constraint/matcher.ts";
export { GrammarError, type GrammarErrorCode, type GrammarErrorPlace } from "./errors.ts";
export {
  and,
  anyCodePoint,
  anyText,
  automaton,
  bytes,
  choice,
  codePoints,
  empty,
  isRegular,
  never,
  not,
  optional,
  reference,
  repeat,
  sequence,
  terminal,
  text,
} from "./expression/builders.ts";
export { anyTextUntil, type Tag, type TaggedOptions, tagged } from "./expression/combinators.ts";
export { combine } from "./expression/combine.ts";
export type {
  AndExpression,
  AutomatonExpression,
  AutomatonState,
  BytesExpression,
  ChoiceExpression,
  CodePointsExpression,
  Expression,
  Grammar,
  Item,
  NotExpression,
  Range,
  ReferenceExpression,
  Regular,
  RegularItem,
  RepeatExpression,
  SequenceExpression,
  TerminalExpression,
  TextExpression,
} from "./expression/types.ts";
export { fromGbnf } from "./gbnf/fromGbnf.ts";
export type { JsonSchema, SchemaWarning } from "./json/documents.ts";
export { stringFormat } from "./json/formats.ts";
export { fromJsonSchema, type JsonSchemaGrammar, type JsonSchemaOptions } from "./json/fromJsonSchema.ts";
export { fromLark, type LarkGrammar, type LarkOptions } from "./lark/fromLark.ts";
export { type JsonValue, PartialJson, partialJson } from "./partial/partialJson.ts";
export { fromRegex, type RegexOptions } from "./regex/fromRegex.ts";
export { isNever, matches } from "./regular/decide.ts";
export { type Vocabulary, type VocabularyOptions, vocabulary } from "./vocabulary/vocabulary.ts";
