import { z } from "zod";
import type { SystemView, WatchView } from "../contract/operations.ts";
import type { AlertFacts } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createPoll } from "../core/poll.ts";
import type { WatchState, WatchStore } from "../core/ports/watch.ts";
import type { Watch } from "./watch.ts";

export interface ConfigurationWatchDeps {
  /** The configuration in force against the file on disk, and what is wrong with that. */
  look(): SystemView["configuration"];
  store: WatchStore;
  /** Saves the state in the same step. Rejects as the store does. */
  notify(facts: AlertFacts, watch: WatchState): Promise<void>;
  /** How people reach the page. */
  publicUrl: string;
  clock: Clock;
  log: Log;
}

const stateName = "configuration";
const lookEveryMs = 2_000;
/** A notice names as many mistakes; the page has all. */
const mostTold = 5;
const stateSchema = z.object({ told: z.boolean() });
const inForce = "The configuration that was read before stays in force.";

/** Tells once that a changed file is refused, with the lines, and once that a later one is in force. */
export async function openConfigurationWatch(deps: ConfigurationWatchDeps): Promise<Watch> {
  const { look, store, clock, log } = deps;
  let isTold = stateSchema.safeParse(await store.loadWatchState(stateName)).data?.told ?? false;

  async function tell(told: boolean, facts: Pick<AlertFacts, "title" | "text" | "severity" | "status">): Promise<void> {
    const watch = { name: stateName, state: { told } };
    await deps.notify({ ...noticeOf(deps), ...facts }, watch);
    isTold = told;
  }

  const poll = createPoll({
    async look() {
      const { refused, onDisk } = look();
      if (refused !== undefined && !isTold) {
        const more = refused.length > mostTold ? [`and ${refused.length - mostTold} more`] : [];
        const text = [...refused.slice(0, mostTold), ...more, inForce].join("\n");
        await tell(true, { title: titleOf(refused), text, severity: "warning", status: "firing" });
      } else if (isTold && onDisk === "same") {
        const title = "The configuration file on disk is in force";
        await tell(false, { title, severity: "info", status: "resolved" });
      }
    },
    everyMs: lookEveryMs,
    clock,
    onFailed: (error) => log.error("configuration.not_told", { error: String(error).slice(0, 300) }),
  });

  function view(): WatchView {
    const { refused, onDisk } = look();
    const about = { name: stateName, lookedAt: clock.now(), troubles: [] };
    if (onDisk === "gone") return { ...about, verdict: "unknown", summary: "the file cannot be read any more" };
    if (refused === undefined) {
      const summary = onDisk === "differs" ? "a changed file is not in force yet" : "the file is in force";
      return { ...about, verdict: onDisk === "differs" ? "unknown" : "well", summary };
    }
    const title = titleOf(refused);
    return {
      ...about,
      verdict: "trouble",
      level: "warn",
      summary: title,
      troubles: [`${title}. ${refused[0]}. ${inForce}`],
    };
  }

  return { view, run: poll.run };
}

const titleOf = ({ length }: readonly string[]) =>
  `The changed configuration file is refused: ${length === 1 ? "a mistake" : `${length} mistakes`}`;

function noticeOf({ publicUrl }: ConfigurationWatchDeps) {
  return {
    format: "empty" as const,
    alertKey: "tocsin:configuration",
    source: "Tocsin",
    link: `${publicUrl}/system`,
    fields: [],
    notes: [],
  };
}
