/** Why a value is not valid, as a validation library says it. */
export interface ValidationIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * A type of a validation library, such as Zod's, with the interface of standardschema.dev: it converts itself to JSON Schema and validates
 * values.
 */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => ValidationResult<Output> | Promise<ValidationResult<Output>>;
    /** Absent in libraries that do not convert their types. */
    readonly jsonSchema?:
      | { readonly input: (options: { readonly target: "draft-2020-12" }) => Readonly<Record<string, unknown>> }
      | undefined;
  };
}

/** A valid value, or the reasons why it is not. */
export type ValidationResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly ValidationIssue[] };

/**
 * The type of the values that are valid under a schema: that of a validation library, or that of a literal JSON Schema as far as `type`,
 * `properties`, `required`, `items`, `prefixItems`, `enum`, `const`, `anyOf`, `oneOf` and `allOf` say it. Other schemas are `unknown`.
 */
export type SchemaValue<Schema> =
  Schema extends StandardSchema<infer Output>
    ? Output
    : Schema extends { readonly const: infer Value }
      ? Value
      : Schema extends { readonly enum: readonly (infer Value)[] }
        ? Value
        : Schema extends { readonly anyOf: readonly (infer Option)[] }
          ? SchemaValue<Option>
          : Schema extends { readonly oneOf: readonly (infer Option)[] }
            ? SchemaValue<Option>
            : Schema extends { readonly allOf: readonly [infer First, ...infer Rest] }
              ? SchemaValue<First> & SchemaValue<{ readonly allOf: Rest }>
              : Schema extends { readonly type: infer Type }
                ? TypeValue<Type, Schema>
                : unknown;

type TypeValue<Type, Schema> = Type extends readonly (infer Each)[]
  ? TypeValue<Each, Schema>
  : Type extends keyof Scalars
    ? Scalars[Type]
    : Type extends "array"
      ? ArrayValue<Schema>
      : Type extends "object"
        ? ObjectValue<Schema>
        : unknown;

interface Scalars {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
}

type ArrayValue<Schema> = Schema extends { readonly prefixItems: infer Items extends readonly unknown[]; readonly items: false }
  ? { -readonly [Index in keyof Items]: SchemaValue<Items[Index]> }
  : Schema extends { readonly items: infer Item }
    ? SchemaValue<Item>[]
    : unknown[];

type ObjectValue<Schema> = Schema extends { readonly properties: infer Properties }
  ? PropertyValues<Properties, Schema extends { readonly required: readonly (infer Name)[] } ? Name : never>
  : Schema extends { readonly additionalProperties: infer Values }
    ? Record<string, SchemaValue<Values>>
    : Record<string, unknown>;

type PropertyValues<Properties, Required> = Flat<
  { -readonly [Name in keyof Properties as Name extends Required ? Name : never]: SchemaValue<Properties[Name]> } & {
    -readonly [Name in keyof Properties as Name extends Required ? never : Name]?: SchemaValue<Properties[Name]>;
  }
>;

type Flat<T> = { [Name in keyof T]: T[Name] };

/** The type of `finish.value` for a format. */
export type FormatValue<Format> = Format extends { readonly schema: infer Schema } ? SchemaValue<Schema> : unknown;
