import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listenOnLoopback } from "../loopback.ts";

export type VendorRequest = Awaited<ReturnType<typeof readRequest>>;

export interface UploadedFile {
  /** The name of its field. */
  name: string;
  filename: string;
  type: string;
  bytes: Uint8Array;
}

export type VendorAnswer = { status: number; headers?: Record<string, string>; body?: string };

/** What was read is answered so, or never, or the connection is closed without a word. */
type Reply = VendorAnswer | "hang" | "close";

/** How the other side behaves, until changed. */
export type Behaviour =
  | { kind: "normal" }
  /** Every request is answered so, and nothing is taken. */
  | { kind: "answer"; answer: (request: VendorRequest) => VendorAnswer }
  /** Takes the message, and then: says nothing, cuts the line, cuts it in the middle of the answer. */
  | { kind: "take_then_hang" }
  | { kind: "take_then_reset" }
  | { kind: "take_then_half_answer" }
  /** Each request waits in `held` until the test calls it: then it is handled as usual. */
  | { kind: "hold" }
  /** Reads the request and answers with bytes that are not HTTP. */
  | { kind: "garbage" };

/** A real HTTP server on loopback that plays one vendor until the test ends; `handle` is what it does when nothing is wrong. */
export async function createHttpVendor(handle: (request: VendorRequest) => Reply | Promise<Reply>) {
  const requests: VendorRequest[] = [];
  const held: (() => void)[] = [];
  let behaviour: Behaviour = { kind: "normal" };
  let waiting: (() => void)[] = [];

  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming);
    requests.push(request);
    await act(behaviour, request, response);
    for (const resume of waiting.splice(0)) resume();
  });

  async function act(how: Behaviour, request: VendorRequest, response: ServerResponse): Promise<void> {
    switch (how.kind) {
      case "normal":
        reply(response, await handle(request));
        return;
      case "answer":
        reply(response, how.answer(request));
        return;
      case "hold":
        held.push(async () => reply(response, await handle(request)));
        return;
      case "take_then_hang":
        await handle(request);
        return;
      case "take_then_reset":
        await handle(request);
        response.socket?.resetAndDestroy();
        return;
      case "take_then_half_answer": {
        const { status } = (await handle(request)) as VendorAnswer;
        response.socket?.end(`HTTP/1.1 ${status} OK\r\ncontent-length: 500\r\n\r\n{"half`);
        return;
      }
      case "garbage":
        response.socket?.end("\u0000\u0001 220 this is not the protocol you are looking for\r\n");
        return;
    }
  }

  const { url: origin, close } = await listenOnLoopback(server);
  return {
    ...{ origin, close },
    /** Every request that was read whole, oldest first. */
    requests,
    /** The answers that are held back, oldest first. */
    held,
    behave: (next: Behaviour) => {
      behaviour = next;
    },
    /** Resolves when the next request has been read whole. */
    nextRequest: () =>
      new Promise<void>((resume) => {
        waiting = [...waiting, resume];
      }),
  };
}

export type HttpVendor = Awaited<ReturnType<typeof createHttpVendor>>;

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): VendorAnswer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

export const text = (status: number, body: string, headers: Record<string, string> = {}): VendorAnswer => ({
  status,
  headers: { "content-type": "text/plain", ...headers },
  body,
});

/** What a careless vendor says: everything that it was sent. */
export const echo =
  (status: number): ((request: VendorRequest) => VendorAnswer) =>
  (request) => {
    const lines = [request.path, ...Object.entries(request.headers).map((pair) => pair.join(": ")), request.body];
    return json(status, { message: lines.join(" ") });
  };

export function parseObject(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function reply(response: ServerResponse, answer: Reply): void {
  if (answer === "hang") return;
  if (answer === "close") return void response.destroy();
  response.writeHead(answer.status, answer.headers);
  response.end(answer.body);
}

async function readRequest(incoming: IncomingMessage) {
  const { method = "", url: path = "" } = incoming;
  const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
  const bytes = await buffer(incoming);
  const form = await readForm(headers["content-type"] ?? "", bytes);
  // A path has its query with it.
  return { method, path, headers, body: bytes.toString(), bytes, ...(form && { form }) };
}

/** The texts and the files of a `multipart/form-data` that can be read as one. */
async function readForm(type: string, body: Buffer) {
  if (!type.startsWith("multipart/form-data")) return undefined;
  const response = new Response(new Uint8Array(body), { headers: { "content-type": type } });
  const read = await response.formData().catch(() => undefined);
  if (read === undefined) return undefined;
  const fields: Record<string, string> = {};
  const files: UploadedFile[] = [];
  for (const [name, value] of read as unknown as Iterable<[string, string | File]>) {
    if (typeof value === "string") fields[name] = value;
    else {
      const bytes = new Uint8Array(await value.arrayBuffer());
      files.push({ name, filename: value.name, type: value.type, bytes });
    }
  }
  return { fields, files };
}
