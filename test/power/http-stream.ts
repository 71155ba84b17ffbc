/** One HTTP message of what was written to a socket. */
export interface SentMessage {
  /** Place of the call that wrote its first byte: from then on the other side may have it. */
  at: number;
  /** First line, e.g. `HTTP/1.1 202 Accepted` or `POST /hook HTTP/1.1`. */
  start: string;
  body: string;
}

type Chunk = { begin: number; bytes: Buffer };

const headEnd = "\r\n\r\n";

/** The whole messages of one socket, in their order; one that was cut off is left out. */
export function readMessages(chunks: Chunk[]): SentMessage[] {
  const bytes = Buffer.concat(chunks.map((chunk) => chunk.bytes));
  let length = 0;
  const ends = chunks.map((chunk) => (length += chunk.bytes.length));
  const placeOf = (at: number) => chunks[ends.findIndex((end) => end > at)]?.begin ?? 0;
  const messages: SentMessage[] = [];
  for (let from = 0; ; ) {
    const head = bytes.indexOf(headEnd, from);
    if (head === -1) return messages;
    const text = bytes.toString("latin1", from, head);
    const [start = ""] = text.split("\r\n", 1);
    if (!start.includes("HTTP/1.1")) return messages;
    const body = readBody(bytes, head + headEnd.length, text, start);
    if (body === undefined) return messages;
    messages.push({ at: placeOf(from), start, body: body.text });
    from = body.end;
  }
}

function readBody(bytes: Buffer, from: number, head: string, start: string): { text: string; end: number } | undefined {
  if (/^transfer-encoding: chunked$/im.test(head)) return readChunks(bytes, from);
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
  const hasNone = /^HTTP\/1\.1 (1\d\d|204|304)/.test(start);
  const end = from + (hasNone ? 0 : length);
  return end > bytes.length ? undefined : { text: bytes.toString("utf8", from, end), end };
}

function readChunks(bytes: Buffer, from: number): { text: string; end: number } | undefined {
  const parts: Buffer[] = [];
  for (let at = from; ; ) {
    const line = bytes.indexOf("\r\n", at);
    if (line === -1) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, line), 16);
    const end = line + 2 + size + 2;
    if (!(size >= 0) || end > bytes.length) return undefined;
    if (size === 0) return { text: Buffer.concat(parts).toString(), end };
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = end;
  }
}
