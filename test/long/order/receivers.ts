import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { listen, listenForMail, openChats, type Scope } from "../../relays/scope.ts";

export const botToken = "7800:order-bot-token-canary";
/** Each may get 18 messages a minute. */
export const chats = Array.from({ length: 24 }, (_, index) => ({
  name: `chat-${index}`,
  id: `-100180000${100 + index}`,
}));
/** What a pair is called, in every message about it. */
export const pairName = (number: number) => `K${String(number).padStart(4, "0")}Z`;
const isOver = (text: string) => text.startsWith("✅");
const nameIn = /\bK\d{4}Z\b/;

/** A message as its reader sees it at the end. */
export interface Message {
  isOver: boolean;
  /** When it made a sound, and of what. Epoch milliseconds. Undefined: it makes none, or nobody hears it. */
  rang?: { at: number; isOver: boolean };
}

export type Receivers = Awaited<ReturnType<typeof createReceivers>>;

const faults = ["none", "reset", "500", "429", "none", "hung"] as const;
/** Of a mail server: 451 is its 500 and its 429. */
const mailFaults = ["none", "451", "none", "451", "none", "hung"] as const;

/** A program, chats, and a mailbox, of which each fails the first call about each pair in a way of its own. */
export async function createReceivers(scope: Scope) {
  const program = new Map<string, Message[]>();
  const mailed = new Map<string, Message[]>();
  const called = new Set<string>();
  const add = (list: Map<string, Message[]>, name: string, message: Message) =>
    list.set(name, [...(list.get(name) ?? []), message]);
  /** How the first call about a pair at a destination fails: another way at each destination. */
  function take<Fault>(destination: string, name: string, of: readonly Fault[], shift: number): Fault | undefined {
    if (called.has(`${destination} ${name}`)) return undefined;
    called.add(`${destination} ${name}`);
    return of[(Number(/\d+/.exec(name)?.[0]) + shift) % of.length];
  }

  type Fault = (typeof faults)[number] | undefined;
  function fail(fault: Fault, request: IncomingMessage, response: ServerResponse): boolean {
    if (fault === "reset") request.socket.destroy();
    else if (fault === "500") response.writeHead(500).end("{}");
    else if (fault === "429") {
      const said = { ok: false, error_code: 429, description: "slow", parameters: { retry_after: 1 } };
      response.writeHead(429, { "retry-after": "1", "content-type": "application/json" }).end(JSON.stringify(said));
    }
    // The caller gives up.
    else return fault === "hung";
    return true;
  }

  const hookUrl = await listen(scope, async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    const alerts = (JSON.parse(body.toString()) as { data?: { alerts?: { title: string; status: string }[] } }).data
      ?.alerts;
    const name = nameIn.exec(alerts?.[0]?.title ?? "")?.[0] ?? "";
    if (fail(take("program", name, faults, 0), request, response)) return;
    for (const { title, status } of alerts?.toReversed() ?? [])
      add(program, nameIn.exec(title)?.[0] ?? "", { isOver: status === "resolved" });
    response.writeHead(204).end();
  });

  const bot = { tokens: [botToken], chats: chats.map(({ id, name }) => ({ id, title: name })) };
  const { url: chatUrl, messages } = await openChats(scope, bot, ({ body, request, response, pass }) => {
    const name = nameIn.exec(body.toString())?.[0];
    const hasFailed = name !== undefined && fail(take("chat", name, faults, 2), request, response);
    return hasFailed || pass();
  });

  const smtpUrl = await listenForMail(scope, async ({ subject }) => {
    const name = nameIn.exec(subject)?.[0] ?? "";
    const fault = take("mail", name, mailFaults, 4);
    if (fault === "451") return Object.assign(new Error("try again later"), { responseCode: 451 });
    if (fault === "hung") return "hang";
    add(mailed, name, { isOver: subject.includes("[Over") });
    return undefined;
  });

  const chatOf = (name: string) => chats[Number(/\d+/.exec(name)?.[0]) % chats.length];
  return {
    ...{ hookUrl, chatUrl, smtpUrl },
    /** What each destination shows of a pair now, oldest first. What was refused, or got no answer, is not among it. */
    shown: (name: string): Record<"program" | "mail" | "chat", Message[]> => ({
      program: program.get(name) ?? [],
      mail: mailed.get(name) ?? [],
      chat: messages(chatOf(name)?.id ?? "")
        .filter(({ text }) => text.includes(name))
        .map(({ text, silent, sentAt, edits }) => ({
          isOver: isOver(text),
          rang: silent ? undefined : { at: sentAt, isOver: isOver(edits[0]?.text ?? text) },
        })),
    }),
  };
}
