import { z } from "zod";
import { type CanaryStage, type CanaryView, canaryStages } from "../contract/operations.ts";
import { type AlertFacts, canaryMark } from "../core/alert.ts";
import { describeArrival, hashBody } from "../core/arrived-body.ts";
import { type CanarySchedule, compileCanarySchedule, describeCanarySchedule } from "../core/canary-schedule.ts";
import type { Clock } from "../core/clock.ts";
import { idPattern, type NewId } from "../core/id.ts";
import type { Log } from "../core/log.ts";
import type { WatchState, WatchStore } from "../core/ports/watch.ts";
import type { Mute } from "../core/rules.ts";
import type { Secret } from "../core/secret.ts";
import { isDnsCode, isTlsCode, nameNetworkCode, networkCodeOf } from "../ground/net/network-code.ts";
import { withTimeLimit } from "../ground/net/time-limit.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { findMuteOf } from "./find-mute.ts";

export interface CanaryDeps {
  schedule: CanarySchedule;
  /** The hook as senders reach it. */
  hookUrl(): Secret;
  /**
   * How a body as large as a real alert's is spoiled on its way to the hook, in words; undefined when it is not, or when
   * that cannot be said. Stores nothing. Never rejects.
   */
  findSpoiling(stop: AbortSignal): Promise<string | undefined>;
  /** What the log knows of an alert. */
  findAlert(id: string): Promise<{ routedAt?: number; request?: { body: Uint8Array } } | undefined>;
  store: WatchStore;
  /** Sends a notice of the relay itself, and saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  /** Those that hold now. */
  activeMutes(): Mute[];
  /** How people reach the page. */
  publicUrl: string;
  clock: Clock;
  newId: NewId;
  log: Log;
}

export interface Canary {
  view(): CanaryView;
  /** Sends one now and then until `stop` is aborted. Never rejects. */
  run(stop: AbortSignal): Promise<void>;
}

/** What became of one. `where`: the stage that it did not pass. */
type Flight = { ok: true } | { ok: false; stage: CanaryStage; detail: string };

const stateName = "canary";
/** After a start, so that whatever stands before the relay has found it. */
const firstAfterMs = 60_000;
/** A failure counts when the next one fails as well. */
const againAfterMs = 60_000;
/** While it fails, so that people hear within minutes that it works again. */
const failingEveryMs = 5 * 60_000;
/** A clock that was set, or a machine that slept, is noticed within this time. */
const longestSleepMs = 10 * 60_000;
const answerWithinMs = 20_000;
const routedWithinMs = 60_000;
const lookEveryMs = 500;
const mostAnswerBytes = 16 * 1024;

const stateSchema = z.object({
  lastAt: z.number().optional(),
  lastOkAt: z.number().optional(),
  failing: z
    .object({
      since: z.number(),
      stage: z.enum(canaryStages),
      detail: z.string(),
      toldAt: z.number().optional(),
    })
    .optional(),
});
type State = z.infer<typeof stateSchema>;

/**
 * A marked test alert on the whole real way: name, TLS, the proxy, the hook, the disk, routing. It goes to nobody, but
 * where the configuration says so. Quiet while it comes through; told once when two in a row do not, and once when it
 * comes through again.
 */
export async function openCanary(deps: CanaryDeps): Promise<Canary> {
  const { store, clock, log } = deps;
  const findNext = compileCanarySchedule(deps.schedule);
  const schedule = describeCanarySchedule(deps.schedule);
  let state: State = stateSchema.safeParse(await store.loadWatchState(stateName)).data ?? {};
  // What was due while the relay did not run is sent at the start.
  let nextAt = Math.max(clock.now() + firstAfterMs, findNext(Math.min(state.lastAt ?? 0, clock.now())));
  if (state.failing !== undefined) nextAt = Math.min(nextAt, clock.now() + failingEveryMs);

  async function keep(next: State, facts?: AlertFacts): Promise<void> {
    const watch = { name: stateName, state: next };
    await (facts === undefined ? store.saveWatchState(watch) : deps.notify(facts, watch));
    state = next;
  }

  async function look(stop: AbortSignal): Promise<void> {
    let flight = await fly(deps, stop);
    if (!flight.ok && state.failing === undefined) {
      log.warn("canary.failed", { stage: flight.stage, detail: flight.detail });
      await clock.sleep(againAfterMs, stop);
      if (!stop.aborted) flight = await fly(deps, stop);
    }
    if (stop.aborted) return;
    const now = clock.now();
    const { failing } = state;
    if (flight.ok) {
      const facts = failing?.toldAt === undefined ? undefined : writeBetter(deps, failing.stage, now - failing.since);
      const isMuted = facts !== undefined && findMuteOf(facts, deps.activeMutes()) !== undefined;
      await keep({ lastAt: now, lastOkAt: now }, isMuted ? undefined : facts);
      if (failing !== undefined) log.info("canary.works", { failedForMs: now - failing.since });
      return;
    }
    const { stage, detail } = flight;
    const since = failing?.since ?? now;
    const facts = failing?.toldAt === undefined ? writeWorse(deps, flight) : undefined;
    const isMuted = facts !== undefined && findMuteOf(facts, deps.activeMutes()) !== undefined;
    const toldAt = failing?.toldAt ?? (isMuted ? undefined : now);
    await keep({ ...state, lastAt: now, failing: { since, stage, detail, toldAt } }, isMuted ? undefined : facts);
    log.error("canary.fails", { stage, detail });
  }

  return {
    view: () => ({
      schedule,
      state: state.failing !== undefined ? "fails" : state.lastOkAt !== undefined ? "works" : "waiting",
      lastAt: state.lastAt,
      lastOkAt: state.lastOkAt,
      nextAt,
      ...state.failing,
    }),
    async run(stop) {
      while (!stop.aborted) {
        await clock.sleep(Math.min(longestSleepMs, nextAt - clock.now()), stop);
        if (stop.aborted) return;
        // Further ahead only when the clock was set back.
        nextAt = Math.min(nextAt, findNext(clock.now()));
        if (clock.now() < nextAt) continue;
        let isKept = true;
        try {
          await look(stop);
        } catch (error) {
          isKept = false;
          log.error("canary.not_sent", { error: String(error).slice(0, 300) });
        }
        const now = clock.now();
        const isWell = isKept && state.failing === undefined;
        nextAt = Math.min(findNext(now), isWell ? Number.POSITIVE_INFINITY : now + failingEveryMs);
      }
    },
  };
}

async function fly(deps: CanaryDeps, stop: AbortSignal): Promise<Flight> {
  // First, since a canary that is spoiled is none any more, and would go to people.
  const spoiling = await deps.findSpoiling(stop);
  if (spoiling !== undefined) return { ok: false, stage: "body", detail: `an alert ${spoiling}` };
  const sent = writeCanary(deps);
  const answer = await post(deps, sent, stop);
  if (!answer.ok) return answer;
  const { clock } = deps;
  const until = clock.now() + routedWithinMs;
  for (;;) {
    const alert = await deps.findAlert(answer.id);
    const came = alert?.request?.body;
    const difference = came && describeArrival(sent, { bytes: came.byteLength, sha256: hashBody(came) });
    if (difference !== undefined) return { ok: false, stage: "body", detail: `it ${difference}` };
    if (alert?.routedAt !== undefined) return { ok: true };
    if (alert === undefined) {
      const detail = "the answer was 202, but the alert is not in this relay's log: another one answers there";
      return { ok: false, stage: "stored", detail };
    }
    if (clock.now() >= until || stop.aborted) {
      const detail = `it was stored, and not routed within ${formatDuration(routedWithinMs)}`;
      return { ok: false, stage: "routed", detail };
    }
    await clock.sleep(lookEveryMs, stop);
  }
}

function writeCanary({ clock, newId }: CanaryDeps): Buffer {
  const body = {
    ...canaryMark,
    title: "Canary of Tocsin",
    text: "Sent by Tocsin to itself, to see that alerts get through.",
    severity: "info",
    eventId: newId(),
    occurredAt: new Date(clock.now()).toISOString(),
  };
  return Buffer.from(JSON.stringify(body));
}

async function post(
  deps: CanaryDeps,
  body: Buffer,
  stop: AbortSignal,
): Promise<{ ok: true; id: string } | (Flight & { ok: false })> {
  return withTimeLimit(answerWithinMs, stop, async (limit) => {
    try {
      const response = await fetch(deps.hookUrl().reveal(), {
        method: "POST",
        headers: { "content-type": "application/json", "x-tocsin-test": "canary" },
        body,
        // The secret goes nowhere else, and senders follow none either.
        redirect: "manual",
        signal: limit.signal,
      });
      const text = await readShort(response);
      if (response.status !== 202) {
        return { ok: false, stage: "answer", detail: `the answer was ${explainStatus(response.status)}, not 202` };
      }
      const id = readId(text);
      if (id !== undefined) return { ok: true, id };
      return { ok: false, stage: "answer", detail: "the answer was 202 without an alert's id: something else answers" };
    } catch (error) {
      if (limit.timedOut()) {
        return { ok: false, stage: "answer", detail: `no answer arrived within ${formatDuration(answerWithinMs)}` };
      }
      return explainFailure(networkCodeOf(error));
    }
  });
}

function explainStatus(status: number): string {
  if (status >= 300 && status < 400) return `${status}, a redirect that senders do not follow`;
  if (status === 503) return "503, which Tocsin says when it cannot store and a proxy when it does not reach Tocsin";
  return String(status);
}

/** Codes alone: a message may hold the address, and the address the secret. */
function explainFailure(code: string | undefined): Flight & { ok: false } {
  const why = code === undefined ? "" : ` (${nameNetworkCode(code)})`;
  if (code !== undefined && isDnsCode(code)) return { ok: false, stage: "name", detail: `its name is not found${why}` };
  if (code !== undefined && isTlsCode(code))
    return { ok: false, stage: "tls", detail: `no secure connection could be made${why}` };
  return { ok: false, stage: "connection", detail: `no connection could be made, or it broke${why}` };
}

async function readShort({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    parts.push(part);
    bytes += part.byteLength;
    if (bytes > mostAnswerBytes) break;
  }
  return Buffer.concat(parts).toString("utf8");
}

function readId(text: string): string | undefined {
  try {
    return z.object({ data: z.object({ id: z.string().regex(idPattern) }) }).safeParse(JSON.parse(text)).data?.data.id;
  } catch {
    return undefined;
  }
}

const mends: Record<CanaryStage, string> = {
  name: "Look at the DNS entry of PUBLIC_URL.",
  connection: "Look at the proxy, the firewall and the port in front of Tocsin.",
  tls: "Look at the certificate of PUBLIC_URL.",
  answer: "Check the proxy in front of Tocsin, and run tocsin doctor.",
  body: "Let the proxy in front of Tocsin pass the bodies of /hooks/ as they come.",
  stored: "Look at where PUBLIC_URL leads.",
  routed: "Look at tocsin status.",
};

/** Of each, the title of what is wrong and of its end, and what follows for people. */
const routedNews = {
  worse: "Alerts may be late: Tocsin stores them and does not send them on",
  others: "Alerts of senders probably wait as well.",
  better: "Tocsin sends alerts on again",
  meanwhile: "What was stored meanwhile is sent.",
};
const bodyNews = {
  worse: "Alerts may lose their content on the way to Tocsin",
  others: "Alerts of senders probably arrive in the same way.",
  better: "Alerts arrive whole at the public address again",
  meanwhile: "What was lost of alerts meanwhile is not in the log.",
};
const reachNews = {
  worse: "Alerts may not arrive: Tocsin does not reach itself at its public address",
  others: "Alerts of senders probably fail in the same way.",
  better: "Tocsin reaches itself at its public address again",
  meanwhile: "What senders could not send meanwhile is not in the log.",
};

function newsOf(stage: CanaryStage) {
  return stage === "routed" ? routedNews : stage === "body" ? bodyNews : reachNews;
}

function writeWorse({ schedule, publicUrl }: CanaryDeps, { stage, detail }: Flight & { ok: false }): AlertFacts {
  const when = describeCanarySchedule(schedule);
  const { worse: title, others } = newsOf(stage);
  return {
    ...common(publicUrl),
    title,
    text: `A test that it sends there ${when} failed twice: ${detail}. ${mends[stage]} ${others}`,
    severity: "critical",
    status: "firing",
    fields: [{ name: "stage", value: stage }],
  };
}

function writeBetter({ publicUrl }: CanaryDeps, stage: CanaryStage, failedForMs: number): AlertFacts {
  const { better, meanwhile: text } = newsOf(stage);
  return {
    ...common(publicUrl),
    title: `${better}, after ${formatDuration(failedForMs)}`,
    text,
    severity: "info",
    status: "resolved",
    fields: [],
  };
}

function common(publicUrl: string) {
  return {
    format: "empty" as const,
    alertKey: "tocsin:canary",
    source: "Tocsin",
    link: `${publicUrl.replace(/(?<!\/)\/+$/, "")}/silence`,
    notes: [],
  };
}
