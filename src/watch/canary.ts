import { z } from "zod";
import { type CanaryStage, type CanaryView, canaryStages } from "../contract/operations.ts";
import { type AlertFacts, canaryMark } from "../core/alert.ts";
import { describeArrival, hashBody } from "../core/arrived-body.ts";
import { type CanarySchedule, compileCanarySchedule, describeCanarySchedule } from "../core/canary-schedule.ts";
import { idPattern, type NewId } from "../core/id.ts";
import { type OwnWords, ownFacts } from "../core/own-facts.ts";
import type { Secret } from "../core/secret.ts";
import { exchangeText } from "../ground/net/exchange-text.ts";
import { isDnsCode, isTlsCode, nameNetworkCode, networkCodeOf } from "../ground/net/network-code.ts";
import { isTimeout } from "../ground/net/time-limit.ts";
import { readJson } from "../ground/text/read-json.ts";
import { formatDuration } from "../ground/time/time-format.ts";
import { Watch, type WatchDeps } from "./watch.ts";

export interface CanaryDeps extends WatchDeps {
  schedule: CanarySchedule;
  hookUrl(): Secret;
  /** How the way to the hook changes a body of a real alert's size. Undefined: not, or unknown. Never rejects. */
  findSpoiling(stop: AbortSignal): Promise<string | undefined>;
  findAlert(id: string): Promise<{ routedAt?: number; request?: { body: Uint8Array } } | undefined>;
  newId: NewId;
}

/** The wait after a start: a proxy in front of the relay needs time to find it. */
const firstAfterMs = 60_000;
/** The wait before a second try. A failure counts when the second try fails too. */
const againAfterMs = 60_000;
/** A failing canary runs more often, so people hear within minutes that it works again. */
const failingEveryMs = 5 * 60_000;
/** The longest sleep: a clock that was set, or a machine that slept, is noticed after it. */
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
type Failure = Pick<NonNullable<State["failing"]>, "stage" | "detail">;

/** Sends a marked test alert on the whole real way, from name and TLS to routing. Mostly no destination gets it. */
export class Canary extends Watch<State, CanaryView> {
  readonly name = "canary";
  readonly schema = stateSchema;
  memory: State = {};
  readonly #findNext: (after: number) => number;
  #nextAt = 0;

  constructor(private readonly deps: CanaryDeps) {
    super(deps);
    this.#findNext = compileCanarySchedule(deps.schedule);
  }

  /** A canary that was due while the relay did not run is sent at the start. */
  override async open(): Promise<this> {
    await super.open();
    const { lastAt = 0, failing } = this.memory;
    const now = this.deps.clock.now();
    const nextAt = Math.max(now + firstAfterMs, this.#findNext(Math.min(lastAt, now)));
    this.#nextAt = failing === undefined ? nextAt : Math.min(nextAt, now + failingEveryMs);
    return this;
  }

  readonly everyMs = () => Math.min(longestSleepMs, this.#nextAt - this.deps.clock.now());

  async look(stop: AbortSignal): Promise<void> {
    const { clock } = this.deps;
    // Only a clock that was set back makes `#nextAt` later than this.
    this.#nextAt = Math.min(this.#nextAt, this.#findNext(clock.now()));
    if (clock.now() < this.#nextAt) return;
    let isWell = false;
    try {
      const failure = await this.#fly(stop);
      if (stop.aborted) return;
      await this.#tell(failure);
      isWell = failure === undefined;
    } finally {
      const now = clock.now();
      this.#nextAt = Math.min(this.#findNext(now), isWell ? Number.POSITIVE_INFINITY : now + failingEveryMs);
    }
  }

  /** A failure counts when a second try fails too. */
  async #fly(stop: AbortSignal): Promise<Failure | undefined> {
    const failure = await fly(this.deps, stop);
    if (failure === undefined || this.memory.failing !== undefined) return failure;
    this.deps.log.warn("canary.failed", { ...failure });
    await this.deps.clock.sleep(againAfterMs, stop);
    return stop.aborted ? failure : fly(this.deps, stop);
  }

  async #tell(failure: Failure | undefined): Promise<void> {
    const { clock, log } = this.deps;
    const now = clock.now();
    const { failing } = this.memory;
    const isTold = failing?.toldAt !== undefined;
    if (failure === undefined) {
      const facts = failing && isTold ? writeBetter(this.deps, failing.stage, now - failing.since) : undefined;
      const works = { lastAt: now, lastOkAt: now };
      await this.tell(facts, works, works);
      if (failing !== undefined) log.info("canary.works", { failedForMs: now - failing.since });
      return;
    }
    const fails = { ...failing, since: failing?.since ?? now, ...failure };
    const muted = { ...this.memory, lastAt: now, failing: fails };
    if (isTold) await this.keep(muted);
    else await this.tell(writeWorse(this.deps, failure), { ...muted, failing: { ...fails, toldAt: now } }, muted);
    log.error("canary.fails", { ...failure });
  }

  view(): CanaryView {
    const { failing, lastAt, lastOkAt } = this.memory;
    return {
      schedule: describeCanarySchedule(this.deps.schedule),
      state: failing !== undefined ? "fails" : lastOkAt !== undefined ? "works" : "waiting",
      lastAt,
      lastOkAt,
      nextAt: this.#nextAt,
      ...failing,
    };
  }
}

/** Sends one canary and follows it. Undefined: it arrived. */
async function fly(deps: CanaryDeps, stop: AbortSignal): Promise<Failure | undefined> {
  // Comes first: a canary with a changed body would not be recognized and would be sent to people.
  const spoiling = await deps.findSpoiling(stop);
  if (spoiling !== undefined) return { stage: "body", detail: `an alert ${spoiling}` };
  const sent = writeCanary(deps);
  const answer = await post(deps, sent, stop);
  if ("stage" in answer) return answer;
  const { clock } = deps;
  const until = clock.now() + routedWithinMs;
  for (;;) {
    const alert = await deps.findAlert(answer.id);
    const came = alert?.request?.body;
    const difference = came && describeArrival(sent, { bytes: came.byteLength, sha256: hashBody(came) });
    if (difference !== undefined) return { stage: "body", detail: `it ${difference}` };
    if (alert?.routedAt !== undefined) return undefined;
    if (alert === undefined) {
      const detail = "the answer was 202, but the alert is not in this relay's log: another one answers there";
      return { stage: "stored", detail };
    }
    if (clock.now() >= until || stop.aborted)
      return { stage: "routed", detail: `it was stored, and not routed within ${formatDuration(routedWithinMs)}` };
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

async function post(deps: CanaryDeps, body: Buffer, signal: AbortSignal): Promise<{ id: string } | Failure> {
  try {
    const { status, text = "" } = await exchangeText(deps.hookUrl().reveal(), {
      method: "POST",
      headers: { "content-type": "application/json", "x-tocsin-test": "canary" },
      body,
      timeoutMs: answerWithinMs,
      maxBytes: mostAnswerBytes,
      signal,
    });
    if (status !== 202) return { stage: "answer", detail: `the answer was ${explainStatus(status)}, not 202` };
    const id = readId(text);
    if (id !== undefined) return { id };
    return { stage: "answer", detail: "the answer was 202 without an alert's id: something else answers" };
  } catch (error) {
    if (!isTimeout(error)) return explainFailure(networkCodeOf(error));
    return { stage: "answer", detail: `no answer arrived within ${formatDuration(answerWithinMs)}` };
  }
}

function explainStatus(status: number): string {
  if (status >= 300 && status < 400) return `${status}, a redirect that senders do not follow`;
  if (status === 503) return "503, which Tocsin says when it cannot store and a proxy when it does not reach Tocsin";
  return String(status);
}

/** Shows only the code. A message may contain the address, and the address contains the secret. */
function explainFailure(code = ""): Failure {
  const why = code === "" ? "" : ` (${nameNetworkCode(code)})`;
  if (isDnsCode(code)) return { stage: "name", detail: `its name is not found${why}` };
  if (isTlsCode(code)) return { stage: "tls", detail: `no secure connection could be made${why}` };
  return { stage: "connection", detail: `no connection could be made, or it broke${why}` };
}

function readId(text: string): string | undefined {
  return z.object({ data: z.object({ id: z.string().regex(idPattern) }) }).safeParse(readJson(text)).data?.data.id;
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

const reachNews = {
  worse: "Alerts may not arrive: Tocsin does not reach itself at its public address",
  others: "Alerts of senders probably fail in the same way.",
  better: "Tocsin reaches itself at its public address again",
  meanwhile: "What senders could not send meanwhile is not in the log.",
};
const newsOf: Partial<Record<CanaryStage, typeof reachNews>> = {
  routed: {
    worse: "Alerts may be late: Tocsin stores them and does not send them on",
    others: "Alerts of senders probably wait as well.",
    better: "Tocsin sends alerts on again",
    meanwhile: "What was stored meanwhile is sent.",
  },
  body: {
    worse: "Alerts may lose their content on the way to Tocsin",
    others: "Alerts of senders probably arrive in the same way.",
    better: "Alerts arrive whole at the public address again",
    meanwhile: "What was lost of alerts meanwhile is not in the log.",
  },
};

function write({ publicUrl }: CanaryDeps, said: Omit<OwnWords, "key" | "link">): AlertFacts {
  return ownFacts({ key: "canary", link: `${publicUrl}/silence`, ...said });
}

function writeWorse(deps: CanaryDeps, { stage, detail }: Failure): AlertFacts {
  const when = describeCanarySchedule(deps.schedule);
  const { worse: title, others } = newsOf[stage] ?? reachNews;
  return write(deps, {
    title,
    text: `A test that it sends there ${when} failed twice: ${detail}. ${mends[stage]} ${others}`,
    severity: "critical",
    status: "firing",
    fields: [{ name: "stage", value: stage }],
  });
}

function writeBetter(deps: CanaryDeps, stage: CanaryStage, failedForMs: number): AlertFacts {
  const { better, meanwhile: text } = newsOf[stage] ?? reachNews;
  const title = `${better}, after ${formatDuration(failedForMs)}`;
  return write(deps, { title, text, severity: "info", status: "resolved" });
}
