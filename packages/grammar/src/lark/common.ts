const float = "(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+";
const number = `[0-9]+|${float}`;

/** The terminals of Lark's `common` grammar, as regular expressions. */
export const commonTerminals: Readonly<Record<string, string>> = {
  DIGIT: "[0-9]",
  HEXDIGIT: "[0-9a-fA-F]",
  INT: "[0-9]+",
  SIGNED_INT: "[+-]?[0-9]+",
  DECIMAL: "[0-9]+\\.[0-9]*|\\.[0-9]+",
  _EXP: "[eE][+-]?[0-9]+",
  FLOAT: float,
  SIGNED_FLOAT: `[+-]?(?:${float})`,
  NUMBER: number,
  SIGNED_NUMBER: `[+-]?(?:${number})`,
  ESCAPED_STRING: '"(?:[^"\\\\]|\\\\.)*"',
  LCASE_LETTER: "[a-z]",
  UCASE_LETTER: "[A-Z]",
  LETTER: "[a-zA-Z]",
  WORD: "[a-zA-Z]+",
  CNAME: "[_a-zA-Z][_a-zA-Z0-9]*",
  WS_INLINE: "[ \\t]+",
  WS: "[ \\t\\f\\r\\n]+",
  CR: "\\r",
  LF: "\\n",
  NEWLINE: "(?:\\r?\\n)+",
  SH_COMMENT: "#[^\\n]*",
  CPP_COMMENT: "//[^\\n]*",
  C_COMMENT: "/\\*[^*]*\\*+(?:[^/*][^*]*\\*+)*/",
  SQL_COMMENT: "--[^\\n]*",
};
