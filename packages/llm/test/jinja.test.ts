import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Text } from "../src/chat/jinja/text.ts";
import { JinjaTemplate } from "../src/chat/templateRuntime.ts";
import { describeShared, shared } from "./shared.ts";

const now = new Date(2024, 6, 5, 13, 4, 9);

function render(source: string, variables: Record<string, unknown> = {}): string {
  return new JinjaTemplate(source).render(variables, now).value;
}

/** A template and what Python's Jinja 3.1 renders it to, with the options of transformers. */
const cases: readonly (readonly [source: string, expected: string])[] = [
  // White space.
  ["a\n", "a"],
  ["{% if true %}\na\n{% endif %}\nb", "a\nb"],
  ["  {% if true %}a{% endif %}  {# c #}\nb", "a  b"],
  ["a  {%- if true -%}  b  {%- endif -%}  c", "abc"],
  ["a\n  {{- 1 -}}\n b", "a1b"],
  ["  {%+ if true %}x{% endif +%}\ny", "  x\ny"],
  ["{% raw %}{{ x }}{% endraw %}", "{{ x }}"],
  // Literals and operators.
  ["{{ 1 + 2 * 3 ** 2 // 4 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 4 / 2 }}", "5 -4 2 3.5 2.0"],
  ["{{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 1.5e3 }} {{ 1_000 }} {{ 1e16 }} {{ 0.00001 }}", "64 4 1500.0 1000 1e+16 1e-05"],
  ["{{ 'a' 'b' ~ 1 ~ none ~ true }} {{ 'ab' * 2 }} {{ [1] * 2 }}", "ab1NoneTrue abab [1, 1]"],
  ["{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 2 in [1, 2] }} {{ 3 not in [1, 2] }} {{ 'b' in 'abc' }}", "True False True True True"],
  ["{{ not x is defined }} {{ x is not defined and 1 }} {{ 1 if false }}|{{ 1 if x else 2 if x else 3 }}", "True 1 |3"],
  ["{{ (1, 'a', [none], {'k': 1.0}) }} {{ (1,) }} {{ () }}", "(1, 'a', [None], {'k': 1.0}) (1,) ()"],
  ["{{ [\"it's\", 'a\\n\\\\b', '\\u00e9'] }}", "[\"it's\", 'a\\n\\\\b', 'é']"],
  ["{{ '\\x41\\u0042\\q' }}", "AB\\q"],
  // Members and slices count characters, not UTF-16 units.
  ["{{ 'a😀b'[1] }} {{ 'a😀b'[::-1] }} {{ 'a😀b' | length }} {{ 'abc'[-2:] }} {{ [1, 2, 3][::2] }}", "😀 b😀a 3 bc [1, 3]"],
  [
    "{{ '😀ab'[1:] }} {{ '😀ab'[-2] }} {{ 'a😀b'.find('b') }} {{ 'abc'[5:] }}|{{ 'abc'[2:1] }}|{{ 'abc'[-9:2] }} {{ '😀a'.replace('', '-') }}",
    "ab a 2 ||ab -😀-a-",
  ],
  [
    "{{ [1, 2, 3][-2:] }} {{ [1, 2, 3][::-1] }} {{ [1, 2, 3][5::-2] }} {{ [1, 2, 3][:-9:-1] }} {{ 'abc'[3] }}|{{ (1, 2, 3)[:2] }}",
    "[2, 3] [3, 2, 1] [3, 1] [3, 2, 1] |(1, 2)",
  ],
  ["{{ {'a': {'b': [1, 2]}}.a.b.1 }} {{ {'items': 1}['items'] }} {{ {'a': 1}.get('b', 2) }} {{ {'a': none}['a'] }}", "2 1 2 None"],
  // Statements.
  ["{% for a, b in [(1, 2), (3, 4)] %}{{ loop.index }}{{ a + b }}{% if not loop.last %},{% endif %}{% endfor %}", "13,27"],
  ["{% for x in [1, 2, 3, 4] if x % 2 == 0 %}{{ loop.length }}{{ x }}{% else %}none{% endfor %}", "2224"],
  ["{% for x in [] %}{% else %}none{% endfor %}{% for x in nothing %}x{% endfor %}", "none"],
  ["{% for x in [1, 2, 3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "13"],
  ["{% for x in [1, 2, 3] %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}", "1"],
  ["{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}{% if true %}{% set x = 3 %}{% endif %}{{ x }}", "13"],
  ["{% set ns = namespace(a=1) %}{% for i in [1, 2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}", "4"],
  ["{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c | upper %}x{{ a }}{% endset %}{{ c }}", "12X1"],
  ["{% macro f(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f(1) }} {{ f(1, b=3) }} {{ f(*[4], **{'b': 5}) }}", "12 13 45"],
  ["{% macro f() %}[{{ caller(1) }}]{% endmacro %}{% call(x) f() %}{{ x + 1 }}{% endcall %}", "[2]"],
  ["{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3210"],
  ["{% filter upper | replace('A', 'b') %}a{% endfilter %}{% with x = 1 %}{{ x }}{% endwith %}{{ x }}", "b1"],
  ["{% generation %}x{% endgeneration %}", "x"],
  // Filters, methods and tests.
  ["{{ ' a ' | trim }}|{{ 'xax'.strip('x') }}|{{ 'a,b,c'.split(',', 1) }}|{{ ' a  b '.split() }}", "a|a|['a', 'b,c']|['a', 'b']"],
  ["{{ 'a-b-c'.rsplit('-', 1) }} {{ 'a-b'.partition('-') }} {{ 'a\\nb'.splitlines() }}", "['a-b', 'c'] ('a', '-', 'b') ['a', 'b']"],
  [
    "{{ 'hello world' | title }} {{ 'hELLO' | capitalize }} {{ 'aab'.replace('a', 'x', 1) }} {{ 'ab'.find('b') }}",
    "Hello World Hello xab 1",
  ],
  [
    "{{ 'a' ~ 'ß'.upper() }} {{ '{1} {0} {x}'.format(1, 3, x=2) }} {{ '%s=%d %.2f%%' % ('a', 1.9, 2) }} {{ '%s' | format('b') }}",
    "aSS 3 1 2 a=1 2.00% b",
  ],
  ["{{ 'a\\n\\nb' | indent(2) }}|{{ 'a\\nb' | indent(1, true) }}", "a\n\n  b| a\n b"],
  [
    "{{ [3, 1, 2] | sort }} {{ ['b', 'A'] | sort }} {{ [1, 2] | sort(reverse=true) }} {{ {'b': 1, 'a': 2} | dictsort }}",
    "[1, 2, 3] ['A', 'b'] [2, 1] [('a', 2), ('b', 1)]",
  ],
  ["{{ [{'a': 1}, {'a': 2}] | map(attribute='a') | list }} {{ ['a'] | map('upper') | join }}", "[1, 2] A"],
  [
    "{{ [{'a': 1}, {'b': 2}] | selectattr('a', 'defined') | list }} {{ [0, 1] | select | list }} {{ [1, 2] | reject('odd') | list }}",
    "[{'a': 1}] [1] [2]",
  ],
  [
    "{{ none | select | list }} {{ [1, 1, 2] | unique | list }} {{ [1, 2] | sum }} {{ [1, 3] | max }} {{ 'x' | default('d') }}{{ u | default('d') }}",
    "[] [1, 2] 3 3 xd",
  ],
  [
    "{{ '12' | int + 1 }} {{ 'x' | int(7) }} {{ '1.5' | float }} {{ 2.5 | round }} {{ 1.25 | round(1) }} {{ -1 | abs }}",
    "13 7 1.5 2.0 1.2 1",
  ],
  [
    "{{ {'é': [1, 2.0, none, true, 'a\"b']} | tojson }} {{ ['é'] | tojson(ensure_ascii=true) }}",
    '{"é": [1, 2.0, null, true, "a\\"b"]} ["\\u00e9"]',
  ],
  ["{{ {'b': [], 'a': {'c': 1}} | tojson(indent=2, sort_keys=true) }}", '{\n  "a": {\n    "c": 1\n  },\n  "b": []\n}'],
  ["{{ 1 is number and 'a' is string and [] is sequence and {} is mapping and none is none and u is undefined }}", "True"],
  ["{{ 4 is divisibleby 2 }} {{ 1 is odd }} {{ 'a' is in ['a'] }} {{ 1 is eq 1 }} {{ {} is iterable }}", "True True True True True"],
  ["{{ strftime_now('%d %b %Y %H:%M') }} {{ range(1, 7, 2) | list }} {{ dict(a=1) }}", "05 Jul 2024 13:04 [1, 3, 5] {'a': 1}"],
];

describe("results equal those of Python's Jinja", () => {
  test.each(cases)("%j", (source, expected) => {
    expect(render(source)).toBe(expected);
  });

  test("input data keeps its types", () => {
    expect(
      render("{{ x.a + 1 }} {{ x.b }} {{ x.c is none }} {{ x.d is defined }} {{ x.e[0].f }}", {
        x: { a: 1, b: 1.5, c: null, e: [{ f: "g" }] },
      }),
    ).toBe("2 1.5 True False g");
    expect(render("{{ x.constructor }}{{ x.__proto__ }}{{ ''.constructor }}{{ x['toString'] }}", { x: {} })).toBe("");
  });

  test("an error names the line", () => {
    expect(() => render("a\n\n{{ x.y }}")).toThrow('line 3 cannot be rendered: expected a value that has "y", got undefined');
    expect(() => render("a\r\n{% set x = 1 %}\r\n{{ 'a' + 1 }}")).toThrow("line 3 cannot be rendered");
    expect(() => render("{{ 1 | nosuch }}")).toThrow('expected a filter that Jinja has, got "nosuch"');
    expect(() => render("{% if x %}\n{% for y in z %}\n{% endif %}")).toThrow("line 3 cannot be parsed: expected");
    expect(() => render("{% include 'x' %}")).toThrow('line 1 cannot be parsed: expected a block that chat templates have, got "include"');
  });

  test("a template's error is escaped and truncated", () => {
    expect(() => render(String.raw`{{ raise_exception('\x1b[2J' ~ 'a' * 10000) }}`)).toThrow(
      /rejected the messages: \\u001b\[2Ja+… \(\d+ characters\)$/,
    );
  });

  test("data that contains itself is refused", () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    expect(() => render("{{ x }}", { x: cyclic })).toThrow("nested at most 200 deep");
    expect(() => render("{% set x = [] %}{% set y = x.append(x) %}{{ x }}")).toThrow("nested at most 250 deep");
    expect(() => render("{{ x }}", { x: () => 1 })).toThrow("expected plain data, got a function");
  });
});

describe("limits", () => {
  const doubling = (operation: string): string =>
    `{% set ns = namespace(s='xxxxxxxx', l=[1, 2, 3, 4]) %}{% for i in range(60) %}{% set ${operation} %}{% endfor %}`;

  test.each([
    [
      "nested loops",
      "{% set r = range(1000) %}{% for a in r %}{% for b in r %}{% for c in r %}{% endfor %}{% endfor %}{% endfor %}",
      "evaluated steps",
    ],
    ["a range", "{{ range(10 ** 9) | length }}", "evaluated steps"],
    [
      "a loop over a list that grows",
      "{% set l = [1] %}{% for a in range(100000) %}{% set _ = l.extend(l) %}{% endfor %}",
      "evaluated steps",
    ],
    [
      "characters of a long text",
      "{% set a = 'a😀' * 1000000 %}{% for i in range(100000) %}{% set _ = a[0] %}{% endfor %}",
      "evaluated steps",
    ],
    [
      "lengths of a long text",
      "{% set a = 'a😀' * 1000000 %}{% for i in range(100000) %}{% set _ = a | length %}{% endfor %}",
      "evaluated steps",
    ],
    [
      "beginnings of a text that grows",
      "{% set ns = namespace(a='a' * 4000000) %}{% for i in range(100000) %}{% set ns.a = ns.a ~ 'b' %}{% set _ = ns.a.startswith('a') %}{% endfor %}",
      "evaluated steps",
    ],
    [
      "arguments from a long list",
      "{% set r = range(100000) %}{% for i in r %}{% set _ = loop.cycle(*r) %}{% endfor %}",
      "evaluated steps",
    ],
    ["copies of a long list", "{% set r = range(100000) %}{% for i in r %}{% set _ = r | list %}{% endfor %}", "evaluated steps"],
    [
      "attributes of a long list",
      "{% set r = range(100000) %}{% for i in r %}{% set _ = r | map(attribute='a') %}{% endfor %}",
      "evaluated steps",
    ],
    [
      "tests of a long text",
      "{% set a = 'a' * 4000000 %}{% for i in range(100000) %}{% set _ = a is lower %}{% endfor %}",
      "evaluated steps",
    ],
    [
      "numbers from a long text",
      "{% set a = '1' * 4000000 %}{% for i in range(100000) %}{% set _ = a | int %}{% endfor %}",
      "evaluated steps",
    ],
    ["macros that fork", "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}", "evaluated steps"],
    ["a list that doubles", doubling("ns.l = ns.l + ns.l"), "evaluated steps"],
    ["a search with a long needle", "{% set a = 'a' * 4000000 %}{{ ('b' ~ a) in (a ~ a) }}", "evaluated steps"],
    ["sorting long texts", "{% set a = 'a' * 1000000 %}{{ ([a ~ 'b', a ~ 'c'] * 10000) | sort | length }}", "evaluated steps"],
    ["a text that doubles", doubling("ns.s = ns.s ~ ns.s"), "characters of text"],
    ["a text that is repeated", "{{ 'x' * 10 ** 9 }}", "characters of text"],
    ["a replacement that grows", "{% set a = 'a' * 10000 %}{{ a | replace('a', a) }}", "characters of text"],
    ["joining", "{% set a = 'a' * 1000000 %}{{ ([a] * 1000) | join }}", "characters of text"],
    ["tojson of one text again and again", "{% set a = 'a' * 1000000 %}{{ ([a] * 1000) | tojson }}", "characters of text"],
    ["an indentation", "{{ 'a\nb' | indent(10 ** 9) }}", "characters of text"],
    ["an indentation of JSON", "{{ [1] | tojson(indent=10 ** 9) }}", "characters of text"],
    ["output", `{% set r = range(1000) %}{% for a in r %}{% for b in r %}${"x".repeat(100)}{% endfor %}{% endfor %}`, "characters of text"],
    ["recursion", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "macro calls nested at most 100 deep"],
    ["a long sum", `{{ 1${" + 1".repeat(200_000)} }}`, "less of the stack"],
  ])("%s", (_, source, limit) => {
    expect(() => render(source)).toThrow(new RegExp(`ran into a limit: expected .*${limit}`));
  });

  test("nesting and length of the source", () => {
    expect(() => render(`{{ ${"(".repeat(20_000)}1${")".repeat(20_000)} }}`)).toThrow("nested at most 100 deep");
    expect(() => render("{% if true %}".repeat(6000) + "{% endif %}".repeat(6000))).toThrow("nested at most 100 deep");
    expect(() => render("a".repeat(2 ** 20 + 1))).toThrow("expected at most 1048576 characters of source, got 1048577");
  });

  test("keys have a maximum length", () => {
    expect(() => render("{{ ['a' * 20000] | unique | list }}")).toThrow("expected a key of at most 16000 characters, got 20000");
  });

  test("limits grow with the length of the conversation", () => {
    const content = "word ".repeat(100_000);
    expect(render("{% for m in x %}{{ m | trim | replace('word', 'w') | length }} {% endfor %}", { x: Array(20).fill(content) })).toMatch(
      /^(199999 ){20}$/,
    );
  });

  /** Lines, spaces and line feeds that took quadratic time with a parser that looks back, or that is run for every line. */
  test.each([
    ["an error on the last of many lines", `${"{{ x ~ y }}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(20_000)}{{ ) }}`, 20_001],
    ["many line feeds", `${"\n".repeat(500_000)}{{ ) }}`, 500_001],
    ["many spaces", `{{ x${" ".repeat(500_000)}) }}`, 1],
    ["spaces before blocks", `${(`${" ".repeat(3000)}\t`).repeat(100)}{%- if true -%}${" ".repeat(300_000)}{% endif %}{{ ) }}`, 1],
    ["a comment that never ends", "{#".repeat(500_000), 1],
    ["a string that never ends", `{{ '${"a".repeat(1_000_000)}`, 1],
  ])("the line of %s", (_, source, line) => {
    expect(() => new JinjaTemplate(source)).toThrow(`line ${line} cannot be parsed`);
  });
});

describeShared("templates of models", () => {
  // Digests of what Python's Jinja 3.1 renders; null where it fails.
  const { conversations, digests } = JSON.parse(readFileSync(new URL("fixtures/chatTemplates.json", import.meta.url), "utf8")) as {
    readonly conversations: Readonly<Record<string, object>>;
    readonly digests: Readonly<Record<string, readonly (string | null)[]>>;
  };
  /** Python escapes what it adds to text that went through `safe`, and cannot write lazy lists as JSON. */
  const isOfPython = (name: string, conversation: string): boolean =>
    (name === "meetkai-functionary-medium-v3.1" || name === "llama-cpp-deepseek-r1") && /^(tools|calls)$/.test(conversation);

  test.each(Object.entries(digests))("%s", (name, expected) => {
    const template = new JinjaTemplate(readFileSync(shared("data", "templates", `${name}.jinja`), "utf8"));
    const tokens = { bos_token: Text.of("<BOS>", "t"), eos_token: Text.of("<EOS>", "t") };
    for (const [i, [conversation, variables]] of Object.entries(conversations).entries()) {
      if (isOfPython(name, conversation)) continue;
      const all = { add_generation_prompt: true, tools: null, documents: null, ...tokens, ...variables };
      const digest = (): string => createHash("sha256").update(template.render(all, now).value).digest("hex").slice(0, 16);
      if (expected[i] === null) expect(digest, conversation).toThrow();
      else expect(digest(), conversation).toBe(expected[i]);
    }
  });
});
