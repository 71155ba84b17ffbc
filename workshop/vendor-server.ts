import { setTimeout as delay } from "node:timers/promises";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Now } from "../src/core/clock.ts";
import { readJson } from "../src/ground/text/read-json.ts";
import type { ShownCall } from "./board/source.ts";
import { openServer } from "./stand-in.ts";

/** What the stand-ins of chats and applications share: a server with faults, the log of its requests, and limits. */

/** The faults that lose the right answer: the status and the text in its place, or no answer. */
const lostAnswers = {
  hang: undefined,
  reset: undefined,
  error_500: [500, '{"ok":false,"error_code":500,"description":"Internal Server Error"}'],
  bad_gateway: [502, "<html><body><h1>502 Bad Gateway</h1></body></html>"],
  not_json: [200, '{"ok":true,"result":{"mess'],
  /** Without the time to wait. */
  flood_unsaid: [429, '{"ok":false,"error_code":429,"description":"Too Many Requests"}'],
} as const;

/** `Own`: the kinds that the vendor meets itself. */
export interface VendorFault<Own extends string = string> {
  kind: keyof typeof lostAnswers | "slow" | Own;
  /** For faults that lose the answer: the request is carried out despite the fault. Default false. */
  delivered?: boolean;
  /** Milliseconds, for `slow`. Default 2,000. */
  delayMs?: number;
}

export const faultChoices = {
  "never answers": { kind: "hang" },
  "delivers, and never answers": { kind: "hang", delivered: true },
  "drops the connection after reading": { kind: "reset" },
  "delivers, and drops the connection": { kind: "reset", delivered: true },
  "answers 500": { kind: "error_500" },
  "answers a 502 page": { kind: "bad_gateway" },
  "answers after two seconds": { kind: "slow" },
} as const satisfies Record<string, VendorFault>;

/** A request that was read. */
export interface Asked<Call> {
  call: Call;
  fault?: VendorFault;
  /** Carries the request out. */
  run(): Response | Promise<Response>;
}

const callsKept = 20_000;

/** `read` may refuse a request, which is then in no log. `calls` has the others, the oldest first. */
export async function openVendorServer<Call extends { method: string }>(
  now: Now,
  changed: () => void,
  read: (request: Request) => Promise<Asked<Call> | Response>,
) {
  const calls: (Call & ShownCall)[] = [];
  // Longer than clients keep a connection: on a busy machine the end of an idle connection could meet the next message.
  const options = { keepAliveTimeout: 75_000 };
  const server = await openServer(async (request, { incoming }) => {
    const at = now();
    const asked = await read(request);
    if (asked instanceof Response) return asked;
    const answer = await meetFault(asked);
    const kind = asked.fault?.kind;
    calls.push({ ...asked.call, at, status: answer?.status ?? 0, description: await wordsOf(answer), fault: kind });
    if (calls.length > callsKept) calls.shift();
    changed();
    if (answer !== undefined) return answer;
    if (kind === "hang") incoming.resume();
    else incoming.socket.resetAndDestroy();
    return RESPONSE_ALREADY_SENT;
  }, options);
  return { ...server, calls };
}

async function meetFault({ fault, run }: Asked<unknown>): Promise<Response | undefined> {
  if (fault?.kind === "slow") await delay(fault.delayMs ?? 2_000, undefined, { ref: false });
  if (fault === undefined || !(fault.kind in lostAnswers)) return run();
  if (fault.delivered === true) await run();
  const lost = lostAnswers[fault.kind as keyof typeof lostAnswers];
  if (lost === undefined) return undefined;
  const [status, text] = lost;
  return new Response(text, {
    status,
    headers: { "content-type": text.startsWith("<") ? "text/html" : "application/json" },
  });
}

/** The vendor's words of a refusal. */
async function wordsOf(answer: Response | undefined): Promise<string | undefined> {
  if (answer === undefined || answer.ok) return undefined;
  const text = await answer.clone().text();
  const said = readJson(text) as { description?: string; message?: string; error?: string } | undefined;
  return said === undefined ? text : (said.description ?? said.message ?? said.error);
}

export interface Window {
  key: string;
  atMost: number;
  spanMs: number;
}

/** Sliding windows, as vendors describe their limits. Refused requests are not counted. */
export class Limits {
  readonly #taken = new Map<string, number[]>();
  readonly #closedUntil = new Map<string, number>();

  constructor(private readonly now: Now) {}

  /** Closes what the key names for this long. */
  close(key: string, ms: number): void {
    this.#closedUntil.set(key, this.now() + ms);
  }

  /** The milliseconds to wait before a request that all windows count. 0: none. */
  waitMs(key: string, windows: readonly Window[]): number {
    const at = this.now();
    const waits = windows.map((window) => {
      const first = this.#recent(window).at(-window.atMost);
      return first === undefined ? 0 : first + window.spanMs - at;
    });
    return Math.max(0, (this.#closedUntil.get(key) ?? 0) - at, ...waits);
  }

  count(windows: readonly Window[]): void {
    for (const window of windows) this.#taken.set(window.key, [...this.#recent(window), this.now()]);
  }

  #recent({ key, spanMs }: Window): number[] {
    return (this.#taken.get(key) ?? []).filter((time) => time > this.now() - spanMs);
  }
}
