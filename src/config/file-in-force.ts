import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { SystemView } from "../contract/operations.ts";
import type { Config } from "./config.ts";
import { hashOfFile } from "./read-config.ts";
import { ConfigError, type ConfigProblem, lineOf } from "./shape/problem-list.ts";

type InForce = Pick<Config, "configFile" | "configHash" | "rules">;

/** Compares the configuration in force with the file on disk, which may change at any time. */
export class FileInForce {
  readonly #path?: string;
  readonly #load?: (text: string) => Config;
  #hasDestinations: boolean;
  #hash?: string;
  #seen?: string;
  #refused?: { hash?: string; problems: readonly ConfigProblem[] };

  /** @param load makes a configuration from the file's text. Default: changes are shown, but never taken over */
  constructor({ configFile, configHash, rules }: InForce, load?: (text: string) => Config) {
    this.#path = configFile;
    this.#hasDestinations = rules.destinations.length > 0;
    this.#load = load;
    this.#hash = configHash;
  }

  readonly view = (): SystemView["configuration"] => {
    if (this.#path === undefined) return { onDisk: "none" };
    const now = this.#read()?.hash;
    const onDisk = now === undefined ? "gone" : now === this.#hash ? "same" : "differs";
    const about = { file: this.#path, hash: this.#hash, onDisk } as const;
    if (onDisk !== "differs" || now !== this.#refused?.hash) return about;
    return { ...about, refused: (this.#refused?.problems ?? []).map(lineOf) };
  };

  /**
   * The configuration to take over, see `takenOver` and `refuse`. A file is read when two looks find the same text.
   * @param isWhole somebody has said that the file is complete
   */
  look(isWhole = false): Config | undefined {
    const read = this.#read();
    const now = read?.hash;
    const isSteady = isWhole || now === this.#seen;
    this.#seen = now;
    const isKnown = now === this.#hash || (now === this.#refused?.hash && !isWhole);
    if (this.#load === undefined || read === undefined || !isSteady || isKnown) return undefined;
    try {
      const config = this.#load(read.text);
      // An editor that writes in two steps, or a full disk, leaves a file empty. Then nobody would get alerts.
      if (this.#hasDestinations && config.rules.destinations.length === 0) throw new ConfigError([this.#emptied()]);
      return config;
    } catch (error) {
      this.refuse(error);
      return undefined;
    }
  }

  takenOver({ rules, configHash }: InForce): void {
    this.#hash = configHash;
    this.#hasDestinations = rules.destinations.length > 0;
  }

  /** The last text is not taken over before it changes. */
  refuse(error: unknown): void {
    const problems =
      error instanceof ConfigError
        ? error.problems
        : [{ where: this.#path ?? "", message: error instanceof Error ? error.message : String(error) }];
    this.#refused = { hash: this.#seen, problems };
  }

  #emptied(): ConfigProblem {
    const where = basename(this.#path ?? "");
    return { where, message: "names no destination any more", instead: "restart Tocsin if that is meant" };
  }

  #read(): { text: string; hash: string } | undefined {
    try {
      if (this.#path === undefined) return undefined;
      const text = readFileSync(this.#path, "utf8");
      return { text, hash: hashOfFile(text) };
    } catch {
      return undefined;
    }
  }
}
