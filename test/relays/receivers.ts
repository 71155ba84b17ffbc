import { json } from "node:stream/consumers";
import type { SeededRandom } from "../support/seeded-random.ts";
import { listen, listenForMail, openChats, pause, type Scope } from "./scope.ts";

export const botToken = "7700:relays-bot-token-canary";
export const danceToken = "7701:dance-bot-token-canary";
export const chats = { desk: "-1001700000001", ops: "-1001700000002", dance: "-1001700000003" };

/** One alert as a destination has got it. */
export interface Arrival {
  /** Epoch milliseconds by the clock of the process that runs the journey. */
  at: number;
  destination: string;
  /** Of the alert: what stands in its title. */
  name: string;
  isMarkedRepeat: boolean;
}

export type Receivers = Awaited<ReturnType<typeof createReceivers>>;

/** The bot calls once in two seconds; what is on its way on a busy machine may come closer together than it left. */
const leastBotGapMs = 1_000;
/** What each alert is called, so that every destination shows which it is. */
const nameIn = /\bA\d{6}Z\b/g;
const namesIn = (text: string) => [...new Set(text.match(nameIn) ?? [])];
const isMarked = (text: string) => text.includes("(possible repeat)");

/** A bot's chats as strict as the vendor, a mail server, and two webhooks, all on this machine. Each takes its time. */
export async function createReceivers(scope: Scope, random: SeededRandom) {
  const arrivals: Arrival[] = [];
  /** Two calls to one chat at a time, or to the bot too close together, and answers 429: what went wrong, with the time. */
  const breaches: string[] = [];
  const note = (destination: string, text: string, marked = isMarked(text)) => {
    const at = Date.now();
    for (const name of namesIn(text)) arrivals.push({ at, destination, name, isMarkedRepeat: marked });
  };

  const bots = {
    tokens: [botToken, danceToken],
    chats: Object.entries(chats).map(([title, id]) => ({ id, title })),
  };
  const underWay = new Map<string, string>();
  let last = { at: 0, what: "nothing" };
  /** Before the stand-in: holds each call for a while, and sees which are there at once. */
  const { url: chatUrl, messages } = await openChats(scope, bots, async ({ body, request, pass }) => {
    const { chat_id: chat, text } = readJson(body) as { chat_id?: string | number; text?: string };
    const destination = Object.entries(chats).find(([, id]) => id === String(chat))?.[0];
    const what = `${request.url?.split("/").at(-1)} ${namesIn(text ?? "").join()}`;
    if (destination !== undefined) {
      const other = underWay.get(destination);
      if (other !== undefined) breaches.push(`${iso()}: two calls to ${destination} at once: ${other}; ${what}`);
      underWay.set(destination, what);
      if (what.startsWith("send") && destination !== "dance") {
        const sinceMs = Date.now() - last.at;
        if (sinceMs < leastBotGapMs)
          breaches.push(`${iso()}: ${what} for ${destination}, ${sinceMs} ms behind ${last.what}`);
        last = { at: Date.now(), what: `${what} for ${destination}` };
      }
    }
    await pause(20 + random.next() * 130);
    const status = await pass();
    if (status === 429) breaches.push(`${iso()}: ${destination} was called too often: ${what}`);
    if (status === 200 && destination !== undefined && destination !== "dance") note(destination, text ?? "");
    if (destination !== undefined) underWay.delete(destination);
  });

  let broken: (() => void) | undefined;
  let onHookCall: (() => void) | undefined;
  const hooksUrl = await listen(scope, async (request, response) => {
    const body = (await json(request).catch(() => undefined)) as WebhookBody | undefined;
    const destination = request.url === "/fragile" ? "fragile" : "hook";
    if (destination === "fragile" && broken !== undefined) {
      broken();
      response.writeHead(405).end();
      return;
    }
    // Somebody has left in the middle, or only asks whether it works.
    if (body?.data === undefined) return void response.writeHead(204).end();
    const titles = (body.data.alerts ?? []).map(({ title }) => title ?? "").join(" ");
    note(destination, titles, body.data.repeat ?? false);
    onHookCall?.();
    await pause(2 + random.next() * 10);
    response.writeHead(204).end();
  });

  const smtpUrl = await listenForMail(scope, async ({ subject, text }) => {
    await pause(5 + random.next() * 20);
    note("mail", subject, isMarked(`${subject} ${text}`));
    return undefined;
  });

  return {
    ...{ chatUrl, smtpUrl, hookUrl: `${hooksUrl}/hook`, fragileUrl: `${hooksUrl}/fragile` },
    /** `fragileUrl` answers 204 until it is broken, and then says that it takes no alerts, behind `whenAsked`. */
    breakFragile(whenAsked: () => void) {
      broken = whenAsked;
    },
    mendFragile() {
      broken = undefined;
    },
    /** At each call of the other webhook that has arrived, before it is answered. Undefined: no more. */
    onHookCall(notice: (() => void) | undefined) {
      onHookCall = notice;
    },
    ...{ arrivals, breaches },
    /** What a reader of the chat sees. */
    messages: (chat: keyof typeof chats) => messages(chats[chat]),
  };
}

type WebhookBody = { data: { alerts?: { title?: string }[]; repeat?: boolean } };

const iso = () => new Date().toISOString();

function readJson(body: Buffer): object {
  try {
    return JSON.parse(body.toString()) as object;
  } catch {
    return {};
  }
}
