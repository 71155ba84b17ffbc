import { z } from "zod";
import type { SystemView, WatchView } from "../contract/operations.ts";
import { type Finding, Findings, type Told, toldSchema } from "./findings.ts";
import { type ShownDuty, Watch, type WatchDeps, type WatchRules } from "./watch.ts";

export interface ConfigurationWatchDeps extends WatchDeps {
  /** The configuration in force against the file on disk, and what is wrong with that. */
  look(): SystemView["configuration"];
}

/** A notice names as many mistakes; the page has all. */
const mostTold = 5;
const inForce = "The configuration that was read before stays in force.";
/** As versions before 0.2 have saved it. */
const formerSchema = z
  .object({ told: z.boolean() })
  .transform(({ told }): Told => ({ told: told ? { file: "refused" } : {}, toldAt: {} }));

/** Tells once that a changed file is refused, with the lines, and once that a later one is in force. */
export function openConfigurationWatch(deps: ConfigurationWatchDeps): Promise<ShownDuty> {
  return Watch.open(new ConfigurationRules(deps), deps);
}

class ConfigurationRules implements WatchRules<Told> {
  readonly name = "configuration";
  readonly memory = z.union([toldSchema, formerSchema]);
  readonly empty = { told: {}, toldAt: {} };
  readonly everyMs = 2_000;
  readonly #deps: ConfigurationWatchDeps;
  readonly #findings: Findings<Finding, Told>;

  constructor(deps: ConfigurationWatchDeps) {
    this.#deps = deps;
    this.#findings = new Findings({
      confirmations: 1,
      mostADay: Number.POSITIVE_INFINITY,
      write: () => ({ key: "configuration", link: `${deps.publicUrl}/system` }),
    });
  }

  look(watch: Watch<Told>): Promise<void> {
    return this.#findings.tell([this.#judge()], watch, this.#deps.clock.now());
  }

  #judge(): Finding {
    const { refused, onDisk } = this.#deps.look();
    const found = { matter: "file", mark: "refused" };
    if (refused === undefined) {
      const title = "The configuration file on disk is in force";
      return { ...found, verdict: onDisk === "same" ? "well" : "unknown", title, severity: "info" };
    }
    const more = refused.length > mostTold ? [`and ${refused.length - mostTold} more`] : [];
    const text = [...refused.slice(0, mostTold), ...more, inForce].join("\n");
    return { ...found, verdict: "bad", title: titleOf(refused), text, severity: "warning" };
  }

  view(): WatchView {
    const { refused, onDisk } = this.#deps.look();
    const about = { name: this.name, lookedAt: this.#deps.clock.now(), troubles: [] };
    if (onDisk === "gone") return { ...about, verdict: "unknown", summary: "the file cannot be read any more" };
    if (refused === undefined) {
      const summary = onDisk === "differs" ? "a changed file is not in force yet" : "the file is in force";
      return { ...about, verdict: onDisk === "differs" ? "unknown" : "well", summary };
    }
    const summary = titleOf(refused);
    return {
      ...about,
      verdict: "trouble",
      level: "warn",
      summary,
      troubles: [`${summary}. ${refused[0]}. ${inForce}`],
    };
  }
}

const titleOf = ({ length }: readonly string[]) =>
  `The changed configuration file is refused: ${length === 1 ? "a mistake" : `${length} mistakes`}`;
