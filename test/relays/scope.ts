import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import { parseMail } from "../../workshop/mailbox/inbox.ts";

/** What has to be ended with a run, as it would with a test: the last first. */
export type Scope = { atEnd(undo: () => unknown): void; end(): Promise<void> };

export function createScope(): Scope {
  const undo: (() => unknown)[] = [];
  return {
    atEnd: (one) => void undo.push(one),
    async end() {
      for (const one of undo.splice(0).reverse()) await one();
    },
  };
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** False when it did not come about in time. */
export async function until(isSo: () => boolean | Promise<boolean>, limitMs: number, everyMs = 100): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (performance.now() < end) {
    if (await isSo()) return true;
    await pause(everyMs);
  }
  return isSo();
}

/** An HTTP server of this machine, until the end; its address. */
export async function listen(
  { atEnd }: Scope,
  answer: (...given: Parameters<RequestListener>) => unknown,
): Promise<string> {
  const server = createServer((request, response) => void answer(request, response));
  // No connection that a sender keeps ends just when it sends.
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A mail server, until the end; its address. It refuses with what `take` answers, and never answers a mail where that is `hang`. */
export async function listenForMail(
  { atEnd }: Scope,
  take: (mail: { subject: string; text: string }) => Promise<Error | "hang" | undefined>,
): Promise<string> {
  const mail = new SMTPServer({
    ...{ name: "mail.stand-in.example", disabledCommands: ["STARTTLS", "AUTH"] },
    ...{ authOptional: true, disableReverseLookup: true },
    async onData(stream, _session, reply) {
      // A relay that is killed may leave in the middle of a message.
      const bytes = await buffer(stream).catch(() => undefined);
      const answer = bytes && (await take(await parseMail(bytes, Date.now())));
      if (bytes !== undefined && answer !== "hang") reply(answer);
    },
  });
  mail.on("error", () => {});
  mail.listen(0, "127.0.0.1");
  await once(mail.server, "listening");
  atEnd(() => new Promise<void>((resolve) => mail.close(resolve)));
  return `smtp://127.0.0.1:${(mail.server.address() as AddressInfo).port}`;
}
