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

/** Each of them has cost seconds, or hundreds of megabytes, or was found by the fuzzer of this folder. */
export const costlyBodies: CostlyBody[] = [
  json("a title of a bracket and 8,000 spaces", { title: `[${" ".repeat(8_000)}x` }),
  json("a title of a bracket and a million spaces", { title: `[${" ".repeat(1_000_000)}x` }),
  json("a key of 300,000 dotted names beside 2,000 leaves", {
    [`${"a.".repeat(300_000)}a`]: members(2_000, (index) => `k${index}`),
  }),
  json("a parent key of 900 KB beside 5,000 leaves", {
    ["a".repeat(900_000)]: members(5_000, (index) => `x${index}id`),
  }),
  json(
    "60 long keys within each other",
    nest(
      60,
      "k".repeat(15_000),
      members(2_000, (index) => `x${index}`),
    ),
  ),
  json(
    "60 dotted keys within each other",
    nest(
      60,
      "a.".repeat(100),
      members(2_000, (index) => `x${index}`),
    ),
  ),
  json(
    "1,000 items beside 10,000 common labels",
    { commonLabels: members(10_000, (i) => `l${i}`), alerts: items(1_000) },
    true,
  ),
  json(
    "1,000 items beside 900 KB of common text",
    { commonAnnotations: { description: words }, alerts: items(1_000) },
    true,
  ),
  json("1,000 items beside a message of 900 KB", { message: words, alerts: items(1_000) }, true),
  json("1,000 items beside a name of 900 KB", { commonLabels: { [words]: "v" }, alerts: items(1_000) }, true),
  json("1,000 items beside a common tree", { commonLabels: { tree: items(20_000) }, alerts: items(1_000) }, true),
  { what: "a third of a million empty objects", body: fill("{},", "[", "{}]") },
  { what: "a hundred thousand small objects", body: fill('{"a":0},', "[", "{}]") },
  { what: "a list of short numbers", body: fill("10,", "[", "0]") },
  {
    what: "lists at the bottom of 60 objects",
    body: `${'{"a":'.repeat(60)}${fill("[],", "[", "0]", 1_000_000)}${"}".repeat(60)}`,
  },
  { what: "escapes", body: fill("\\u0041\\n", '{"title":"', '"}') },
  { what: "Latin-1", body: Buffer.alloc(mebibyte, 0xe9) },
  { what: "Latin-1 in words", body: Buffer.from(fill("\u00e9 ", "", "", mebibyte), "latin1") },
  {
    what: "a form of 110,000 fields",
    body: Array.from({ length: 110_000 }, (_, index) => `k${index}=b`).join("&"),
    contentType: "application/x-www-form-urlencoded",
  },
  {
    what: "a form of one field, over and over",
    body: fill("a=b&"),
    contentType: "application/x-www-form-urlencoded",
  },
  json("a title that its text nearly holds", {
    title: `${"a".repeat(200_000)}b${"a".repeat(200_000)}`,
    text: "a".repeat(600_000),
  }),
  json("a short title that its text nearly holds", {
    title: `${"a".repeat(5_000)}b${"a".repeat(5_000)}`,
    text: "a".repeat(1_000_000),
  }),
  json("2,000 names that are nearly metric keys", {
    list: items(2_000, { key: `a_token_${"a_".repeat(40)}${"a".repeat(130)}%`, a: 1, b: 1, c: 2, d: 4 }),
  }),
  json("a text that is nearly metric keys", {
    text: `a_token_${"a_".repeat(40)}${"a".repeat(130)}_ `.repeat(4_000),
  }),
  json("tags before a title", { title: "[ok]".repeat(250_000) }),
  json("a title of its own value", { title: `x${"0".repeat(900_000)}`, value: `1${"0".repeat(98)}` }),
  json("a number of a million digits", { value: "9".repeat(1_000_000) }),
  {
    what: "a multipart of line breaks",
    body: `--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n${"\r\n".repeat(500_000)}`,
  },
  {
    what: "a multipart of dashes",
    body: fill("-", `--${"x".repeat(60)}\r\ncontent-disposition: form-data; name="a"\r\n\r\n`),
  },
  { what: "broken JSON of open strings", body: fill(`"a":"x\\`, '{"a":') },
  { what: "broken JSON of names", body: fill("abcdefghij ", '{"a":') },
  { what: "broken JSON of one name", body: fill("a", "{a") },
  { what: "broken JSON of backslashes", body: fill("\\", '{"a":"') },
  { what: "lists without an end", body: fill("[") },
  { what: "addresses without an end", body: fill("<http://a", '{"text":"', '"}') },
  { what: "brackets", body: fill("(") },
  { what: "lines of names and values", body: fill("x: y\n") },
];

function nest(levels: number, key: string, inner: unknown): unknown {
  return levels === 0 ? inner : { [key]: nest(levels - 1, key, inner) };
}
