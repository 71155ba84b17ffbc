import { type Agent, request } from "node:http";
import { expect, onTestFinished } from "vitest";
import type { RelayProcess } from "./relay-process.ts";

/** Posts alerts to a relay from several senders at once, each behind the answer to the one before, until it is ended. */
export function keepPosting(relay: RelayProcess, senders: number, bodyOf: (sender: number, count: number) => string) {
  /** Ids of what was answered 202. */
  const accepted: string[] = [];
  /** The statuses of all others; 0 where nothing answered. */
  const refused: number[] = [];
  let isOver = false;
  async function post(sender: number): Promise<void> {
    for (let count = 0; !isOver; count += 1) {
      const answer = await relay.post(bodyOf(sender, count)).catch(() => undefined);
      if (answer?.status === 202) accepted.push(...answer.ids);
      else refused.push(answer?.status ?? 0);
    }
  }
  const all = Array.from({ length: senders }, (_, sender) => post(sender));
  return {
    accepted,
    refused,
    /** Waits until this many more were taken. */
    async grow(many: number) {
      const wanted = accepted.length + many;
      await expect.poll(() => accepted.length).toBeGreaterThanOrEqual(wanted);
    },
    async end() {
      isOver = true;
      await Promise.all(all);
    },
  };
}

/** Posts alerts, each so long behind the answer to the one before, until nothing answers. Ids of what was answered 202 are added. */
export async function postUntilKilled(
  relay: RelayProcess,
  accepted: string[],
  bodyOf: () => object,
  pauseMs: () => number,
): Promise<void> {
  for (;;) {
    const answer = await relay.post(JSON.stringify(bodyOf())).catch(() => undefined);
    if (answer === undefined) return;
    if (answer.status === 202) accepted.push(...answer.ids);
    await new Promise((resolve) => setTimeout(resolve, pauseMs()));
  }
}

/** One alert with this title over a connection of the agent's; without one over a new connection. Its status. */
export function postOnce(url: string, title: string, agent?: Agent, headers: Record<string, string> = {}) {
  const own = { "content-type": "application/json", ...(agent === undefined && { connection: "close" }), ...headers };
  return new Promise<number>((resolve, reject) => {
    const sent = request(url, { method: "POST", agent: agent ?? false, headers: own }, (response) => {
      response.on("error", reject);
      response.on("end", () => resolve(response.statusCode ?? 0));
      response.resume();
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ title }));
  });
}

/**
 * Begins this many a second, numbered from 0. A stop waits for those that have begun.
 * @param atEnd takes what ends it. Default: it ends with the test.
 */
export function sendAtRate(
  perSecond: number,
  send: (serial: number) => Promise<void>,
  atEnd: (undo: () => void) => void = onTestFinished,
) {
  const sending = new Set<Promise<void>>();
  let serial = 0;
  const timer = setInterval(() => {
    const one = send(serial).finally(() => sending.delete(one));
    sending.add(one);
    serial += 1;
  }, 1_000 / perSecond);
  atEnd(() => clearInterval(timer));
  return {
    nextSerial: () => serial,
    async stop() {
      clearInterval(timer);
      await Promise.all(sending);
    },
  };
}
