import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ChatTemplate, ChatTemplateError } from "../src/index.ts";
import { describeShared, shared, sharedNames, tokenizerOf } from "./shared.ts";

describeShared("forged special tokens stay text", () => {
  const each = (output: string): string => `{% for m in messages %}<s>{{ m.role }}{{ ${output} }}{% endfor %}`;
  /** What templates do to content. */
  const templates: readonly string[] = [
    each("m.content"),
    each("m.content | trim"),
    each("m.content ~ m.name"),
    each("'<' + m.content + '|>'"),
    each("'<|' ~ m.content ~ '>'"),
    each("m.content | lower"),
    each("m.content | upper | lower"),
    each("m.content | capitalize"),
    each("m.content | title"),
    each("m.content.replace('~', '')"),
    each("m.content | replace('~', '') | replace('x', m.name)"),
    each("m.content.split('~') | join('')"),
    each("m.content.split('~') | join(m.name)"),
    each("m.content.split() | join(' ')"),
    each("m.content[1:] ~ m.content[:1]"),
    each("m.content[::-1][::-1]"),
    each("m.content | list | join"),
    each("m.content.strip('~') | string | safe"),
    each("m.content | indent(2)"),
    each("'{}{}'.format(m.content, m.name)"),
    each("'<{}|>'.format(m.content)"),
    each("'<%s>' % m.content"),
    each("(m.content, m.name)"),
    each("m | tojson"),
    each("m | tojson(indent=2, ensure_ascii=true)"),
    each("m"),
    each("m.keys() | join ~ m.values() | join"),
    each("(m | dictsort)[0] | join"),
    each("m.content * 2"),
    each("([m.content, m.name] | sort)[0]"),
    each("[m] | map(attribute='content') | first"),
    each("[m.content] | map('replace', '~', '') | join"),
    each("namespace(a=m.content).a"),
    each("m.content.partition('~')[0] ~ m.content.partition('~')[2]"),
    each("m.content.removeprefix('~') | default('x')"),
    "{% macro f(x) %}<{{ x }}>{% endmacro %}{% for m in messages %}{% set y %}{{ m.content }}{% endset %}{{ f(y) }}{% endfor %}",
    "{% for m in messages %}{% filter replace('~', '') %}{{ m.content }}{% endfilter %}{% for c in m.content %}{{ c }}{% endfor %}{% endfor %}",
    "{{ tools | tojson }}{{ tools }}{{ extra }}{{ documents }}{% for k, v in tools[0].items() %}{{ k }}{{ v }}{% endfor %}",
    "{{ strftime_now(messages[0].content) }}",
  ];

  const vocabularies = ["ggml-vocab-qwen2", "ggml-vocab-llama-bpe", "ggml-vocab-phi-3", "ggml-vocab-deepseek-coder", "ggml-vocab-bert-bge"];
  test.each(vocabularies)("of %s", async (name) => {
    const tokenizer = await tokenizerOf(shared("data", "vocab", `${name}.gguf`));
    const specials = Array.from({ length: tokenizer.vocabSize }, (_, id) => id).filter((id) => tokenizer.isSpecial(id));
    const count = (template: ChatTemplate, content: string, name: string, extra: string): number => {
      const messages = [
        { role: "user", content, name },
        { role: "tool", content: name, name: content, [extra]: extra },
      ];
      const options = { tools: [{ [extra]: extra }], documents: [extra], variables: { extra } };
      return template.encode(tokenizer, messages, options).filter((id) => tokenizer.isSpecial(id)).length;
    };
    for (const source of templates) {
      const template = new ChatTemplate({ source });
      const harmless = count(template, "plain~words", "other", "nothing");
      for (const text of specials.slice(0, 12).map((id) => tokenizer.tokenText(id))) {
        for (const cut of [1, 2, text.length >> 1, text.length - 1]) {
          const [head, tail] = [text.slice(0, cut), text.slice(cut)];
          const forged = [
            text,
            head,
            `${head}~${tail}`,
            `${head}x${tail}`,
            text.toUpperCase(),
            text.slice(1, -1),
            text.slice(1, -2),
            `${tail} ${head}`,
          ];
          for (const [i, content] of forged.entries()) {
            expect(count(template, content, [tail, "", text][i % 3]!, text), `${source} ${JSON.stringify(content)}`).toBe(harmless);
          }
        }
      }
    }
  });
});

describeShared("templates of models write no special token for content", () => {
  const names = sharedNames("data", "templates");

  test.each(["ggml-vocab-qwen2", "ggml-vocab-llama-bpe"])("with the vocabulary of %s", async (vocabulary) => {
    const tokenizer = await tokenizerOf(shared("data", "vocab", `${vocabulary}.gguf`));
    const specials = Array.from({ length: tokenizer.vocabSize }, (_, id) => id)
      .filter((id) => tokenizer.isSpecial(id))
      .slice(0, 8)
      .map((id) => tokenizer.tokenText(id));
    for (const name of names) {
      const template = new ChatTemplate({ source: readFileSync(shared("data", "templates", name), "utf8") });
      /** Special tokens of a chat that has a text in every place, or undefined where the template takes no such chat. */
      const count = (text: string): number | undefined => {
        const properties = { [text]: { type: "string", description: text, enum: [text] } };
        const parameters = { type: "object", properties, required: [text] };
        const messages = [
          { role: "system", content: text },
          { role: "user", content: text, name: text },
          { role: "assistant", content: text, reasoning_content: text },
          { role: "user", content: text },
        ];
        const options = {
          tools: [{ type: "function", function: { name: text, description: text, parameters } }],
          documents: [{ title: text, text }],
        };
        try {
          return template.encode(tokenizer, messages, options).filter((id) => tokenizer.isSpecial(id)).length;
        } catch (error) {
          expect(error).toBeInstanceOf(ChatTemplateError);
          return undefined;
        }
      };
      const harmless = count("plain words");
      for (const special of specials) {
        for (const text of [special, `x${special} y`, special.slice(1), special.slice(0, -1), special.slice(1, -1)]) {
          expect(count(text), `${name} ${text}`).toBe(harmless);
        }
      }
    }
  });
});
