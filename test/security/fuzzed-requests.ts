import type { SeededRandom } from "../support/seeded-random.ts";

/** What a parser, a store or a page may stumble over; put anywhere into a request. */
const tokens: readonly string[] = [
  ..."\r\n|\r\n\r\n|\n|\r|\0|\t|\x0b|\x7f|\x80|\xff\xfe|:|;|,|%|%00|%zz|%2f..|//|../|#|?|&a=b&a=c".split("|"),
  ..."\u00ef\u00bb\u00bf|\u00ed\u00a0\u0080|\u00e2\u0080\u00ae|\u00f0\u009f\u0092\u00a9".split("|"),
  ..."Content-Length: 0\r\n|Content-Length: 18446744073709551615\r\n|Transfer-Encoding: chunked\r\n".split("|"),
  ..."Connection: close\r\n|Expect: 100-continue\r\n|Upgrade: h2c\r\n|HTTP/1.0|HTTP/9.9|0\r\n\r\n|ffffffff\r\n".split(
    "|",
  ),
  ...'"|\\|\\u0000|\\ud800|{|}|[|]|null|-0|1e999|__proto__|constructor|<script>|{{7*7}}|\x1b[2J'.split("|"),
  ...["$" + "{7*7}", "'; DROP TABLE alerts; --"],
];

const keys: readonly string[] =
  "title severity status metric value token chain alerts data labels link text time __proto__ constructor toString id".split(
    " ",
  );

/** Any JSON there may be, with hostile keys and texts in the places where facts are looked for. */
export function fuzzJson(random: SeededRandom, depth = 0): string {
  const kind = random.below(depth > 5 ? 5 : 8);
  switch (kind) {
    case 0:
      return random.pick(["null", "true", "false", "0", "-0", "1e999", "-1e-999", "123456789012345678901234567890"]);
    case 1:
      return `${random.below(2) === 0 ? "-" : ""}${random.below(1_000_000)}.${random.below(1_000)}e${random.below(400)}`;
    case 2:
    case 3:
    case 4:
      return JSON.stringify(fuzzText(random));
    case 5:
      return `[${Array.from({ length: random.below(6) }, () => fuzzJson(random, depth + 1)).join(",")}]`;
    default: {
      const members = Array.from({ length: random.below(8) }, () => {
        const key = random.below(4) === 0 ? fuzzText(random) : random.pick(keys);
        return `${JSON.stringify(key)}:${fuzzJson(random, depth + 1)}`;
      });
      return `{${members.join(",")}}`;
    }
  }
}

function fuzzText(random: SeededRandom): string {
  const pieces = Array.from({ length: random.below(5) }, () =>
    random.below(2) === 0 ? random.pick(tokens) : String.fromCharCode(random.below(0x1_0000)),
  );
  const text = pieces.join("");
  return random.below(30) === 0 ? text.repeat(random.below(2_000)) : text;
}

export type FuzzTargets = { hookPath: string; adminToken: string };

/** A whole request in order, of those that the program takes. */
function sampleRequest(random: SeededRandom, { hookPath, adminToken }: FuzzTargets): string {
  const bytes = Buffer.from(fuzzJson(random), "utf8").toString("latin1");
  const type = random.pick([
    "application/json",
    "text/plain; charset=utf-16le",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/octet-stream",
    'text/html; charset="',
  ]);
  const framed = (start: string, headers = "") =>
    `${start} HTTP/1.1\r\nHost: x\r\n${headers}Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n${bytes}`;
  const asAdmin = `Authorization: Bearer ${adminToken}\r\n`;
  switch (random.below(10)) {
    case 0:
      return `POST ${hookPath} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n${bytes}\r\n0\r\n\r\n`;
    case 1:
      return framed("POST /hooks/unknown");
    case 2:
      return `GET /api/alerts?q=${encodeURIComponent(fuzzText(random).toWellFormed())}&cursor=${random.below(99)} HTTP/1.1\r\nHost: x\r\n${asAdmin}\r\n`;
    case 3:
      return framed("POST /api/mutes", asAdmin);
    case 4:
      return framed("POST /login", "Cookie: tocsin_session=a.b.c.d\r\n");
    default:
      return framed(`POST ${hookPath}`, random.below(3) === 0 ? `Webhook-Id: ${random.below(5)}\r\n` : "");
  }
}

/** One to three requests on one connection: as they are, changed in a few places, cut, or plain garbage. */
export function fuzzRequest(random: SeededRandom, targets: FuzzTargets): Buffer {
  let text = Array.from({ length: 1 + random.below(3) }, () => sampleRequest(random, targets)).join("");
  const changes = random.pick([0, 0, 1, 2, 8]);
  for (let change = 0; change < changes; change += 1) text = mutate(random, text);
  if (random.below(20) === 0) text = String.fromCharCode(...Array.from({ length: 400 }, () => random.below(256)));
  return Buffer.from(text, "latin1");
}

function mutate(random: SeededRandom, text: string): string {
  // Most of what matters stands in the head.
  const at = random.below(random.below(2) === 0 ? Math.min(300, text.length) : text.length);
  const length = 1 + random.below(20);
  const [before, part, after] = [text.slice(0, at), text.slice(at, at + length), text.slice(at + length)];
  switch (random.below(6)) {
    case 0:
      return before + after;
    case 1:
      return before + part + part + after;
    case 2:
      return before + random.pick(tokens) + part + after;
    case 3:
      return before + String.fromCharCode(random.below(256)) + text.slice(at + 1);
    case 4:
      return before + random.pick(tokens) + after;
    default:
      return random.below(3) === 0 ? before : before + part.toUpperCase() + after;
  }
}
