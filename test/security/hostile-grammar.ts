import { createSeededRandom, type SeededRandom } from "../support/seeded-random.ts";
import type { ReadBody } from "./whole-way.ts";

/**
 * Bodies made to cost: deep, wide, long, dotted, repeated, broken, in every format and charset, with facts where they
 * are looked for.
 */

const names =
  `title title title text message status severity level value threshold metric key name token chain time link id labels annotations
  data alert alerts commonLabels commonAnnotations externalURL groupKey fields attachments blocks embeds items event
  resolved condition operator previousValue unit source type payload body Message __proto__ constructor`.split(/\s+/);
const units = [
  ...' |\n|\r\n|[|]|(|)|{|}|,|.|:|;|=|&|%|-|/|\\|"|\'|<|>|0|9|a|A|_|#|é|✅|[ | ]|a.|a_|1,|{}|[]|0x0|a=b&|%41|\\"'.split(
    "|",
  ),
  ..."_token_|eth_token_tvl_|https://|<https://a|not |12.5 |5% |below 5 |fell from |\u0301|\u202e|\u0000|\u2028|\ud800|🚨|[ok]|ok: ".split(
    "|",
  ),
];
const types = [
  undefined,
  "application/json",
  "text/plain",
  "text/plain; charset=utf-16le",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
];

/**
 * Ten of them in a row have some that are as large as `most` bytes, and most that are small. The same for the same
 * seed.
 */
export function makeHostileBody(seed: number, most: number): ReadBody {
  const random = createSeededRandom(seed);
  const size = Math.ceil(most / 2 ** random.below(8));
  const text = makeText(random, size);
  const contentType = random.pick(types);
  return { bytes: encode(random, damage(random, text)).subarray(0, most), contentType };
}

function makeText(random: SeededRandom, size: number): string {
  switch (random.below(12)) {
    case 0:
      return fillText(random, size);
    case 10:
    case 11:
      return JSON.stringify(multiply(random, size));
    case 1:
      return Array.from(
        { length: Math.min(5_000, size / 20) },
        () => `${random.pick(names)}: ${fillText(random, 10)}`,
      ).join("\n");
    case 2:
      return Array.from(
        { length: size / 16 },
        () => `${random.pick(names)}=${encodeURIComponent(fillText(random, 8).toWellFormed())}`,
      ).join("&");
    case 3:
      return makeMultipart(random, size);
    case 4:
      return JSON.stringify(JSON.stringify(makeValue(random, { left: size / 2 }, 0)));
    case 5:
    case 6:
      return makeBatch(random, size);
    default:
      return JSON.stringify(makeObject(random, { left: size }, 0));
  }
}

function makeMultipart(random: SeededRandom, size: number): string {
  const part = () =>
    `--x\r\ncontent-disposition: form-data; name="${random.pick(names)}"\r\n\r\n${fillText(random, size / 8)}\r\n`;
  return Array.from({ length: 1 + random.below(8) }, part).join("");
}

function makeBatch(random: SeededRandom, size: number): string {
  const count = 1 + random.below(Math.min(1_200, Math.ceil(size / 24)));
  const alerts = Array.from({ length: count }, () => makeObject(random, { left: size / 2 / count }, 2));
  if (random.below(3) === 0) return JSON.stringify(alerts);
  const envelope = makeObject(random, { left: size / 4 }, 1);
  for (const shared of ["commonLabels", "commonAnnotations"])
    envelope[shared] = makeObject(random, { left: size / 8 }, 1);
  if (random.below(2) === 0) envelope.message = fillText(random, size / 8);
  return JSON.stringify({ ...envelope, alerts });
}

/** What costs the product of two parts where a reader goes through one for each of the other. */
function multiply(random: SeededRandom, size: number): unknown {
  const half = size / 2;
  const names = Array.from({ length: half / 8 }, (_, at) => `k${at}`);
  const many = Object.fromEntries(names.map((name) => [name, random.pick(["v", 1, true])]));
  const long = fillText(random, half);
  switch (random.below(5)) {
    case 0:
      return { [long]: many };
    case 1:
      return { title: long, text: fillText(random, half) };
    case 2:
      return {
        commonLabels: many,
        alerts: Array.from({ length: Math.min(1_000, half / 8) }, () => ({ a: 1 })),
      };
    case 3:
      return { message: long, alerts: Array.from({ length: Math.min(1_000, half / 8) }, () => ({ a: 1 })) };
    default:
      return {
        title:
          random.pick(["[", "(", "✅ ["]) + random.pick([" ", "\n", "a", "!"]).repeat(size) + random.pick(["x", "1"]),
      };
  }
}

type Room = { left: number };

function makeObject(random: SeededRandom, room: Room, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  // Some are wide, most are as objects are.
  const width = random.below(6) === 0 ? room.left / 12 : 1 + random.below(12);
  for (let member = 0; member < width && room.left > 0; member += 1) {
    const name = makeName(random, room, member);
    room.left -= name.length + 4;
    Object.defineProperty(object, name, {
      value: makeValue(random, room, depth + 1),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return object;
}

function makeName(random: SeededRandom, room: Room, member: number): string {
  switch (random.below(8)) {
    case 0:
      return fillText(random, room.left / 4);
    case 1:
      return `${random.pick(names)}.${random.pick(names)}`.repeat(1 + random.below(40));
    case 2:
      return `k${member}`;
    default:
      return random.pick(names);
  }
}

function makeValue(random: SeededRandom, room: Room, depth: number): unknown {
  switch (random.below(depth > 60 ? 5 : 9)) {
    case 0:
      return random.pick([null, true, false, 0, -1, 1e300, 12.5, 1_760_000_000]);
    case 1:
    case 2: {
      const text = fillText(random, Math.min(room.left, 60));
      room.left -= text.length;
      return text;
    }
    case 3: {
      const text = fillText(random, room.left / (1 + random.below(3)));
      room.left -= text.length;
      return text;
    }
    case 4: {
      const list = Array.from({ length: random.below(Math.max(1, Math.min(60_000, room.left / 4))) }, () =>
        random.pick([0, 12, "", "a", null]),
      );
      room.left -= list.length * 3;
      return list;
    }
    case 5: {
      const list: unknown[] = [];
      for (let item = random.below(30); item > 0 && room.left > 0; item -= 1)
        list.push(makeValue(random, room, depth + 1));
      return list;
    }
    case 6: {
      let nested: unknown = makeValue(random, room, depth + 12);
      for (let level = random.below(12); level > 0; level -= 1) nested = { [random.pick(names)]: nested };
      return nested;
    }
    default:
      return makeObject(random, room, depth);
  }
}

/** One unit over and over, often a blank or a bracket, or a few of them mixed, between other characters. */
function fillText(random: SeededRandom, size: number): string {
  const count = random.below(3) === 0 ? 1 + random.below(4) : 1;
  const pick = () => (random.below(3) === 0 ? random.pick([" ", "\n", ".", "a", "0", "-"]) : random.pick(units));
  const unit = Array.from({ length: count }, pick).join("");
  const body = unit.repeat(Math.max(1, Math.floor(size / unit.length)));
  return (
    random.pick(["", "[", "(", "a", "CRITICAL: ", '"', "0", "✅ ["]) +
    body +
    random.pick(["", "x", "]", "!", "\n", "%"])
  );
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
