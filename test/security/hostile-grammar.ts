import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import { fill } from "./costly-bodies.ts";
import { fuzzJson } from "./fuzzed-requests.ts";
import type { ReadBody } from "./whole-way.ts";

/** What may be there over and over. */
export const units = [
  ..." |\n|\r\n|\t|[|]|(|{|}|,|.|:|;|=|&|%|+|-|/|\\|\"|'|<|>|0|9|a|A|_|#|é|✅".split("|"),
  ...'[ |[]|{}|[]},|a.|.a|a_|a-|1,|0,0|0x0|: |a:|a=b&|%41|\\\\|\\"|a |a\n|\r\n\r\n|> |&lt;|<a|-0|e9|TVL |ok: |[ok]|id'.split(
    "|",
  ),
  ..."_token_|a_token_a|https://|<https://a|http://a |not |12 |5% |below 5 |\ud800|\u0301|a\u0301|\u202e|\u0000|\u2028".split(
    "|",
  ),
  `"a":`,
  `"a":"`,
  `'a':'`,
  "a: 1\n",
  `{"a":`,
  "𝒂",
  "--x\r\n",
];

/** Where in a body a text may stand, and what may be there as often as there is room. */
export const bodies: Record<string, (unit: string, size: number) => string> = {
  "a body as it is": (unit, size) => fill(unit, "", "", size),
  "a title": (unit, size) => JSON.stringify({ title: fill(unit, "", "", size) }),
  "a title beside a text": (unit, size) =>
    JSON.stringify({ title: fill(unit, "a", "b", size / 2), text: fill(unit, "a", "", size / 2) }),
  "a key": (unit, size) => JSON.stringify({ [fill(unit, "", "", size)]: 1 }),
  "a key above leaves": (unit, size) => JSON.stringify({ [fill(unit, "", "", size / 2)]: leaves(size / 32) }),
  keys: (unit, size) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: size / 32 }, (_, at) => [`${unit}${at}`, unit]))),
  "a list": (unit, size) => JSON.stringify({ items: Array.from({ length: size / 16 }, () => unit) }),
  "lists within lists": (unit, size) => `${"[".repeat(60)}${fill("[],", "", "", size)}${JSON.stringify(unit)}`,
  "a batch": (unit, size) =>
    JSON.stringify(Array.from({ length: Math.min(1_000, size / 32) }, () => ({ title: unit }))),
  "what twenty alerts share": (unit, size) =>
    JSON.stringify({
      commonLabels: { a: fill(unit, "", "", size / 4), ...leaves(size / 64) },
      alerts: Array.from({ length: 20 }, () => ({})),
    }),
  "alerts that share thirty labels": (unit, size) =>
    JSON.stringify({
      commonLabels: { ...leaves(30), unit },
      alerts: Array.from({ length: Math.min(1_000, size / 64) }, () => ({})),
    }),
  "a message of a chat": (unit, size) =>
    JSON.stringify({ text: unit, attachments: Array.from({ length: size / 64 }, () => ({ title: unit, text: unit })) }),
  lines: (unit, size) => fill(`title: ${unit}\n`, "", "", size),
  "a form": (unit, size) => fill(`a=${encodeURIComponent(unit.toWellFormed())}&`, "title=", "", size),
  "a multipart": (unit, size) =>
    fill(`--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n${unit}\r\n`, "", "", size),
  "JSON in JSON": (unit, size) => JSON.stringify(JSON.stringify({ title: fill(unit, "", "", size / 2) })),
  "JSON that breaks off": (unit, size) => `{"title":"a","b":${fill(unit, "", "", size)}`,
};

const leaves = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, "v"]));

const types = [
  undefined,
  "application/json",
  "text/plain",
  "text/plain; charset=utf-16le",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
];

/**
 * Bodies made to cost: the parts above, several units mixed, any JSON within them; some cut, doubled or of another charset. Ten of
 * them in a row have some that are as large as `most` bytes, and most that are small. The same for the same seed.
 */
export function makeHostileBody(seed: number, most: number): ReadBody {
  const random = createSeededRandom(seed);
  const size = Math.ceil(most / 2 ** random.below(8));
  const count = random.below(3) === 0 ? 1 + random.below(4) : 1;
  const unit = Array.from({ length: count }, () => random.pick(units)).join("");
  const make = random.pick(Object.values(bodies));
  const anyJson = () => fill(`${fuzzJson(random)},`, `{"title":${fuzzJson(random)},"alerts":[`, "{}]}", size);
  const text = random.below(4) === 0 ? anyJson() : make(unit, size);
  return { bytes: encode(random, damage(random, text)).subarray(0, most), contentType: random.pick(types) };
}

/** Now and then a cut, a doubled piece or a foreign character. */
function damage(random: SeededRandom, text: string): string {
  const at = random.below(text.length + 1);
  switch (random.below(8)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + random.pick(units) + text.slice(at);
    case 2:
      return text.slice(at) + text.slice(0, at);
    default:
      return text;
  }
}

function encode(random: SeededRandom, text: string): Buffer {
  const charset = random.pick(["utf8", "utf8", "utf8", "utf8", "latin1", "utf16le"] as const);
  return Buffer.from(random.below(12) === 0 ? `\ufeff${text}` : text, charset);
}
