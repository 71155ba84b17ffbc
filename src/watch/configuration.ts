import { z } from "zod";
import type { SystemView, WatchView } from "../contract/operations.ts";
import { type Finding, Findings, type Told, toldSchema } from "./findings.ts";
import { type ShownDuty, Watch, type WatchDeps } from "./watch.ts";

export interface ConfigurationWatchDeps extends WatchDeps {
  configuration(): SystemView["configuration"];
}

/** The looks without a file before it counts as gone: an editor that replaces a file leaves none for a moment. */
const goneLooks = 3;
const goneTitle = "The configuration file is gone, or cannot be read";
/** The most mistakes in a notice. The page has all. */
const mostTold = 5;
const inForce = "The configuration that was read before stays in force.";
const withoutIt = `${inForce} The next start cannot use the file.`;
/** The form of versions before 0.2. */
const formerSchema = z
  .object({ told: z.boolean() })
  .transform(({ told }): Told => ({ told: told ? { file: "refused" } : {}, toldAt: {} }));

/** Sends a notice when a changed file is refused or gone, and one when the file on disk is in force. */
export async function openConfigurationWatch(
  { configFile }: { configFile?: string },
  deps: ConfigurationWatchDeps,
): Promise<ShownDuty | undefined> {
  return configFile === undefined ? undefined : new ConfigurationWatch(deps).open();
}

class ConfigurationWatch extends Watch<Told> {
  readonly name = "configuration";
  readonly schema = z.union([toldSchema, formerSchema]);
  memory: Told = { told: {}, toldAt: {} };
  readonly everyMs = () => 2_000;
  readonly #findings: Findings<Finding, Told>;
  #looksWithout = 0;

  constructor(private readonly deps: ConfigurationWatchDeps) {
    super(deps);
    this.#findings = new Findings({
      confirmations: 1,
      mostADay: Number.POSITIVE_INFINITY,
      write: () => ({ key: "configuration", link: `${deps.publicUrl}/system` }),
    });
  }

  look(): Promise<void> {
    return this.#findings.tell([this.#judge()], this, this.deps.clock.now());
  }

  #judge(): Finding {
    const { file, refused, onDisk } = this.deps.configuration();
    const found = { matter: "file", mark: "refused" };
    this.#looksWithout = onDisk === "gone" ? this.#looksWithout + 1 : 0;
    if (this.#looksWithout >= goneLooks) {
      const text = `${file}\n${withoutIt}`;
      return { ...found, mark: "gone", verdict: "bad", title: goneTitle, text, severity: "warning" };
    }
    if (refused === undefined) {
      const title = "The configuration file on disk is in force";
      return { ...found, verdict: onDisk === "same" ? "well" : "unknown", title, severity: "info" };
    }
    const more = refused.length > mostTold ? [`and ${refused.length - mostTold} more`] : [];
    const text = [...refused.slice(0, mostTold), ...more, inForce].join("\n");
    return { ...found, verdict: "bad", title: titleOf(refused), text, severity: "warning" };
  }

  view(): WatchView {
    const { refused, onDisk } = this.deps.configuration();
    const about = { name: this.name, lookedAt: this.deps.clock.now(), troubles: [] };
    const inTrouble = (summary: string, more: string): WatchView => {
      return { ...about, verdict: "trouble", level: "warn", summary, troubles: [`${summary}. ${more}`] };
    };
    if (onDisk === "gone") return inTrouble(goneTitle, withoutIt);
    if (refused === undefined) {
      const summary = onDisk === "differs" ? "a changed file is not in force yet" : "the file is in force";
      return { ...about, verdict: onDisk === "differs" ? "unknown" : "well", summary };
    }
    return inTrouble(titleOf(refused), `${refused[0]}. ${inForce}`);
  }
}

const titleOf = ({ length }: readonly string[]) =>
  `The changed configuration file is refused: ${length === 1 ? "a mistake" : `${length} mistakes`}`;
