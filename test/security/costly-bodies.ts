const mebibyte = 1024 * 1024;

/** As much of `unit` as fits into a mebibyte between both ends. */
export function fill(unit: string, before = "", after = "", size = mebibyte): string {
  const room = size - Buffer.byteLength(before) - Buffer.byteLength(after);
  return before + unit.repeat(Math.max(0, Math.floor(room / Buffer.byteLength(unit)))) + after;
}

export interface CostlyBody {
  what: string;
  body: string | Uint8Array;
  contentType?: string;
  /** One of several alerts. Default false. */
  isBatch?: boolean;
}

function json(what: string, value: unknown, isBatch = false): CostlyBody {
  return { what, body: JSON.stringify(value), isBatch };
}

const members = (count: number, name: (index: number) => string, value: unknown = "v") =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), value]));
const items = (count: number, value: unknown = { a: 1 }) => Array.from({ length: count }, () => value);
const words = "word ".repeat(180_000);

const labels = (count: number) => members(count, (at) => `l${at}`);
const nearlyKeys = `a_token_${"a_".repeat(40)}${"a".repeat(130)}`;
/** Text as it is, with its type where the type matters. */
const raw = (what: string, body: string | Uint8Array, contentType?: string): CostlyBody => ({
  what,
  body,
  contentType,
});
/** A thousand items beside what they share. */
const shared = (what: string, more: object): CostlyBody =>
  json(`1,000 items beside ${what}`, { ...more, alerts: items(1_000) }, true);
const form = "application/x-www-form-urlencoded";
const part = 'content-disposition: form-data; name="a"\r\n\r\n';
const nearly = (length: number, times: number) => ({
  ...{ title: `${"a".repeat(length)}b${"a".repeat(length)}`, text: "a".repeat(times) },
});

/** Each of them has cost seconds, or hundreds of megabytes, or was found by the fuzzer of this folder. */
export const costlyBodies: CostlyBody[] = [
  json("a title of a bracket and 8,000 spaces", { title: `[${" ".repeat(8_000)}x` }),
  json("a title of a bracket and a million spaces", { title: `[${" ".repeat(1_000_000)}x` }),
  json("a key of 300,000 dotted names beside 2,000 leaves", {
    [`${"a.".repeat(300_000)}a`]: members(2_000, (at) => `k${at}`),
  }),
  json("a parent key of 900 KB beside 5,000 leaves", { ["a".repeat(900_000)]: members(5_000, (at) => `x${at}id`) }),
  json(
    "60 long keys within each other",
    nest(
      60,
      "k".repeat(15_000),
      members(2_000, (at) => `x${at}`),
    ),
  ),
  json(
    "60 dotted keys within each other",
    nest(
      60,
      "a.".repeat(100),
      members(2_000, (at) => `x${at}`),
    ),
  ),
  shared("10,000 common labels", { commonLabels: labels(10_000) }),
  shared("900 KB of common text", { commonAnnotations: { description: words } }),
  shared("a message of 900 KB", { message: words }),
  shared("a name of 900 KB", { commonLabels: { [words]: "v" } }),
  shared("a common tree", { commonLabels: { tree: items(20_000) } }),
  raw("a third of a million empty objects", fill("{},", "[", "{}]")),
  raw("a hundred thousand small objects", fill('{"a":0},', "[", "{}]")),
  raw("a list of short numbers", fill("10,", "[", "0]")),
  raw(
    "lists at the bottom of 60 objects",
    `${'{"a":'.repeat(60)}${fill("[],", "[", "0]", 1_000_000)}${"}".repeat(60)}`,
  ),
  raw("escapes", fill("\\u0041\\n", '{"title":"', '"}')),
  raw("Latin-1", Buffer.alloc(mebibyte, 0xe9)),
  raw("Latin-1 in words", Buffer.from(fill("\u00e9 ", "", "", mebibyte), "latin1")),
  raw("a form of 110,000 fields", Array.from({ length: 110_000 }, (_, at) => `k${at}=b`).join("&"), form),
  raw("a form of one field, over and over", fill("a=b&"), form),
  json("a title that its text nearly holds", nearly(200_000, 600_000)),
  json("a short title that its text nearly holds", nearly(5_000, 1_000_000)),
  json("2,000 names that are nearly metric keys", {
    list: items(2_000, { key: `${nearlyKeys}%`, a: 1, b: 1, c: 2, d: 4 }),
  }),
  json("a text that is nearly metric keys", { text: `${nearlyKeys}_ `.repeat(4_000) }),
  json("tags before a title", { title: "[ok]".repeat(250_000) }),
  json("a title of its own value", { title: `x${"0".repeat(900_000)}`, value: `1${"0".repeat(98)}` }),
  json("a number of a million digits", { value: "9".repeat(1_000_000) }),
  raw("a multipart of line breaks", `--x\r\n${part}${"\r\n".repeat(500_000)}`),
  raw("a multipart of dashes", fill("-", `--${"x".repeat(60)}\r\n${part}`)),
  raw("broken JSON of open strings", fill(`"a":"x\\`, '{"a":')),
  raw("broken JSON of names", fill("abcdefghij ", '{"a":')),
  raw("broken JSON of one name", fill("a", "{a")),
  raw("broken JSON of backslashes", fill("\\", '{"a":"')),
  raw("lists without an end", fill("[")),
  raw("addresses without an end", fill("<http://a", '{"text":"', '"}')),
  raw("brackets", fill("(")),
  raw("lines of names and values", fill("x: y\n")),
];

function nest(levels: number, key: string, inner: unknown): unknown {
  return levels === 0 ? inner : { [key]: nest(levels - 1, key, inner) };
}
