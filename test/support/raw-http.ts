import { once } from "node:events";
import { connect } from "node:net";
import { onTestFinished } from "vitest";

/** One HTTP answer as it came over the wire. */
export interface RawAnswer {
  status: number;
  /** The head as sent, without the line of `Date`. */
  head: string;
  body: string;
}

/**
 * A connection on which a test says what no HTTP client would. It tolerates a reset, as a hostile sender does.
 * @param options.allowHalfOpen goes on sending when the other side has ended, until the test ends it. Default false.
 * @param options.localAddress one of the loopback network, to come from another network than others do.
 */
export async function openRaw(url: string, options: { allowHalfOpen?: boolean; localAddress?: string } = {}) {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, noDelay: true, ...options });
  let text = "";
  let asksHead = false;
  socket.setEncoding("latin1");
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  return {
    socket,
    /** Resolves when the system has taken the bytes, or when the other side has gone. */
    write: (bytes: string | Uint8Array) => {
      asksHead ||= typeof bytes === "string" && bytes.startsWith("HEAD ");
      return new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
    },
    /** Every answer (`100 Continue` among them) until the other side has closed; what is no HTTP is left out. */
    async readToEnd() {
      await closed;
      return parseAnswers(text, asksHead);
    },
    /** Resolves when that many answers are there, or when the other side has closed. */
    async readAnswers(count: number) {
      while (parseAnswers(text).length < count && !socket.closed)
        await Promise.race([once(socket, "data").catch(() => {}), closed]);
      return parseAnswers(text);
    },
  };
}

export type RawConnection = Awaited<ReturnType<typeof openRaw>>;

/** Sends the bytes on a connection of their own; every answer until the other side closes. */
export async function exchangeRaw(url: string, bytes: string | Uint8Array): Promise<RawAnswer[]> {
  const connection = await openRaw(url);
  await connection.write(bytes);
  return connection.readToEnd();
}

/** @param bodiless they are to HEAD, and say the length of what GET would bring. Default false. */
function parseAnswers(text: string, bodiless = false): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(rest)?.[1];
    if (end === -1 || status === undefined) return answers;
    const head = rest.slice(0, end);
    const length = bodiless ? 0 : Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    if (body.length < length) return answers;
    answers.push({ status: Number(status), head: head.replace(/\r\nDate: [^\r]*/i, ""), body });
    rest = rest.slice(end + 4 + length).replace(/^0\r\n\r\n/, "");
  }
}
