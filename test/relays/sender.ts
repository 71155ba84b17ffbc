import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type { SeededRandom } from "../support/seeded-random.ts";
import { danceBody } from "./dance.ts";
import { pause } from "./scope.ts";

/** An alert as its sender knows it. */
export interface Sent {
  /** Stands in its title, and in whatever a destination gets of it. */
  name: string;
  /** Which destinations its route names. */
  to: string[];
  key?: string;
  /** What its body says besides. */
  more?: object;
  tries: { at: number; outcome: string; id?: string }[];
  /** Was answered 202. */
  isAccepted: boolean;
}

interface Planned extends Sent {
  /** How often it comes at once. */
  twins: number;
}

export type Sender = ReturnType<typeof startSender>;

export interface SenderOptions {
  url: string;
  perSecond: number;
  random: SeededRandom;
  /** Nothing is sent twice, whatever becomes of it. Default false: some have a key, and some of these come to several relays at once. */
  neverRepeats?: boolean;
  /** Which destinations the nth alert is for; the webhook gets all but what is for `fragile`. Default `usualTarget`. */
  targetOf?(number: number): Target;
}

export type Target = "desk" | "ops" | "mail" | "fragile" | "dance" | "rest";

const answerWithinMs = 15_000;
const triesAgainMs = 1_000;

/** Two of three hundred go to a chat each, fewer than it takes in a minute, five to the dance, thirty to the mailbox. */
export function usualTarget(number: number): Target {
  if (number % 300 === 10) return "desk";
  if (number % 300 === 160) return "ops";
  if (number % 60 === 35) return "dance";
  return number % 10 === 3 ? "mail" : "rest";
}

/** At its rate, over kept connections and new ones. */
export function startSender(options: SenderOptions) {
  const { url, perSecond, random, neverRepeats = false, targetOf = usualTarget } = options;
  const agents = [new Agent({ keepAlive: true, maxSockets: 16 }), new Agent({ keepAlive: false })];
  const sent: Sent[] = [];
  const underWay = new Set<Promise<void>>();
  let danced = 0;

  function plan(given?: Target, text?: string): Planned {
    const number = sent.length;
    const name = `A${String(number).padStart(6, "0")}Z`;
    const target = given ?? targetOf(number);
    const to = target === "rest" ? ["hook"] : ["fragile", "dance"].includes(target) ? [target] : [target, "hook"];
    const isKeyed = !neverRepeats && (number % 3 === 0 || target === "dance");
    const more = target === "dance" ? danceBody(danced++) : { message: text };
    const twins = isKeyed && random.below(5) === 0 ? 3 : 1;
    return { name, to, key: isKeyed ? `key-${name}` : undefined, tries: [], isAccepted: false, twins, more };
  }

  async function tryOnce(alert: Planned): Promise<boolean> {
    const body = JSON.stringify({ title: `Pool ${alert.name} fell`, to: alert.to[0], ...alert.more });
    const tried: Sent["tries"][number] = { at: Date.now(), outcome: "under way" };
    alert.tries.push(tried);
    const agent = agents[random.below(agents.length)] as Agent;
    try {
      const { status, id } = await post(url, agent, body, alert.key);
      tried.outcome = String(status);
      tried.id = id;
      if (status === 202) alert.isAccepted = true;
    } catch (error) {
      tried.outcome = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    }
    return tried.outcome === "202";
  }

  async function send(alert: Planned): Promise<void> {
    const isTaken = await Promise.all(Array.from({ length: alert.twins }, () => tryOnce(alert)));
    // Only what has a key is sent again: the sender would not know whether that makes two of it.
    while (alert.key !== undefined && !isTaken.includes(true) && !alert.isAccepted) {
      await pause(triesAgainMs);
      await tryOnce(alert);
    }
  }

  function sendNext(target?: Target, text?: string): Sent {
    const alert = plan(target, text);
    sent.push(alert);
    const sending = send(alert).finally(() => underWay.delete(sending));
    underWay.add(sending);
    return alert;
  }

  let beside = 0;
  const startedAt = performance.now();
  const timer = setInterval(() => {
    // A machine that is busy catches up.
    while (sent.length - beside < ((performance.now() - startedAt) / 1_000) * perSecond) sendNext();
  }, 10);
  return {
    sent,
    /** Sends this many more at once; with this text, if any. */
    burst(count: number, target: Target, text?: string): Sent[] {
      beside += count;
      return Array.from({ length: count }, () => sendNext(target, text));
    },
    /** Sends nothing new, and waits for what is under way. */
    async end() {
      clearInterval(timer);
      await Promise.all(underWay);
      for (const agent of agents) agent.destroy();
    },
  };
}

async function post(url: string, agent: Agent, body: string, key?: string): Promise<{ status: number; id?: string }> {
  const headers = { "content-type": "application/json", ...(key !== undefined && { "idempotency-key": key }) };
  const sent = request(url, { method: "POST", agent, headers, timeout: answerWithinMs });
  sent.on("timeout", () => sent.destroy(new Error("no answer in time")));
  const [response] = (await once(sent.end(body), "response")) as [IncomingMessage];
  const said = await text(response);
  const status = response.statusCode ?? 0;
  return status === 202 ? { status, id: (JSON.parse(said) as { data: { id: string } }).data.id } : { status };
}
