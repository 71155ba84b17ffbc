import type { ChildProcess } from "node:child_process";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import net from "node:net";
import type { Stream } from "node:stream";
import { isatty } from "node:tty";
import { getSystemErrorName } from "node:util";
import type { Log } from "../../core/log.ts";
import { toListenError } from "../../listen-error.ts";
import type { CliContext } from "../shell/context.ts";

/** A relay that ran this long had started well: it is started again at once. */
const steadyMs = 10_000;
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;

/** How a child has ended. */
interface End {
  status: number | null;
  signal: string | null;
}

/**
 * `serve` as a child that is handed the listening socket, so that the socket outlives each of its processes: who
 * connects while there is none waits in the kernel for the next. It ends like this:
 *
 * - by itself: started again, at once or after 1, 2, 4 … 30 s when it ran for less than 10. Only a configuration that is
 *   refused at the first start ends this as well, with the same status 2.
 * - by SIGHUP to this process: it finishes in order, and the next is started at once. Not before, since the database is
 *   one process's.
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
  const { signal, now } = context;
  let child: ChildProcess | undefined;
  let isReplacing = false;
  let pause = new AbortController();
  let pauseMs = 0;

  const stop = () => void child?.kill("SIGTERM");
  signal.addEventListener("abort", stop, { once: true });
  const onTerminalGone = new AbortController();
  context.onHangUp(() => {
    // The terminal that it was started at has been closed: that ends it, as any command.
    if (context.isTty.stdin && !isatty(0)) onTerminalGone.abort();
    isReplacing = true;
    pause.abort();
    stop();
  });
  const ending = AbortSignal.any([signal, onTerminalGone.signal]);

  for (let isFirst = true; ; isFirst = false) {
    isReplacing = false;
    const startedAt = now();
    child = context.startAgain(["serve", "--listen-fd", "3", ...args], socket);
    log.info("supervisor.relay_started", { pid: child.pid });
    const { status, signal: killedBy } = await endOf(child);
    child = undefined;
    if (ending.aborted) {
      if (status !== 0 && killedBy !== "SIGTERM") context.setExitStatus(1);
      return;
    }
    if (isFirst && status === 2) {
      context.setExitStatus(2);
      return;
    }
    if (isReplacing) {
      pauseMs = 0;
      continue;
    }
    pauseMs = now() - startedAt >= steadyMs ? 0 : Math.min(Math.max(firstPauseMs, pauseMs * 2), longestPauseMs);
    log.error("supervisor.relay_ended", { status, signal: killedBy, startedAgainInMs: pauseMs });
    pause = new AbortController();
    await context.sleep(pauseMs, AbortSignal.any([ending, pause.signal])).catch(() => {});
    if (ending.aborted) return;
  }
}

async function endOf(child: ChildProcess): Promise<End> {
  try {
    const [status, signal] = (await once(child, "exit")) as [number | null, string | null];
    return { status, signal };
  } catch (error) {
    // It could not be started: Node itself is being replaced.
    return { status: null, signal: String((error as NodeJS.ErrnoException).code ?? error) };
  }
}

/** What Node's own `cluster` opens sockets with; nothing that is documented opens one and takes no connection from it. */
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
export async function openSocket(host: string, port: number): Promise<Stream> {
  const { _createServerHandle: open } = net as unknown as { _createServerHandle: OpenServerHandle };
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
