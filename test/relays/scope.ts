import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import { type ChatStandInOptions, createChatStandIn } from "../../workshop/chat/chat-stand-in.ts";
import { parseMail } from "../../workshop/mailbox/inbox.ts";
import { listenOnLoopback } from "../support/loopback.ts";

/** What has to be ended with a run, as it would with a test: the last first. */
export type Scope = { atEnd(undo: () => unknown): void };

export async function inScope<T>(run: (scope: Scope) => Promise<T>): Promise<T> {
  const undo: (() => unknown)[] = [];
  try {
    return await run({ atEnd: (one) => void undo.push(one) });
  } finally {
    for (const one of undo.reverse()) await one();
  }
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
  return (await listenOnLoopback(server, atEnd)).url;
}

/** A call to a chat. `pass` hands it on to the stand-in, answers what that has answered, and says with which status. */
export type ChatCall = { body: Buffer; request: IncomingMessage; response: ServerResponse; pass(): Promise<number> };

/** A stand-in of the chats, until the end, behind what `meet` does with each call. */
export async function openChats(
  scope: Scope,
  options: Omit<ChatStandInOptions, "now">,
  meet: (call: ChatCall) => unknown,
) {
  const standIn = await createChatStandIn({ now: Date.now, ...options });
  scope.atEnd(standIn.close);
  const url = await listen(scope, async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    const pass = async () => {
      const headers = { "content-type": request.headers["content-type"] ?? "application/json" };
      const answer = await fetch(`${standIn.url}${request.url}`, { method: request.method, headers, body });
      const text = await answer.text();
      response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
      return answer.status;
    };
    await meet({ body, request, response, pass });
  });
  return { url, messages: standIn.messages };
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
  return `smtp://127.0.0.1:${(await listenOnLoopback(mail.server, atEnd)).port}`;
}
