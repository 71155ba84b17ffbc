import { lookup } from "node:dns/promises";
import net from "node:net";
import type { Stream } from "node:stream";
import { isatty } from "node:tty";
import { getSystemErrorName } from "node:util";
import { defaultDeliverySettings } from "../../core/delivery-settings.ts";
import type { Log } from "../../core/log.ts";
import { toListenError, toNoHolderError } from "../../http/listen-error.ts";
import type { CliContext } from "../shell/context.ts";

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

/** A relay that was started. */
interface Child {
  pid?: number;
  ended: Promise<End>;
  /** Asks it once, however often this is called (a second signal would end it at once), and kills it when it hangs. */
  stop(): void;
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
 * @param socket a descriptor of this process, or what `openSocket` gives
 * @param args what a child is given behind `serve`
 */
export async function supervise(
  context: CliContext,
  log: Log,
  socket: number | Stream,
  args: readonly string[],
): Promise<void> {
  const { now } = context;
  let child: Child | undefined;
  let isReplacing = false;
  let checksDue = 0;
  let pause = new AbortController();
  let pauseMs = 0;

  const onTerminalGone = new AbortController();
  const ending = AbortSignal.any([context.signal, onTerminalGone.signal]);
  ending.addEventListener("abort", () => child?.stop(), { once: true });

  async function replace(running: Child): Promise<void> {
    checksDue += 1;
    if (checksDue > 1) return;
    let refusal: string | undefined;
    // What lies on disk may have changed since an earlier one began.
    for (let seen = 0; seen < checksDue; ) {
      seen = checksDue;
      refusal = await findRefusal(context, ending);
    }
    checksDue = 0;
    if (ending.aborted) return;
    if (refusal !== undefined) log.error("supervisor.restart_refused", { why: refusal, goesOn: running.pid });
    else if (running === child) {
      isReplacing = true;
      running.stop();
    }
  }

  context.onHangUp(() => {
    // The terminal that it was started at has been closed: that ends it, as any command.
    if (context.isTty.stdin && !isatty(0)) onTerminalGone.abort();
    else if (child === undefined) pause.abort();
    else void replace(child);
  });

  for (let isFirst = true; !ending.aborted; isFirst = false) {
    isReplacing = false;
    const startedAt = now();
    child = startRelay(context, log, socket, args);
    const end = await child.ended;
    child = undefined;
    if (ending.aborted) {
      if (end.status !== 0 && end.signal !== "SIGTERM") context.setExitStatus(1);
      return;
    }
    if (isFirst && end.status === 2) {
      context.setExitStatus(2);
      return;
    }
    if (isReplacing) {
      pauseMs = 0;
      continue;
    }
    pauseMs = now() - startedAt >= steadyMs ? 0 : Math.min(Math.max(firstPauseMs, pauseMs * 2), longestPauseMs);
    log.error("supervisor.relay_ended", { ...end, startedAgainInMs: pauseMs });
    pause = new AbortController();
    await context.sleep(pauseMs, AbortSignal.any([ending, pause.signal])).catch(() => {});
  }
}

function startRelay(context: CliContext, log: Log, socket: number | Stream, args: readonly string[]): Child {
  const { child, ended } = start(context, ["serve", "--listen-fd", "3", ...args], socket);
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
    stop() {
      if (isStopping) return;
      isStopping = true;
      child?.kill("SIGTERM");
      const killedAfterMs = stopsWithinMs + stopReserveMs;
      unlessEnded(context.sleep, killedAfterMs, ended, () => {
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
async function findRefusal(context: CliContext, ending: AbortSignal): Promise<string | undefined> {
  const { child, ended } = start(context, ["check", "--json"]);
  let said = "";
  child?.stdout?.on("data", (chunk) => {
    said += chunk;
  });
  const kill = () => void child?.kill("SIGKILL");
  ending.addEventListener("abort", kill, { once: true });
  unlessEnded(context.sleep, longestCheckMs, ended, kill);
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

/** Of one without a socket what it wrote is read to its end first. `ended` never rejects. */
function start(context: CliContext, args: readonly string[], socket?: number | Stream) {
  // Node itself is being replaced, or the system has no room for another process.
  const notStarted = (error: unknown): End => {
    return { status: null, signal: null, error: String((error as NodeJS.ErrnoException).code ?? error) };
  };
  try {
    const child = context.startAgain(args, socket);
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

function unlessEnded(sleep: CliContext["sleep"], ms: number, ended: Promise<End>, act: () => void): void {
  const over = new AbortController();
  void ended.then(() => over.abort());
  sleep(ms, over.signal).then(act, () => {});
}

/**
 * What Node's own `cluster` opens sockets with. Nothing that is documented opens one and takes no connection from it
 * (nodejs/node#1239): a `net.Server` that is passed to a child also accepts in the parent, and the handle that
 * `cluster` shares is closed with its last worker, and with it what waits.
 */
type OpenServerHandle = (
  address: string,
  port: number,
  family: number,
  fd: undefined,
  flags: number,
) => number | (Stream & { getsockname(into: object): number; close(): void });

/**
 * A socket at this address for children to listen on. This process takes no connection from it.
 * @throws AppError `config_invalid` when it cannot be opened.
 */
export async function openSocket(
  host: string,
  port: number,
  { _createServerHandle: open }: object & { _createServerHandle?: OpenServerHandle } = net,
): Promise<Stream> {
  if (typeof open !== "function") throw toNoHolderError(process.versions.node);
  const failWith = (code: string) => toListenError(host, port, Object.assign(new Error(code), { code }));
  const { address, family } = await lookup(host).catch((error: NodeJS.ErrnoException) => {
    throw toListenError(host, port, error);
  });
  const opened = open(address, port, family, undefined, 0);
  if (typeof opened === "number") throw failWith(getSystemErrorName(opened));
  // That the address is taken is said late.
  const failure = opened.getsockname({});
  if (failure === 0) return opened;
  opened.close();
  throw failWith(getSystemErrorName(failure));
}
