import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { exchangeRaw, openRaw } from "../support/raw-http.ts";
import { type RelayProcess, startRelayProcess, waitUntil, webhookSecret } from "../support/relay-process.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

let relay: RelayProcess;
const undone: (() => void | Promise<void>)[] = [];

beforeAll(async () => {
  const atEnd = (undo: () => void | Promise<void>) => void undone.unshift(undo);
  relay = await startRelayProcess(makeTempFolder(atEnd), {}, undefined, undefined, atEnd);
});

beforeEach(async () => {
  expect((await relay.post(`{"title":"before"}`)).status).toBe(202);
});

afterAll(async () => {
  for (const undo of undone) await undo();
});

const path = `/hooks/${webhookSecret}`;
const maxBodyBytes = 1024 * 1024;

const post = (headers: string, body = "") => `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`;

/** An alert, and the last request of its connection. */
function goodPost(title: string): string {
  const body = JSON.stringify({ title });
  return post(`Connection: close\r\nContent-Length: ${body.length}`, body);
}

/** What is sent by its name, and statuses of all its answers, where they are others than all have. */
type Cases = Record<string, string | [bytes: string, ...statuses: number[]]>;

/** Sends each on a connection of its own, and expects answers of these statuses. */
async function expectAnswers(usual: number[], cases: Cases): Promise<void> {
  for (const [name, one] of Object.entries(cases)) {
    const [bytes, ...own] = [one].flat() as [string, ...number[]];
    const answers = await exchangeRaw(relay.url, Buffer.from(bytes, "latin1"));
    const statuses = answers.map(({ status }) => status);
    expect([name, ...statuses]).toEqual([name, ...(own.length > 0 ? own : usual)]);
  }
}

/** Of this case, oldest first. A good alert is sent before, so that none can be missed that came earlier. */
async function titlesStored(): Promise<string[]> {
  expect((await relay.post(`{"title":"afterwards"}`)).status).toBe(202);
  const { data } = await waitUntil(
    () => relay.getJson<{ data: { title?: string | null }[] }>("/api/alerts?limit=200"),
    ({ data }) => data.every(({ title }) => typeof title === "string"),
    "a reading of every alert",
  );
  expect(relay.process.exitCode).toBeNull();
  expect(relay.log()).not.toMatch(/\n\s+at |Error:/);
  const titles = data.map(({ title }) => String(title));
  return titles.slice(0, titles.indexOf("before")).toReversed();
}

it("refuses a request whose end could be read in two ways, ends its connection, and stores nothing of it", async () => {
  const behind = goodPost("smuggled");
  const chunked = "Transfer-Encoding: chunked";
  await expectAnswers([400], {
    "length and chunks": post(`Content-Length: 6\r\n${chunked}`, `0\r\n\r\nX${behind}`),
    "chunks and length": post(`${chunked}\r\nContent-Length: 6`, `0\r\n\r\nX${behind}`),
    "two lengths": post("Content-Length: 2\r\nContent-Length: 60", `{}${behind}`),
    "a list of lengths": post("Content-Length: 2, 60", `{}${behind}`),
    "a signed length": post("Content-Length: +2", `{}${behind}`),
    "a length below zero": post("Content-Length: -2", `{}${behind}`),
    "a length in hexadecimal": post("Content-Length: 0x2", `{}${behind}`),
    "a length beyond 64 bits": post("Content-Length: 18446744073709551618", `{}${behind}`),
    "a space before the colon": post("Content-Length : 2", `{}${behind}`),
    "a folded header": post("Transfer-Encoding:\r\n chunked", `0\r\n\r\n${behind}`),
    "two codings": post(`${chunked}\r\nTransfer-Encoding: identity`, `0\r\n\r\n${behind}`),
    "a coding with a vertical tab": post("Transfer-Encoding: \x0bchunked", `0\r\n\r\n${behind}`),
    "a coding that is not the last": post("Transfer-Encoding: chunked, gzip", `0\r\n\r\n${behind}`),
    "bare line feeds": `POST ${path} HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}${behind}`,
    "a carriage return in a header": post("X-A: a\rContent-Length: 60\r\nContent-Length: 2", `{}${behind}`),
    "NUL in a header": post("X-A: a\0b\r\nContent-Length: 2", `{}${behind}`),
    "no host": `POST ${path} HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
  });
  await expectAnswers([400], {
    "a size that is no number": post(chunked, `zz\r\n{}\r\n0\r\n\r\n${behind}`),
    "a size below zero": post(chunked, `-2\r\n{}\r\n0\r\n\r\n${behind}`),
    "a size beyond 64 bits": post(chunked, `ffffffffffffffff2\r\n{}\r\n0\r\n\r\n${behind}`),
    "a chunk without its end": post(chunked, `2\r\n{}XX0\r\n\r\n${behind}`),
    "bare line feeds": post(chunked, `2\n{}\n0\n\n${behind}`),
  });
  await expectAnswers([413], { "an extension without end": post(chunked, `2;${"a".repeat(64_000)}`) });
  await expectAnswers([431], { "headers over 16 KiB": post(`X-A: ${"a".repeat(17_000)}\r\nContent-Length: 2`, "{}") });
  await expectAnswers([505], {
    "HTTP/2.0": post("Content-Length: 2", `{}${behind}`).replace("HTTP/1.1", "HTTP/2.0"),
    "HTTP/2.0 in chunks": post(chunked, `2\r\n{}\r\n0\r\n\r\n${behind}`).replace("HTTP/1.1", "HTTP/2.0"),
    "HTTP/2.0 for a page": `GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n${behind}`,
  });
  await expectAnswers([400], {
    "HTTP/0.9": post("Content-Length: 2", `{}${behind}`).replace("HTTP/1.1", "HTTP/0.9"),
    "no version": post("Content-Length: 2", `{}${behind}`).replace(" HTTP/1.1", ""),
    "HTTP/3.0": post("Content-Length: 2", `{}${behind}`).replace("HTTP/1.1", "HTTP/3.0"),
    "HTTP/2": post("Content-Length: 2", `{}${behind}`).replace("HTTP/1.1", "HTTP/2"),
    "the preface of HTTP/2": `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${behind}`,
  });
  expect(await titlesStored()).toEqual(["afterwards"]);
});

it("takes nothing that came behind an answer that ends the connection", async () => {
  const behind = goodPost("behind");
  await expectAnswers([], {
    "an unknown secret": [`POST /hooks/unknown HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}${behind}`, 404],
    "another method": [`PUT ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}${behind}`, 405],
    "a compressed body": [post("Content-Encoding: br\r\nContent-Length: 2", `{}${behind}`), 415],
    "a body far over the limit": [post(`Content-Length: ${100 * maxBodyBytes}`, behind), 413],
    "what called itself the last": [goodPost("the last") + behind, 202],
  });
  expect(await titlesStored()).toEqual(["the last", "afterwards"]);
});

it("answers an alert that is whole, whatever follows it on the connection", async () => {
  const large = "x".repeat(maxBodyBytes + 1);
  await expectAnswers([], {
    "a length in characters instead of bytes": [post("Content-Length: 13", `{"title":"a"}{"title":"b"}`), 202],
    "another protocol": [post("Content-Length: 13", `{"title":"c"}\x16\x03\x01\x02\x00`), 202],
    "an alert behind one that is too large": [post(`Content-Length: ${large.length}`, large) + goodPost("d"), 413, 202],
  });
  expect(await titlesStored()).toEqual(["a", "c", "d", "afterwards"]);
});

it("takes a chunked body whatever its trailers are, and nothing behind those that cannot be read", async () => {
  const chunked = (title: string, trailers: string) => {
    const body = JSON.stringify({ title });
    return post("Transfer-Encoding: chunked", `${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailers}\r\n`);
  };
  const behind = goodPost("behind");
  await expectAnswers([202, 202], {
    one: chunked("one", "X-Checksum: z\r\n") + behind,
    "many, and long": chunked("many", "X-A: 0123456789\r\n".repeat(500)) + behind,
    "announced as a header would be": chunked("header", "Host: y\r\nContent-Encoding: gzip\r\n") + behind,
  });
  await expectAnswers([202], {
    "a length": chunked("length", `Content-Length: ${behind.length}\r\n`) + behind,
    "a coding": chunked("coding", "Transfer-Encoding: chunked\r\n") + behind,
    "a line without a colon": chunked("colon", "X-A\r\n") + behind,
    "a folded line": chunked("folded", "X-A: a\r\n b\r\n") + behind,
    "over 16 KiB": chunked("over", `X-A: ${"a".repeat(17_000)}\r\n`) + behind,
  });
  expect(await titlesStored()).toEqual(
    ["one", "behind", "many", "behind", "header", "behind", "length", "coding", "colon", "folded", "over"].concat(
      "afterwards",
    ),
  );
});

it("answers 431 to an over-long header section, wherever it stands and however much of it comes", async () => {
  const long = post(`X-A: ${"a".repeat(17_000)}\r\nContent-Length: 2`, "{}");
  await expectAnswers([431], {
    "one field": long,
    "many fields": post(`${"X-A: 0123456789\r\n".repeat(2_000)}Content-Length: 2`, "{}"),
    "the address": post("Content-Length: 2", "{}").replace(" HTTP", `?${"a".repeat(17_000)} HTTP`),
    "a section without end": post(`X-A: ${"a".repeat(8 * maxBodyBytes)}`),
  });
  const kept = await openRaw(relay.url);
  await kept.write(post("Content-Length: 2", "{}"));
  await kept.readAnswers(1);
  await kept.write(long + goodPost("behind"));
  const answers = await kept.readToEnd();
  expect(answers.map(({ status }) => status)).toEqual([202, 431]);
  expect(answers[1]?.head).toMatch(/^connection: close$/im);
  // Both at once: the first is still being stored when the second is refused.
  await expectAnswers([202, 431], { both: post("Content-Length: 13", '{"title":"a"}') + long });
});

it("keeps every one of 200 header fields, and answers 431 to more", async () => {
  const many = "a: b\r\n".repeat(197);
  await expectAnswers([], {
    plain: [post(`${many}Connection: close\r\nContent-Length: 2`, "{}"), 202],
    compressed: [post(`${many}Content-Encoding: br\r\nContent-Length: 2`, "{}"), 415],
    "one more": [post(`${many}a: b\r\nConnection: close\r\nContent-Length: 2`, "{}"), 431],
    "many more, and no body": [post(`${"a:\r\n".repeat(2_500)}Content-Length: 100`), 431],
    "many more, for a page": [
      `POST /login HTTP/1.1\r\nHost: x\r\n${"a:\r\n".repeat(2_500)}Content-Length: 100\r\n\r\n`,
      431,
    ],
  });
});

it("keeps no connection of a request that was answered without its body", async () => {
  const startedAt = performance.now();
  for (const path of ["/healthz", "/login", "/no/such/page"]) {
    const raw = await openRaw(relay.url);
    await raw.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n`);
    expect(await raw.readToEnd()).toHaveLength(1);
  }
  // Each would stay for the 20 s that a request has to come.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

it("stores nothing of a body that goes on for ever, or ends before its length", async () => {
  const endless = await openRaw(relay.url);
  await endless.write(post("Transfer-Encoding: chunked"));
  const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
  while (!endless.socket.closed) await endless.write(chunk);
  // The reset that ends such a sender may overtake the answer.
  expect((await endless.readToEnd()).map(({ status }) => status)).toEqual(expect.toBeOneOf([[413], []]));

  const short = await openRaw(relay.url);
  await short.write(post("Content-Length: 100", `{"title":"half`));
  short.socket.end();
  expect((await short.readToEnd()).map(({ status }) => status)).toEqual([400]);
  expect(await titlesStored()).toEqual(["afterwards"]);
});

it("refuses every body that is compressed in a way it does not undo, and only those", async () => {
  const chunks = "2\r\n{}\r\n0\r\n\r\n";
  const coded = (coding: string) =>
    post(`Connection: close\r\nTransfer-Encoding: chunked\r\nContent-Encoding: ${coding}`, chunks);
  await expectAnswers([415], {
    brotli: coded("br"),
    "gzip twice": coded("gzip, gzip"),
    "gzip behind another": coded("br, gzip"),
    "one of two": coded("identity, br"),
    "unheard of": coded("x-unheard-of"),
    "in transfer": post("Connection: close\r\nTransfer-Encoding: gzip, chunked", chunks),
    "in transfer, too": post("Connection: close\r\nContent-Encoding: gzip\r\nTransfer-Encoding: gzip, chunked", chunks),
    "in transfer, and not the body": post(
      "Connection: close\r\nContent-Encoding: identity\r\nTransfer-Encoding: gzip, chunked",
      chunks,
    ),
  });
  await expectAnswers([202], {
    "an empty list": coded(""),
    identity: coded("Identity"),
    twice: coded("identity, identity"),
    "what is said to be gzip and is not": coded("GZip"),
  });
});

it("serves a sender with manners of its own", async () => {
  const many = Array.from({ length: 190 }, (_, index) => `a${index}: b\r\n`).join("");
  await expectAnswers([202], {
    "expects what nobody knows": post("Connection: close\r\nExpect: tea\r\nContent-Length: 2", "{}"),
    "offers to upgrade": post("Connection: close, upgrade\r\nUpgrade: h2c\r\nContent-Length: 2", "{}"),
    "speaks HTTP/1.0": `POST ${path} HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}`,
    "names the whole address": goodPost("whole").replace("/hooks", "http://tocsin.example/hooks"),
    "sends trailers": post("Connection: close\r\nTransfer-Encoding: chunked", "2\r\n{}\r\n0\r\nX-Y: z\r\n\r\n"),
    "sends bytes beyond ASCII in a header": post("Connection: close\r\nX-A: \xff\xfe\r\nContent-Length: 2", "{}"),
    "sends hundreds of headers": post(`${many}Connection: close\r\nContent-Length: 2`, "{}"),
  });

  const polite = await openRaw(relay.url);
  await polite.write(post("Connection: close\r\nExpect: 100-continue\r\nContent-Length: 16"));
  expect((await polite.readAnswers(1)).map(({ status }) => status)).toEqual([100]);
  await polite.write(`{"title":"asks"}`);
  expect((await polite.readToEnd()).map(({ status }) => status)).toEqual([100, 202]);
});
