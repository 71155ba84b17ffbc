import type { ChildProcess } from "node:child_process";
import type { Stream } from "node:stream";
import type { Now } from "../core/clock.ts";
import { defaultDeliverySettings } from "../core/delivery-settings.ts";
import type { Log } from "../core/log.ts";

export interface Supervisor {
  now: Now;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Starts this program anew, with the socket as descriptor 3. A failure throws, or the child emits `error`. */
  startAgain(args: readonly string[], socket?: number | Stream): ChildProcess;
  /** Calls the listener at each SIGHUP, which then does not end the process. */
  onHangUp(listener: () => void): void;
  signal: AbortSignal;
}

/** A relay that ran this long had started well, so it is started again at once. */
const steadyMs = 10_000;
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** The time of a stop beyond the calls in flight, see `delivery.shutdown`. A slower relay hangs. */
const stopReserveMs = 10_000;
const longestCheckMs = 30_000;

/** How a child has ended, or why it could not be started. */
interface End {
  status: number | null;
  signal: string | null;
  error?: string;
}

/**
 * Runs `serve` as a child that gets the listening socket. The socket outlives each child: a client that connects
 * between two children waits in the kernel for the next. A child ends in one of these ways:
 * - by itself: it is started again, at once or after 1, 2, 4 … 30 s when it ran for less than 10. A configuration that
 *   is refused at the first start ends the supervisor too, with the same status 2.
 * - by SIGHUP to the supervisor: when `tocsin check` accepts the files on disk, the child ends in order, and the next
 *   is started at once. Only one process at a time can have the database. If the check fails, the child continues.
 * - by SIGTERM or SIGINT to the supervisor, which passes the signal on and ends with the child.
 * The supervisor loads nothing later and knows nothing of a relay's work, so an upgrade need not replace it.
 * @param socket see `holdSocket`
 * @param args the arguments of a child after `serve`
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
    // The files on disk may have changed since an earlier check began.
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
    /** Asks the child once: a second signal would end it at once. Kills a child that hangs. */
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

/** What `tocsin check` refuses, with code and configuration on disk. Undefined: nothing, or `ending` stopped it. */
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

/** Collects the output of a child without a socket. `ended` never rejects. */
function start(self: Supervisor, args: readonly string[], socket?: number | Stream) {
  // Node itself is being replaced, or the system has no room for another process.
  const notStarted = (error: unknown): End => {
    return { status: null, signal: null, error: String((error as NodeJS.ErrnoException).code ?? error) };
  };
  try {
    const child = self.startAgain(args, socket);
    const ended = new Promise<End>((resolve) => {
      child.once(socket === undefined ? "close" : "exit", (status, signal) => resolve({ status, signal }));
      // Other errors of a child, such as a signal that cannot be sent, do not end it.
      child.on("error", (error) => {
        if (child.pid === undefined) resolve(notStarted(error));
      });
    });
    return { child, ended };
  } catch (error) {
    // Some reasons, such as too little memory, are thrown and not emitted as an event.
    return { ended: Promise.resolve(notStarted(error)) };
  }
}

function unlessEnded(sleep: Supervisor["sleep"], ms: number, ended: Promise<End>, act: () => void): void {
  const over = new AbortController();
  void ended.then(() => over.abort());
  sleep(ms, over.signal).then(act, () => {});
}
