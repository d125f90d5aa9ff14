import { and, anyCodePoint, repeat } from "../expression/builders.ts";
import type { Regular } from "../expression/types.ts";
import { regularFromRegex } from "../regex/fromRegex.ts";
import { Language } from "./language.ts";
import { insideOf } from "./patterns.ts";
import { ofLength, stringOf } from "./strings.ts";

const year = "[0-9]{4}";
/** Multiples of 4 that are no multiples of 100, and multiples of 400. */
const leapYear = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const date = `(?:${year}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|${leapYear}-02-29)`;
const offset = "(?:[Zz]|[+\\-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
const time = `(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]+)?${offset}`;

/** With leap seconds: whether one exists depends on the day and the offset. */
const leapTime = `(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\\.[0-9]+)?${offset}`;

const durationTime = "(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)";
const durationDate = "(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)";
const duration = `P(?:${durationDate}(?:T${durationTime})?|T${durationTime}|[0-9]+W)`;

const label = "[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?";
const hostname = `${label}(?:\\.${label})*`;
const octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const ipv4 = `${octet}(?:\\.${octet}){3}`;
const atom = "[A-Za-z0-9!#$%&'*+\\-/=?^_`{|}~]+";
const email = `${atom}(?:\\.${atom})*@${label}(?:\\.${label})+`;
const uuid = "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}";

const pathCharacter = "(?:[A-Za-z0-9\\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})";
const segmentWithoutColon = "(?:[A-Za-z0-9\\-._~!$&'()*+,;=@]|%[0-9A-Fa-f]{2})+";
const userInfo = "(?:[A-Za-z0-9\\-._~!$&'()*+,;=:]|%[0-9A-Fa-f]{2})*";
const registeredName = "(?:[A-Za-z0-9\\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*";
const authority = `(?:${userInfo}@)?(?:\\[(?:${ipv6()}|[Vv][0-9A-Fa-f]+\\.[A-Za-z0-9\\-._~!$&'()*+,;=:]+)\\]|${registeredName})(?::[0-9]*)?`;
const queryAndFragment = `(?:\\?(?:${pathCharacter}|[/?])*)?(?:#(?:${pathCharacter}|[/?])*)?`;
const absolutePath = `/(?:${pathCharacter}+(?:/${pathCharacter}*)*)?`;
const afterAuthority = `//${authority}(?:/${pathCharacter}*)*|${absolutePath}`;
const uri = `[A-Za-z][A-Za-z0-9+\\-.]*:(?:${afterAuthority}|${pathCharacter}+(?:/${pathCharacter}*)*)${queryAndFragment}`;
const relativeReference = `(?:${afterAuthority}|${segmentWithoutColon}(?:/${pathCharacter}*)*)?${queryAndFragment}`;
const pointer = "(?:/(?:[^~/]|~[01])*)*";

/**
 * Sources of the formats that are enforced. Where some strings are of a format only in the eyes of some, a second source has these as well:
 * leap seconds, addresses without a domain, URIs without a path.
 */
const sources: ReadonlyMap<string, readonly [narrow: string, wide?: string]> = new Map<string, readonly [string, string?]>([
  ["date", [date]],
  ["date-time", [`${date}[Tt]${time}`, `${date}[Tt\\s]${leapTime}`]],
  ["duration", [duration]],
  ["email", [email, "[^]*@[^]*"]],
  ["hostname", [hostname]],
  ["ipv4", [ipv4]],
  ["ipv6", [ipv6()]],
  ["json-pointer", [pointer]],
  ["relative-json-pointer", [`(?:0|[1-9][0-9]*)(?:#|${pointer})`]],
  ["time", [time, leapTime]],
  ["uri", [uri, "[^]*:[^]*"]],
  ["uri-reference", [`(?:${uri}|${relativeReference})`, "[^]*"]],
  ["uuid", [uuid]],
]);

/** Formats that JSON Schema defines and that are not enforced. */
const refused = new Set(["idn-email", "idn-hostname", "iri", "iri-reference", "regex", "uri-template"]);
const maximumHostname = 253;
const compiled = new Map<string, Language>();

/** Returns the strings of the format `name`, `"refused"` if JSON Schema defines it but it is not enforced, or undefined for any other. */
export function formatOf(name: string): Language | "refused" | undefined {
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const source = sources.get(name);
  if (source === undefined) return refused.has(name) ? "refused" : undefined;
  const [narrow, wide = narrow] = source;
  const strings = (source: string) => {
    const matching = stringOf(insideOf(source, true));
    return name === "hostname" ? and([matching, ofLength(1, maximumHostname)]) : matching;
  };
  const language = new Language(
    () => strings(narrow),
    () => strings(wide),
  );
  compiled.set(name, language);
  return language;
}

/**
 * Returns the strings of the format `name` as texts without quotation marks, `"refused"` if JSON Schema defines it but it is not enforced, or
 * undefined for any other.
 */
export function stringFormat(name: string): Regular | "refused" | undefined {
  const source = sources.get(name)?.[0];
  if (source === undefined) return refused.has(name) ? "refused" : undefined;
  const matching = regularFromRegex(source);
  return name === "hostname" ? and([matching, repeat(anyCodePoint, 1, maximumHostname)]) : matching;
}

/** Source of IPv6 addresses: eight groups, of which `::` stands for one or more, and of which the last two may be an IPv4 address. */
function ipv6(): string {
  const group = "[0-9A-Fa-f]{1,4}";
  const last = `(?:${group}:${group}|${ipv4})`;
  const forms = [`(?:${group}:){6}${last}`];
  for (let before = 0; before <= 7; before++) {
    const head = before === 0 ? "" : `(?:${group}:){0,${before - 1}}${group}`;
    const after = 7 - before;
    if (after >= 2) forms.push(`(?:${head})?::(?:${group}:){${after - 2}}${last}`);
    if (after === 1) forms.push(`(?:${head})?::${group}`);
    if (after === 0) forms.push(`(?:${head})?::`);
  }
  return `(?:${forms.join("|")})`;
}
