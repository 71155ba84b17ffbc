import type { ChildProcess } from "node:child_process";
import type { Stream } from "node:stream";
import type { Now } from "../core/clock.ts";
import { defaultDeliverySettings } from "../core/delivery-settings.ts";
import type { Log } from "../core/log.ts";

/** The process that supervises: what this needs of it. */
export interface Supervisor {
  now: Now;
  /** Rejects when the signal is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Starts this program anew as a child; with a socket, as its descriptor 3. Throws, or the child says `error`, where that fails. */
  startAgain(args: readonly string[], socket?: number | Stream): ChildProcess;
  /** Calls at each SIGHUP, which then ends nothing. */
  onHangUp(listener: () => void): void;
  /** Aborted when it is to end. */
  signal: AbortSignal;
}

/** A relay that ran this long had started well: it is started again at once. */
const steadyMs = 10_000;
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** What a stop may take beyond the calls in flight, see `delivery.shutdown`; then the relay hangs. */
const stopReserveMs = 10_000;
const longestCheckMs = 30_000;

/** How a child has ended, or why it could not be started. */
interface End {
  status: number | null;
  signal: string | null;
  error?: string;
}

/**
 * `serve` as a child that is handed the listening socket, so that the socket outlives each of its processes: who
 * connects while there is none waits in the kernel for the next. It ends like this:
 *
 * - by itself: started again, at once or after 1, 2, 4 … 30 s when it ran for less than 10. Only a configuration that is
 *   refused at the first start ends this as well, with the same status 2.
 * - by SIGHUP to this process: when `tocsin check` has found nothing against what then lies on disk, it finishes in
 *   order, and the next is started at once. Not before, since the database is one process's. Otherwise it goes on.
 * - by SIGTERM or SIGINT to this process, which passes it on and ends with it.
 *
 * Nothing is loaded once it runs and it knows nothing of what a relay does, so it need not be replaced for an upgrade.
 *
 * @param socket see `holdSocket`
 * @param args what a child is given behind `serve`
 * @returns the exit status
 */
export async function supervise(
  self: Supervisor,
  log: Log,
  socket: number | Stream,
  args: readonly string[],
): Promise<0 | 1 | 2> {
  const { now } = self;
  let child: ReturnType<typeof startRelay> | undefined;
  let isReplacing = false;
  let checksDue = 0;
  let pause = new AbortController();
  let pauseMs = 0;

  const ending = self.signal;
  ending.addEventListener("abort", () => child?.stop(), { once: true });

  async function replace(running: NonNullable<typeof child>): Promise<void> {
    checksDue += 1;
    if (checksDue > 1) return;
    let refusal: string | undefined;
    // What lies on disk may have changed since an earlier one began.
    for (let seen = 0; seen < checksDue; ) {
      seen = checksDue;
      refusal = await findRefusal(self, ending);
    }
    checksDue = 0;
    if (ending.aborted) return;
    if (refusal !== undefined) log.error("supervisor.restart_refused", { why: refusal, goesOn: running.pid });
    else if (running === child) {
      isReplacing = true;
      running.stop();
    }
  }

  self.onHangUp(() => {
    if (child === undefined) pause.abort();
    else void replace(child);
  });

  for (let isFirst = true; !ending.aborted; isFirst = false) {
    isReplacing = false;
    const startedAt = now();
    child = startRelay(self, log, socket, args);
    const end = await child.ended;
    child = undefined;
    if (ending.aborted) return end.status === 0 || end.signal === "SIGTERM" ? 0 : 1;
    if (isFirst && end.status === 2) return 2;
    if (isReplacing) {
      pauseMs = 0;
      continue;
    }
    pauseMs = now() - startedAt >= steadyMs ? 0 : Math.min(Math.max(firstPauseMs, pauseMs * 2), longestPauseMs);
    log.error("supervisor.relay_ended", { ...end, startedAgainInMs: pauseMs });
    pause = new AbortController();
    await self.sleep(pauseMs, AbortSignal.any([ending, pause.signal])).catch(() => {});
  }
  return 0;
}

function startRelay(self: Supervisor, log: Log, socket: number | Stream, args: readonly string[]) {
  const { child, ended } = start(self, ["serve", "--listen-fd", "3", ...args], socket);
  const pid = child?.pid;
  if (pid !== undefined) log.info("supervisor.relay_started", { pid });
  let stopsWithinMs = defaultDeliverySettings().shutdownMs;
  child?.on("message", (message) => {
    const told = (message as { stopsWithinMs?: unknown } | null)?.stopsWithinMs;
    if (typeof told === "number") stopsWithinMs = told;
  });
  let isStopping = false;
  return {
    pid,
    ended,
    /** Asks it once, however often this is called (a second signal would end it at once), and kills it when it hangs. */
    stop(): void {
      if (isStopping) return;
      isStopping = true;
      child?.kill("SIGTERM");
      const killedAfterMs = stopsWithinMs + stopReserveMs;
      unlessEnded(self.sleep, killedAfterMs, ended, () => {
        log.error("supervisor.relay_hangs", { pid, killedAfterMs });
        child?.kill("SIGKILL");
      });
    },
  };
}

/**
 * What `tocsin check`, of the code and the configuration that now lie on disk, has against starting a relay. Undefined
 * when nothing, or when it was stopped by `ending`.
 */
async function findRefusal(self: Supervisor, ending: AbortSignal): Promise<string | undefined> {
  const { child, ended } = start(self, ["check", "--json"]);
  let said = "";
  child?.stdout?.on("data", (chunk) => {
    said += chunk;
  });
  const kill = () => void child?.kill("SIGKILL");
  ending.addEventListener("abort", kill, { once: true });
  unlessEnded(self.sleep, longestCheckMs, ended, kill);
  const { status, signal, error } = await ended;
  ending.removeEventListener("abort", kill);
  if (status === 0 || ending.aborted) return undefined;
  if (error !== undefined) return `tocsin check cannot be started: ${error}`;
  return describeRefusal(said) ?? `tocsin check ended with ${signal ?? `status ${status}`}`;
}

function describeRefusal(said: string): string | undefined {
  interface Said {
    data?: { problems: { where: string; message: string; instead?: string }[] };
    error?: { message: string };
  }
  try {
    const { data, error } = JSON.parse(said) as Said;
    const problems = data?.problems.map(
      ({ where, message, instead }) => `${where}: ${message}${instead === undefined ? "" : ` (${instead})`}`,
    );
    return problems?.join("; ") ?? error?.message;
  } catch {
    return undefined;
  }
}

/** Reads what one without a socket wrote to its end first. `ended` never rejects. */
function start(self: Supervisor, args: readonly string[], socket?: number | Stream) {
  // Node itself is being replaced, or the system has no room for another process.
  const notStarted = (error: unknown): End => {
    return { status: null, signal: null, error: String((error as NodeJS.ErrnoException).code ?? error) };
  };
  try {
    const child = self.startAgain(args, socket);
    const ended = new Promise<End>((resolve) => {
      child.once(socket === undefined ? "close" : "exit", (status, signal) => resolve({ status, signal }));
      // Anything else that goes wrong with a child, a signal that cannot be sent for one, does not end it.
      child.on("error", (error) => {
        if (child.pid === undefined) resolve(notStarted(error));
      });
    });
    return { child, ended };
  } catch (error) {
    // Some reasons, such as no memory, are thrown instead of told by an event.
    return { ended: Promise.resolve(notStarted(error)) };
  }
}

function unlessEnded(sleep: Supervisor["sleep"], ms: number, ended: Promise<End>, act: () => void): void {
  const over = new AbortController();
  void ended.then(() => over.abort());
  sleep(ms, over.signal).then(act, () => {});
}
