import type { Config } from "../config/config.ts";
import { FileInForce } from "../config/file-in-force.ts";
import type { ServerSecrets } from "../config/generated-secrets.ts";
import { AppError } from "../core/errors.ts";
import { errorText } from "../ground/text/error-text.ts";
import { type HandedOver, type Relay, type RelayOptions, startRelay } from "./relay.ts";

export interface ServeOptions extends Pick<RelayOptions, "log" | "listenFd" | "picturesOnThisMachine"> {
  first: Config;
  /** Makes a configuration of another text of its file. Throws as `loadConfig` does. */
  load(fileText: string): Config;
  /** The secrets of the environment and of `sources`. Missing ones are made. */
  secretsOf(config: Config): Promise<ServerSecrets>;
  /** Calls the listener at each signal to take over a changed file. Default: the file is read every two seconds. */
  onTakeOver?(listener: () => void): void;
  /** Called before a configuration comes into force. */
  onConfig(config: Config): void;
  onStarted(relay: Relay, config: Config): Promise<void>;
  signal: AbortSignal;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const lookEveryMs = 2_000;

/**
 * Serves by the configuration on disk until `signal` is aborted and the relay has stopped. A valid changed file is
 * taken over by another relay in this process: the former one ends in order and hands over its listener, which holds
 * new connections meanwhile. Each alert is thus routed by one configuration (docs/adr/0022-changed-file.md). An invalid
 * file, or one with which no relay starts, is refused.
 * @throws the error of a first relay that does not start, or the reason why a relay cannot continue
 */
export async function serveRelay(options: ServeOptions): Promise<void> {
  const { first, load, log, signal } = options;
  const failed = new AbortController();
  const ended = AbortSignal.any([signal, failed.signal]);
  let config = first;
  const file = new FileInForce(first, load);
  const nextChange = followFile(file, ended, options);

  async function start(by: Config, handed?: HandedOver): Promise<Relay> {
    options.onConfig(by);
    for (const warning of by.warnings) log.warn("config.warning", { ...warning });
    const relay = await startRelay({
      ...options,
      ...handed,
      config: by,
      secrets: () => options.secretsOf(by),
      configuration: file.view,
      onFailed: (error) => failed.abort(error),
      stop: signal,
    });
    config = by;
    return relay;
  }

  async function replace(relay: Relay, next: Config): Promise<Relay> {
    const handed = await relay.handOver();
    try {
      const follower = await start(next, handed);
      file.takenOver(next);
      log.info("configuration.taken_over", { file: next.configFile });
      return follower;
    } catch (error) {
      if (ended.aborted) throw error;
      file.refuse(error);
      log.error("configuration.not_started", { error: errorText(error) });
      return start(config, handed);
    }
  }

  let relay: Relay;
  try {
    relay = await start(config);
    // The relay works, whether or not anybody can read the announcement.
    await options.onStarted(relay, config).catch((error) => log.warn("serve.not_announced", { error: String(error) }));
    for (let next = await nextChange(); next !== undefined; next = await nextChange())
      relay = await replace(relay, next);
  } catch (error) {
    // The relay was stopped while it waited for its database, and has ended in good order.
    if (signal.aborted && error instanceof AppError && error.code === "cancelled") return;
    throw error;
  }
  const stopping = relay.stop();
  if (!failed.signal.aborted) return stopping;
  // Nothing more can be recorded. A supervisor should start the process anew. All accepted alerts are on disk.
  await Promise.race([stopping.catch(() => {}), options.sleep(config.delivery.shutdownMs)]);
  throw failed.signal.reason;
}

/** @returns a function that waits for a configuration to take over. Undefined: the relay is to end */
function followFile(
  file: FileInForce,
  ended: AbortSignal,
  { log, sleep, onTakeOver }: Pick<ServeOptions, "log" | "sleep" | "onTakeOver">,
) {
  let wake = new AbortController();
  let isAsked = false;
  // A signal that is joined to a long-lived one would leave something in its memory each time.
  ended.addEventListener("abort", () => wake.abort(), { once: true });
  onTakeOver?.(() => {
    isAsked = true;
    wake.abort();
  });
  return async (): Promise<Config | undefined> => {
    while (!ended.aborted) {
      wake = new AbortController();
      const wasAsked = isAsked;
      isAsked = false;
      const before = file.view().refused;
      const next = file.look(wasAsked);
      if (next !== undefined) return next;
      const { refused } = file.view();
      if (refused !== undefined && (wasAsked || refused.join() !== before?.join()))
        log.error("configuration.refused", { problems: refused });
      await sleep(lookEveryMs, wake.signal).catch(() => {});
    }
    return undefined;
  };
}
